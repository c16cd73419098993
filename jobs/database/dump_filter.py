"""Reads dumps of databases so that they run SQL as the site's user, and nothing else.

PostgreSQL: the driver runs the statements and copies the rows. It knows no commands of psql, so
`\\! COMMAND` is a syntax error.

MariaDB: the client program runs the dump. Versions without `--sandbox` run `\\! COMMAND`, `system
COMMAND`, `source FILE` and more. For these, the dump must have the form that mariadb-dump writes:
texts end in the line where they begin, and no line has a backslash or a comment outside of texts.
"""

import re
from collections.abc import Iterable, Iterator

from job_result import JobError
from operator_constants import RESTORE_FAILED

# Statements between two tables of a dump are short; they are in memory.
MAX_STATEMENTS_BYTES = 64 << 20

# The schema exists and belongs to the server's administrator. The site's user owns the rest.
EXCLUDED_STATEMENTS = re.compile(
    rb"\\(un)?restrict|CREATE SCHEMA public;|COMMENT ON SCHEMA public |SET transaction_timeout|"
    rb"GRANT |REVOKE |ALTER DEFAULT PRIVILEGES |ALTER [A-Z ]+ .* OWNER TO "
)


def refused(what: str) -> JobError:
    return JobError(RESTORE_FAILED, f"the dump has {what}: it was not loaded")


class Rows:
    """The rows of a COPY statement, up to the line `\\.`, as a file."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self.lines, self.rest, self.is_ended = lines, b"", False

    def read(self, size: int = -1) -> bytes:
        while not self.is_ended and (size < 0 or len(self.rest) < size):
            line = next(self.lines, None)
            if line is None or line.rstrip(b"\r\n") == b"\\.":
                self.is_ended = True
            else:
                self.rest += line
        if size < 0:
            size = len(self.rest)
        data, self.rest = self.rest[:size], self.rest[size:]
        return data

    def end(self) -> None:
        while self.read(1 << 20):
            pass


def postgres_parts(file: Iterable[bytes]) -> Iterator[tuple[bytes, Rows | None]]:
    """Statements, and COPY statements with their rows, in the order of the dump."""
    lines, statements = iter(file), b""
    for line in lines:
        if line.startswith(b"COPY ") and line.rstrip().endswith(b" FROM stdin;"):
            if without_comments(statements).strip():
                yield statements, None
            statements = b""
            rows = Rows(lines)
            yield line.rstrip().removesuffix(b";"), rows
            rows.end()
        elif not EXCLUDED_STATEMENTS.match(line):
            statements += line
            if len(statements) > MAX_STATEMENTS_BYTES:
                raise refused("more statements in sequence than a dump of a site")
    if without_comments(statements).strip():
        yield statements, None


def without_comments(statements: bytes) -> bytes:
    """The driver refuses a query that has no statement."""
    return re.sub(rb"(?m)^--[^\r\n]*", b"", statements)


# --- MariaDB ------------------------------------------------------------------------------------

TEXTS = re.compile(rb"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\"|`(?:[^`]|``)*`")
VERSIONED = re.compile(rb"/\*M?!\d{5,6} ?")
STATEMENT = re.compile(
    rb"(DROP|CREATE|ALTER|INSERT|REPLACE|LOCK|UNLOCK|SET|COMMIT|START TRANSACTION)\b", re.IGNORECASE
)
# Only this mode of dumps is set: another one may change where texts end.
SQL_MODE = b"/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */;"


def mariadb_statements(file: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a dump without comments. Fails at a line that may be a command."""
    begins = True
    for line in file:
        text = line.rstrip(b"\r\n")
        if begins and (not text.strip() or text.startswith((b"-- ", b"--\t")) or text == b"--"):
            continue
        code = TEXTS.sub(b"", text)
        if begins and is_mode(code):
            if text == SQL_MODE:
                yield line
            continue
        check_line(code, begins)
        begins = code.rstrip().endswith(b";")
        yield line


def is_mode(code: bytes) -> bool:
    statement = VERSIONED.sub(b"", code, count=1).lstrip().upper()
    return statement.startswith(b"SET") and b"SQL_MODE" in statement


def check_line(code: bytes, begins: bool) -> None:
    if b"\0" in code or b"\r" in code:
        raise refused("control characters outside of texts")
    if any(mark in code for mark in (b"\\", b"'", b'"', b"`")):
        raise refused("a command of the database's client, or a text of several lines")
    if b"--" in code or b"#" in code:
        raise refused("comments in statements")
    if begins and not STATEMENT.match(VERSIONED.sub(b"", code, count=1).lstrip()):
        raise refused(f"a statement that dumps do not have, {code[:40].decode(errors='replace')!r}")
    if b";" in code.rstrip().removesuffix(b";"):
        raise refused("several statements in a line")
