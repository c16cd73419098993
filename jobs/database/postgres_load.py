"""Loads a dump of PostgreSQL by a driver, statement by statement, as the site's user."""

from collections import Counter

from database_server import Connection
from job_result import JobError, log
from operator_constants import RESTORE_FAILED
from postgres_dump import Dump, Statement, refused
from postgres_objects import CONNECTED_ROLES
from postgres_statements import ENCODING, Use, for_known_roles, is_right, use_of
from secret_redaction import redact

# A transaction of so many statements: one over everything would need more locks than a server has.
STATEMENTS_OF_TRANSACTION = 100
# The server or the site's user lacks what the statement needs, or another role has it already:
# insufficient_privilege, undefined_*, feature_not_supported, invalid_schema_name, duplicate_*.
NOT_POSSIBLE = {"42501", "42704", "42P01", "42883", "58P01", "0A000", "3F000"}
NOT_POSSIBLE |= {"42P06", "42P07", "42710", "42723"}


class Load:
    """Loads a dump, in transactions of some statements."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.cursor = connection.cursor()
        self.count = 0
        self.is_held = False
        self.left_out: Counter[str] = Counter()
        self.cursor.execute("SELECT current_user")
        self.user = self.cursor.fetchone()[0]
        self.cursor.execute(CONNECTED_ROLES)
        self.roles = {row[0] for row in self.cursor.fetchall()}

    def run(self, dump: Dump) -> None:
        import psycopg2

        for statement in dump.statements():
            try:
                self.load(statement, dump)
                self.check_reading(statement)
            except psycopg2.Error as error:
                text = redact(" ".join(str(error).split()))
                where = f"line {statement.line} of the dump, {statement.words}"
                raise JobError(RESTORE_FAILED, f"{where}: {text}") from None
        self.connection.commit()
        for words, count in self.left_out.items():
            log(f"left out of the dump: {count} times {words}")

    def load(self, statement: Statement, dump: Dump) -> None:
        use = use_of(statement)
        if use is Use.COPY:
            rows = dump.rows()
            self.cursor.copy_expert(statement.text, rows, 1 << 18)
            rows.end()
        elif use is Use.LOAD:
            self.cursor.execute(statement.text)
        elif use is Use.TRY:
            self.try_statement(statement)
        elif use is Use.LEAVE_OUT:
            self.leave_out(statement)
        else:  # large objects are open to the end of their transaction
            self.is_held = use is Use.BEGIN
        self.count += 1
        if not self.is_held and self.count >= STATEMENTS_OF_TRANSACTION:
            self.connection.commit()
            self.count = 0

    def try_statement(self, statement: Statement) -> None:
        import psycopg2

        if is_right(statement) and not for_known_roles(statement, self.user, self.roles):
            self.leave_out(statement)
            return
        self.cursor.execute("SAVEPOINT statement")
        try:
            self.cursor.execute(statement.text)
        except psycopg2.Error as error:
            if error.pgcode not in NOT_POSSIBLE:
                raise
            self.cursor.execute("ROLLBACK TO SAVEPOINT statement")
            log(f"left out of the dump: {statement.words}: {redact(str(error).splitlines()[0])}")
        self.cursor.execute("RELEASE SAVEPOINT statement")

    def leave_out(self, statement: Statement) -> None:
        self.left_out[" ".join(statement.tokens[:2])] += 1

    def check_reading(self, statement: Statement) -> None:
        """Fails where the server reads texts in another way since a statement."""
        status = self.connection.get_parameter_status
        encoding = str(status("client_encoding"))
        if not ENCODING.fullmatch(encoding):
            raise refused(statement.line, f"the encoding {encoding}")
        if status("standard_conforming_strings") != "on":
            raise refused(statement.line, "texts of another form, standard_conforming_strings off")
