"""Loads a dump of MariaDB by a driver, statement by statement, as the site's user."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from job_result import JobError
from mariadb_dump import DumpReader, Readable, Statement
from mariadb_packets import TooLarge, divided
from mariadb_statements import Check
from mariadb_tokens import SAFE_CHARACTER_SETS, Grammar
from operator_constants import RESTORE_FAILED
from secret_redaction import redact

# The modes under which the tables of a dump exist: all that a session may switch off.
SETTINGS = (
    "SET SESSION autocommit = 0, foreign_key_checks = 0, unique_checks = 0, "
    "check_constraint_checks = 0, innodb_strict_mode = 0, sql_mode = 'NO_AUTO_VALUE_ON_ZERO', "
    "max_statement_time = 0"
)
# Of a server where it is not the default. Before 10.8 a session may not set it.
TIMESTAMPS = "SET SESSION explicit_defaults_for_timestamp = 1"
COMMIT_BYTES = 16 << 20
# In a packet, what is not the statement.
PACKET_RESERVE = 1024
CONCAT_TOO_LARGE = 1301
MULTI_STATEMENTS_OFF = 1


class View(NamedTuple):
    """A view that could not be created yet, and the session that it needs."""

    check: Check
    text: bytes
    session: tuple[str, ...]
    error: str


class DumpLoader:
    """Loads one dump into the database of a connection."""

    def __init__(self, connection: Any, driver: Any, database: str) -> None:
        self.connection, self.driver, self.database = connection, driver, database.encode()
        self.views: list[View] = []

    def load(self, file: Readable) -> None:
        self.allow_single_statements()
        self.query(SETTINGS)
        try:
            self.query(TIMESTAMPS)
        except self.driver.MySQLError:
            pass
        [[server, packet]] = self.query("SELECT VERSION(), @@max_allowed_packet")
        reader = DumpReader(file, Grammar(version_id(server)))
        pending = 0
        for statement in reader.statements():
            pending += len(statement.text)
            self.run(reader, statement, packet - PACKET_RESERVE)
            if pending > COMMIT_BYTES:
                self.connection.commit()
                pending = 0
        self.create_views()
        self.connection.commit()

    def allow_single_statements(self) -> None:
        """The server refuses a second statement in one request. PyMySQL never asks for it."""
        if self.driver.__name__ == "MySQLdb":
            self.connection.set_server_option(MULTI_STATEMENTS_OFF)

    def run(self, reader: DumpReader, statement: Statement, limit: int) -> None:
        check = Check(statement, reader.grammar, self.database, reader.source)
        text = check.runnable()
        try:
            if text is not None and len(text) > limit:
                self.run_divided(divided(text, reader.grammar, limit))
            elif text is not None:
                self.query(text)
        except TooLarge:
            message = f"it is larger than max_allowed_packet of the server, {limit} bytes"
            raise check.refused(message) from None
        except self.driver.MySQLError as error:
            if text is None or check.kind != b"VIEW":
                raise check.refused(redact(words_of(error))) from None
            self.views.append(View(check, text, self.session(), words_of(error)))
        if check.is_setting:
            reader.grammar = self.grammar(reader.grammar.version)

    def run_divided(self, statements: Iterator[bytes]) -> None:
        for statement in statements:
            self.query(statement)
            if any(code == CONCAT_TOO_LARGE for _, code, _ in self.query("SHOW WARNINGS")):
                raise TooLarge

    def create_views(self) -> None:
        """A dump has views in the order of their names, and some need others or a function."""
        while self.views:
            views, self.views = self.views, []
            for view in views:
                try:
                    self.query(SET_SESSION, *view.session)
                    self.query(view.text)
                except self.driver.MySQLError as error:
                    self.views.append(view._replace(error=words_of(error)))
            if len(self.views) == len(views):
                raise views[0].check.refused(redact(self.views[0].error))

    def session(self) -> tuple[str, ...]:
        [row] = self.query(GET_SESSION)
        return tuple(row)

    def grammar(self, version: int) -> Grammar:
        """As the session reads its next statement."""
        modes, character_set, _ = self.session()
        if character_set not in SAFE_CHARACTER_SETS:
            raise JobError(
                RESTORE_FAILED,
                f"the dump is written in {character_set}: make it with "
                "--default-character-set=utf8mb4",
            )
        names = modes.split(",")
        return Grammar(version, "ANSI_QUOTES" in names, "NO_BACKSLASH_ESCAPES" in names)

    def query(self, statement: str | bytes, *values: object) -> list[Any]:
        with self.connection.cursor() as cursor:
            cursor.execute(statement, values or None)
            return list(cursor.fetchall()) if cursor.description else []


GET_SESSION = "SELECT @@sql_mode, @@character_set_client, @@collation_connection"
SET_SESSION = "SET sql_mode = %s, character_set_client = %s, collation_connection = %s"


def words_of(error: Exception) -> str:
    """The text of a driver's error, without its number."""
    return " ".join(str(error.args[-1] if error.args else error).split())


def version_id(server: str) -> int:
    """10.11.6-MariaDB is 101106, as in `/*M!101106 … */`."""
    numbers = [int(number) for number in re.findall(r"\d+", server)[:3]]
    major, minor, patch = [*numbers, 0, 0, 0][:3]
    return major * 10000 + minor * 100 + patch
