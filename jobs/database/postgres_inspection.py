"""Reads a dump of PostgreSQL as it would be loaded, without its rows.

Definitions run in the empty database, so the server itself names what it does not take. All
problems are collected, not only the first one.
"""

from collections.abc import Iterator

from database_server import Connection
from dump_facts import MAX_ROW_BYTES, DumpFacts
from job_result import JobError
from mariadb_dump import Statement as MariaDBStatement
from mariadb_tokens import Grammar
from operator_constants import RESTORE_FAILED
from postgres_dump import Dump, Rows, Statement
from postgres_load import STATEMENTS_OF_TRANSACTION, Load
from postgres_statements import Use, use_of
from secret_redaction import redact

# PostgreSQL's quotes, for the few statements whose names and values are read.
QUOTES = Grammar(0, ansi_quotes=True, no_backslash_escapes=True)


class Inspection(Load):
    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.facts = DumpFacts()

    def run(self, dump: Dump) -> None:
        try:
            super().run(dump)
        except JobError as error:
            self.facts.problem(error)

    def load(self, statement: Statement, dump: Dump) -> None:
        use = use_of(statement)
        self.facts.read(MariaDBStatement(statement.text, statement.line), QUOTES)
        if use is Use.COPY:
            rows = dump.rows()
            self.facts.copy(statement.text, lines_of(rows))
            rows.end()
        elif use in (Use.BEGIN, Use.COMMIT):
            self.is_held = use is Use.BEGIN  # large objects are rows too
        elif statement.tokens[0] != "INSERT" and not self.is_held and use in (Use.LOAD, Use.TRY):
            self.define(statement, use)
        self.count += 1
        if self.count >= STATEMENTS_OF_TRANSACTION:
            self.connection.commit()
            self.count = 0

    def define(self, statement: Statement, use: Use) -> None:
        import psycopg2

        self.cursor.execute("SAVEPOINT definition")
        try:
            if use is Use.TRY:
                self.try_statement(statement)
            else:
                self.cursor.execute(statement.text)
        except psycopg2.Error as error:
            self.cursor.execute("ROLLBACK TO SAVEPOINT definition")
            text = redact(" ".join(str(error).split()))
            where = f"line {statement.line} of the dump, {statement.words}"
            self.facts.problem(JobError(RESTORE_FAILED, f"{where}: {text}"))
        self.cursor.execute("RELEASE SAVEPOINT definition")


def lines_of(rows: Rows) -> Iterator[bytes]:
    """The rows of a COPY; without those that are too large to be read as a whole."""
    rest, is_skipped = b"", False
    while data := rows.read(MAX_ROW_BYTES):
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            if not is_skipped:
                yield line
            is_skipped = False
        if len(rest) > MAX_ROW_BYTES:
            rest, is_skipped = b"", True
