"""Reads a dump of MariaDB as it would be loaded, without its rows.

Definitions run in the empty database, so the server itself names what it does not take, such as a
collation or an engine. All problems are collected, not only the first one.
"""

from typing import Any

from dump_facts import DumpFacts
from job_result import JobError
from mariadb_dump import DumpReader, Readable, Statement
from mariadb_load import DumpLoader
from mariadb_statements import Check


class DumpInspector(DumpLoader):
    def __init__(self, connection: Any, driver: Any, database: str) -> None:
        super().__init__(connection, driver, database)
        self.facts = DumpFacts()

    def load(self, file: Readable) -> None:
        try:
            super().load(file)
        except JobError as error:
            self.facts.problem(error)

    def run(self, reader: DumpReader, statement: Statement, limit: int) -> None:
        try:
            self.facts.read(statement, reader.grammar)
            check = Check(statement, reader.grammar, self.database, reader.source)
            check.runnable()
            if check.seen[0].upper not in (b"INSERT", b"REPLACE"):
                super().run(reader, statement, limit)
        except JobError as error:
            self.facts.problem(error)
