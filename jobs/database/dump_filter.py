"""Reads dumps of PostgreSQL so that they run SQL as the site's user, and nothing else.

The driver runs the statements and copies the rows. It knows no commands of psql, so `\\! COMMAND`
is a syntax error.
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
