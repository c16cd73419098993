"""Reads dumps of MariaDB so that they run SQL as the site's user, and nothing else.

The client program runs the dump. Versions without `--sandbox` run `\\! COMMAND`, `system
COMMAND`, `source FILE` and more. For these, the dump must have the form that mariadb-dump writes:
texts end in the line where they begin, and no line has a backslash or a comment outside of texts.
"""

import re
from collections.abc import Iterable, Iterator

from job_result import JobError
from operator_constants import RESTORE_FAILED


def refused(what: str) -> JobError:
    return JobError(RESTORE_FAILED, f"the dump has {what}: it was not loaded")


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
