"""Divides an INSERT that is larger than the packet that a server takes.

A dump program writes a row that was stored by parts, or a binary one, in a form that may be twice
as large. Long values are first put together in variables of the session.
"""

import re
from collections.abc import Iterator
from itertools import count

from mariadb_tokens import Grammar, Token, tokens

# A text's parts, none of which may be cut: an escape, a doubled quote, a character of UTF-8.
UNIT = re.compile(rb"\\.|''|[\xc0-\xff][\x80-\xbf]*|[^'\\\xc0-\xff]{1,1024}", re.DOTALL)
UNIT_WITHOUT_ESCAPES = re.compile(rb"''|[\xc0-\xff][\x80-\xbf]*|[^'\xc0-\xff]{1,1024}")
HEX = re.compile(rb"0x[0-9A-Fa-f]+")
VARIABLE = b"@app_operator_%d"


class TooLarge(Exception):
    """A value cannot be divided."""


def divided(statement: bytes, grammar: Grammar, limit: int) -> Iterator[bytes]:
    """Statements of at most `limit` bytes that insert the same rows, in their order."""
    found = tokens(statement, grammar)
    head_end = next((token.end for token in found if token.upper in (b"VALUES", b"VALUE")), 0)
    head, rows = statement[:head_end] + b" ", b""
    for row, settings in rows_of(statement, found, grammar, limit):
        # A variable has the value of one row.
        if rows and (settings or len(head) + len(rows) + len(row) + 1 > limit):
            yield head + rows
            rows = b""
        yield from settings
        rows += (b"," if rows else b"") + row
        if len(head) + len(rows) > limit:
            raise TooLarge
        if settings:
            yield head + rows
            rows = b""
    if rows:
        yield head + rows


def rows_of(
    statement: bytes, found: Iterator[Token], grammar: Grammar, limit: int
) -> Iterator[tuple[bytes, list[bytes]]]:
    """Rows with their brackets, and the statements that set the variables in them."""
    row, settings, depth = bytearray(), list[bytes](), 0
    at, names = 0, count()
    for token in found:
        depth += (token.upper == b"(") - (token.upper == b")")
        if not row and depth == 0:
            if token.upper != b",":
                raise TooLarge
            continue
        row += statement[at : token.start] if row else b""
        at = token.end
        if token.end - token.start > limit // 8:
            name = VARIABLE % next(names)
            settings += assignments(name, introducer_of(row), statement, token, grammar, limit // 4)
            row += name
        else:
            row += statement[token.start : token.end]
        if depth == 0:
            yield bytes(row), settings
            row.clear()
            settings = []


def introducer_of(row: bytearray) -> bytes:
    """Takes the character set that stands before a text off the row."""
    before = re.search(rb"([A-Za-z0-9_$]+)\s*\Z", row)
    if before is None:
        return b""
    if not before[1].startswith(b"_"):
        raise TooLarge  # such as x'…'
    introducer = before[0]
    del row[len(row) - len(introducer) :]
    return introducer


def assignments(
    name: bytes, prefix: bytes, statement: bytes, token: Token, grammar: Grammar, size: int
) -> Iterator[bytes]:
    first = True
    for piece in pieces(statement, token, grammar, size):
        value = prefix + piece
        yield b"SET %s = %s" % (name, value if first else b"CONCAT(%s, %s)" % (name, value))
        first = False


def pieces(statement: bytes, token: Token, grammar: Grammar, size: int) -> Iterator[bytes]:
    """Literals which, one behind the other, are a literal."""
    if HEX.fullmatch(token.value):
        step = size - size % 2
        for start in range(token.start + 2, token.end, step):
            yield b"0x" + statement[start : min(start + step, token.end)]
        return
    if token.kind != "text" or not token.value.startswith(b"'"):
        raise TooLarge
    unit = UNIT_WITHOUT_ESCAPES if grammar.no_backslash_escapes else UNIT
    at, end, begin = token.start + 1, token.end - 1, token.start + 1
    while at < end:
        found = unit.match(statement, at, end)
        if found is None:
            raise TooLarge
        if found.end() - begin > size:
            yield b"'%s'" % statement[begin:at]
            begin = at
        at = found.end()
    yield b"'%s'" % statement[begin:end]
