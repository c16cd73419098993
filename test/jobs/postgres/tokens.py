"""TEST CODE: random SQL, as one text to a real server, and statement by statement as postgres_dump.py splits it.

Arguments: the address for libpq, the number of texts, a seed. Fails where the results differ.
"""

import ctypes
import ctypes.util
import io
import random
import sys

from job_result import JobError
from postgres_dump import Dump

libpq = ctypes.CDLL("libpq.so.5")
for name in ("PQconnectdb", "PQgetResult"):
    getattr(libpq, name).restype = ctypes.c_void_p
for name in ("PQgetvalue", "PQerrorMessage"):
    getattr(libpq, name).restype = ctypes.c_char_p
connection = ctypes.c_void_p(libpq.PQconnectdb(sys.argv[1].encode()))
assert libpq.PQstatus(connection) == 0, libpq.PQerrorMessage(connection)
chance = random.Random(int(sys.argv[3]))
# What a text, a name or a comment may hold, and what ends it.
MARKS = ["a", "'", '"', "$", "$$", "$a$", "/*", "*/", "--", "\\", ";", "\n", "\r", " ", "E", "U&", "ä", "''", '""', "1", "\t"]


def results(text: bytes) -> list[bytes] | None:
    """The values that the server gives; None where it refuses the text."""
    assert libpq.PQsendQuery(connection, text)
    values, is_refused = [], False
    while result := libpq.PQgetResult(connection):
        result = ctypes.c_void_p(result)
        status = libpq.PQresultStatus(result)
        is_refused |= status == 7
        if status == 2:
            values.append(b"|".join(libpq.PQgetvalue(result, 0, i) for i in range(libpq.PQnfields(result))))
        libpq.PQclear(result)
    return None if is_refused else values


def content() -> str:
    return "".join(chance.choices(MARKS, k=chance.randrange(6)))


def literal() -> str:
    text = content()
    tag = chance.choice(["$$", "$a$", "$ä1$"])
    return chance.choice([
        "'" + text.replace("'", "''") + "'",
        "E'" + text.replace("\\", "\\\\").replace("'", chance.choice(["''", "\\'"])) + "'",
        "e'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'" + blank(True) + "'" + "\\'" * chance.randrange(2) + "'",
        "'" + text.replace("'", "''") + "'" + blank(True) + "'x'",
        "U&'" + text.replace("'", "''").replace("\\", "\\\\") + "'",
        tag + text.replace("$", "S") + tag,
        "1",
        '(SELECT 1 AS "' + text.replace('"', '""') + 'x")',
    ])  # fmt: skip


def blank(has_line_end: bool = False) -> str:
    text = content()
    inner = text.replace("*/", "").replace("/*", "").replace("*", "").replace("/", "")
    found = chance.choice([
        " ", "\n", "\t ", " --" + text.replace("\n", "").replace("\r", "") + chance.choice("\r\n"),
        f"/*{inner}*/", f"/*{inner}/*{inner}*/{inner}*/", "",
    ])  # fmt: skip
    return f"{found}\n" if has_line_end else found


def program() -> str:
    statements = []
    for number in range(chance.randrange(1, 5)):
        columns = [str(number), *(f"{blank()}{literal()}{blank()}" for _ in range(chance.randrange(3)))]
        statements.append(f"{blank()}SELECT {','.join(columns)}{blank()};")
    text = "".join(statements)
    for _ in range(chance.choice([0, 0, 1, 2])):  # also unusual texts
        at = chance.randrange(len(text))
        text = text[:at] + chance.choice(MARKS) + text[at + chance.randrange(2) :]
    return text + "\n;"


def split(text: bytes) -> list[bytes]:
    values = []
    for statement in Dump(io.BytesIO(text)).statements():
        found = results(statement.text)
        assert found is not None and len(found) == 1, (statement, found)
        values += found
    return values


compared = 0
for _ in range(int(sys.argv[2])):
    text = program().encode()
    expected = results(text)
    if expected is None:
        continue
    compared += 1
    try:
        found = split(text)
    except JobError as error:
        # The server would take it as an operator or a command of psql.
        assert "command of psql" in str(error), (error, text)
        continue
    assert found == expected, (text, expected, found)
print(compared)
