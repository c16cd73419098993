"""MariaDB's grammar of texts, quoted names and comments: where a statement ends, and its tokens.

Follows `MYSQLlex` of the server (sql/sql_lex.cc). Its rules depend on two modes of SQL, and on its
version: `/*!50100 … */` and `/*M!100100 … */` are code for a server of that version or a later one.
Versions 50700 to 99999 are MySQL's, and a comment for MariaDB unless `M` stands before them.

In the character sets of SAFE_CHARACTER_SETS a byte below 0x80 is always the character itself.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from job_result import JobError
from operator_constants import RESTORE_FAILED

SAFE_CHARACTER_SETS = frozenset(
    [
        "utf8",
        "utf8mb3",
        "utf8mb4",
        "ascii",
        "binary",
        "latin1",
        "latin2",
        "latin5",
        "latin7",
        "cp1250",
        "cp1251",
        "cp1256",
        "cp1257",
        "cp850",
        "cp852",
        "cp866",
        "koi8r",
        "koi8u",
        "greek",
        "hebrew",
        "macce",
        "macroman",
        "keybcs2",
        "armscii8",
        "geostd8",
        "dec8",
        "hp8",
        "tis620",
        "ujis",
        "eucjpms",
        "euckr",
        "gb2312",
    ]
)
# `#`, `-- `, `/*`, `/*!`, `/*!50100`, `/*M!100100`. Of seven digits, the seventh is code.
MARKER = re.compile(rb"#|--(?=[\x00-\x20\x7f]|\Z)|/\*(?:(M?)!(\d{5}\d?)?)?")
# Blanks, and a control character that the server would take for one in some character sets.
AMBIGUOUS = re.compile(rb"--[\x80-\xff]")
SPACE = re.compile(rb"[\t-\r ]*")
WORD = re.compile(rb"[0-9A-Za-z_$@\x80-\xff]+")
BLOCK_EDGE = re.compile(rb"\*/|/\*")
MYSQL_VERSIONS = range(50700, 100000)
# Repetitions of a group take memory, so a match has few of them, and is repeated.
ESCAPES, PARTS = 100, 200


def refused(what: str) -> JobError:
    return JobError(RESTORE_FAILED, f"the dump has {what}: it was not loaded")


@dataclass(frozen=True)
class Grammar:
    """What decides how the server reads a text."""

    version: int
    ansi_quotes: bool = False
    no_backslash_escapes: bool = False

    def body(self, quote: int) -> "re.Pattern[bytes]":
        return body_pattern(quote, self.has_escapes(quote))

    def has_escapes(self, quote: int) -> bool:
        return not self.no_backslash_escapes and not self.is_name(quote)

    def is_name(self, quote: int) -> bool:
        return quote == b"`"[0] or (self.ansi_quotes and quote == b'"'[0])

    def is_code(self, marker: "re.Match[bytes]") -> bool:
        """Whether the server reads what follows `/*!`, up to `*/`, as code."""
        if marker[1] is None:
            return False
        if marker[2] is None:
            return True
        version = int(marker[2])
        return version <= self.version and (bool(marker[1]) or version not in MYSQL_VERSIONS)


@cache
def body_pattern(quote: int, escapes: bool) -> "re.Pattern[bytes]":
    """What follows an opening quote, up to a quote, or some of it. `''` ends one and begins one."""
    one = re.escape(bytes([quote]))
    if not escapes:
        return re.compile(rb"[^%s]*" % one)
    return re.compile(rb"[^%s\\]*(?:\\.[^%s\\]*){0,%d}" % (one, one, ESCAPES), re.DOTALL)


@cache
def code_pattern(grammar: Grammar, delimiter: int, in_comment: bool) -> "re.Pattern[bytes]":
    """Code with short texts, up to something that needs a closer look; in `/*! … */`, also `*`."""
    texts = [grammar.body(quote).pattern.join([re.escape(bytes([quote]))] * 2) for quote in b"'\"`"]
    stops = re.escape(b"'\"`#/-\\\0" + bytes([delimiter]) + b"*" * in_comment)
    parts = [rb"[^%s]+" % stops, *texts, rb"-(?=[^-])"]
    return re.compile(rb"(?:%s){0,%d}" % (b"|".join(parts), PARTS), re.DOTALL)


class Token(NamedTuple):
    """kind: `word`, `name` (quoted), `text`, or `sign` (one byte)."""

    kind: str
    value: bytes
    start: int
    end: int

    @property
    def upper(self) -> bytes:
        """Compared with keywords and signs; a quoted name is none."""
        return self.value.upper() if self.kind in ("word", "sign") else b""

    @property
    def is_identifier(self) -> bool:
        return self.kind in ("word", "name")


def tokens(statement: bytes, grammar: Grammar, start: int = 0) -> Iterator[Token]:
    """The tokens that the server sees in a whole statement."""
    at, in_comment = start, False
    while (at := end_of_space(statement, at)) < len(statement):
        if marker := MARKER.match(statement, at):
            if grammar.is_code(marker):
                at, in_comment = marker.end(), True
            else:
                at = end_of_comment(statement, marker)
        elif in_comment and statement.startswith(b"*/", at):
            at, in_comment = at + 2, False
        else:
            token = token_at(statement, at, grammar)
            yield token
            at = token.end


def end_of_space(text: bytes, at: int) -> int:
    found = SPACE.match(text, at)
    assert found is not None
    return found.end()


def token_at(statement: bytes, at: int, grammar: Grammar) -> Token:
    if word := WORD.match(statement, at):
        return Token("word", word[0], at, word.end())
    quote = statement[at]
    if quote not in b"'\"`":
        return Token("sign", statement[at : at + 1], at, at + 1)
    end = at
    while statement[end : end + 1] == bytes([quote]):
        end = end_of_text(statement, end + 1, grammar)
    one = bytes([quote])
    if grammar.is_name(quote):
        return Token("name", statement[at + 1 : end - 1].replace(one * 2, one), at, end)
    return Token("text", statement[at:end], at, end)


def end_of_text(statement: bytes, at: int, grammar: Grammar) -> int:
    """The place behind the closing quote of a text whose opening quote is at `at - 1`."""
    quote = statement[at - 1]
    pattern = grammar.body(quote)
    while at < len(statement):
        found = pattern.match(statement, at)
        assert found is not None
        at = found.end()
        if statement[at : at + 1] == bytes([quote]):
            return at + 1
        if at + 1 >= len(statement):
            break
    raise refused("a text without an end")


def end_of_comment(statement: bytes, marker: "re.Match[bytes]") -> int:
    if not marker[0].startswith(b"/*"):
        end = statement.find(b"\n", marker.end())
        return len(statement) if end < 0 else end + 1
    # A comment of another version may contain one other comment, a plain one may not.
    may_nest, is_nested, at = marker[2] is not None, False, marker.end()
    while edge := BLOCK_EDGE.search(statement, at):
        at = edge.end()
        if edge[0] == b"/*":
            if may_nest and not is_nested:
                is_nested = True
            else:
                at -= 1  # `/*/` ends it
        elif is_nested:
            is_nested = False
        else:
            return at
    raise refused("a comment without an end")
