"""Reads a dump of PostgreSQL by the server's own rules of quotes and comments.

Gives its statements, each with its tokens, and the rows behind each COPY. Memory is bounded: only
one statement is kept.
"""

import re
from collections.abc import Iterator
from io import BufferedIOBase
from typing import NamedTuple

from job_result import JobError
from operator_constants import RESTORE_FAILED

MAX_STATEMENT_BYTES = 64 << 20
PIECE_BYTES = 1 << 18
# Of the tokens outside of parentheses, the first ones and the last ones are kept.
FIRST_TOKENS = 200
LAST_TOKENS = 3
# What decides on a token is at most so many bytes behind it, as in `U&'`.
AHEAD_BYTES = 2

# src/backend/parser/scan.l. Each byte from 0x80 on is a letter.
SPACE = re.compile(rb"[ \t\n\r\f\v]+")
COMMENT = re.compile(rb"--[^\r\n]*")
BLANK = re.compile(rb"[ \t\n\r\f\v]|--|/\*")
BLOCK = re.compile(rb"/\*|\*/")
TEXT = re.compile(rb"([eE])'|(?:[bBxXnN]|[uU]&)?'")
NAME = re.compile(rb'(?:[uU]&)?"')
DOLLAR = re.compile(rb"\$(?:[A-Za-z_\x80-\xff][A-Za-z0-9_\x80-\xff]*)?\$")
WORD = re.compile(rb"[A-Za-z_\x80-\xff][A-Za-z0-9_$\x80-\xff]*|\d+")
# Between texts with this between them the first text continues.
BLANKS = re.compile(rb"(?:[ \t\n\r\f\v]+|--[^\r\n]*)*")
PSQL_COMMAND = re.compile(rb"\\([^\s;]*)[^\r\n]*")
WORDS = re.compile(rb'[\w\s."\x80-\xff-]*')
END_OF_ROWS = (b"\\.\n", b"\\.\r\n", b"\\.")

# With what a statement of a body of SQL begins: `CREATE FUNCTION … BEGIN ATOMIC …; …; END`.
OF_BODY = {"SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "WITH", "VALUES", "TABLE", "RETURN"}
OF_BODY |= {"END", "("}


class Statement(NamedTuple):
    # Without the `;`.
    text: bytes
    # Outside of parentheses. Words are in capitals, names keep their quotes, texts are `'`.
    tokens: tuple[str, ...]
    last_tokens: tuple[str, ...]
    line: int

    @property
    def words(self) -> str:
        """Its first words, without any text."""
        return first_words(self.text)


def first_words(text: bytes) -> str:
    match = WORDS.match(text)
    assert match is not None
    return " ".join(match[0].decode(errors="replace").split())[:60]


def refused(line: int, what: str) -> JobError:
    return JobError(RESTORE_FAILED, f"line {line} of the dump has {what}: it was not loaded")


class Incomplete(Exception):
    """A token may continue in what is not read yet."""


class Dump:
    def __init__(self, file: BufferedIOBase) -> None:
        self.file = file
        self.buffer = b""
        # Of the statement, its first byte in the buffer and that byte's line in the dump.
        self.start, self.line = 0, 1
        self.position = 0
        self.is_read = False

    # --- the bytes ----------------------------------------------------------------------------

    def read(self) -> None:
        """Reads as much again as the statement has, so that each byte is seen a few times only."""
        rest = self.buffer[self.start :]
        if len(rest) > MAX_STATEMENT_BYTES:
            raise refused(self.line, "a statement of more than 64 MiB")
        piece = self.file.read(max(PIECE_BYTES, len(rest)))
        self.position -= self.start
        self.buffer, self.start, self.is_read = rest + piece, 0, not piece

    def readline(self) -> bytes:
        """Of the rows of a COPY: a line, or a part of a long one."""
        if self.start < len(self.buffer):
            end = self.buffer.find(b"\n", self.start) + 1 or len(self.buffer)
            line = self.buffer[self.start : end]
            self.start = self.position = end
            if not line.endswith(b"\n"):
                line += self.file.readline(PIECE_BYTES)
        else:
            line = self.file.readline(PIECE_BYTES)
        self.line += line.endswith(b"\n")
        return line

    def advance(self) -> None:
        """Begins a statement behind what was read."""
        self.line += self.buffer.count(b"\n", self.start, self.position)
        self.start = self.position

    def rows(self) -> "Rows":
        """The rows of the COPY that `statements` has just given."""
        if self.readline().strip():
            raise refused(self.line - 1, "a statement behind COPY in its line")
        return Rows(self)

    # --- the tokens ---------------------------------------------------------------------------

    def statements(self) -> Iterator[Statement]:
        self.read()
        if self.buffer.startswith(b"\xef\xbb\xbf"):
            self.start = self.position = 3
        while (statement := self.statement()) is not None:
            yield statement

    def statement(self) -> Statement | None:
        """The next statement; None at the end of the dump."""
        first: list[str] = []
        last: list[str] = []
        depth, body, line, begins = 0, Body(), self.line, False
        while (token := self.token(not first)) is not None:
            if not first and token != ";":
                line = self.line
            if token == ";" and depth == 0 and body.depth == 0:
                text = self.buffer[self.start : self.position - 1]
                self.advance()
                if not first:
                    continue
                if b"\0" in text:
                    raise refused(line, "a zero byte outside of rows")
                return Statement(text, tuple(first), tuple(last), line)
            if begins and token not in OF_BODY:
                words = first_words(self.buffer[self.start : self.position])
                raise refused(line, f"a body whose end is not known, {words!r}")
            is_outside = depth == 0 or (depth == 1 and token == ")")
            depth += (token == "(") - (token == ")")
            if is_outside:
                body.follow(token, first)
                if len(first) < FIRST_TOKENS:
                    first.append(token)
                last = [*last[1 - LAST_TOKENS :], token]
            begins = body.depth > 0 and token in (";", "ATOMIC")
        if first:
            words = first_words(self.buffer[self.start : self.position])
            raise refused(line, f"a last statement without an end, {words!r}")
        return None

    def token(self, begins: bool) -> str | None:
        """The next token that is neither blank nor a comment; None at the end of the dump."""
        while True:
            try:
                start = self.position
                end = self.end_of_token(start)
                if end + AHEAD_BYTES > len(self.buffer) and not self.is_read:
                    raise Incomplete
            except Incomplete:
                if self.is_read:
                    line = self.line + self.buffer.count(b"\n", self.start, start)
                    raise refused(line, "a text or a comment without an end") from None
                self.read()
                continue
            if end == start:
                return None
            self.position = end
            if command := PSQL_COMMAND.match(self.buffer, start):
                self.check_command(command, begins)
            elif not BLANK.match(self.buffer, start):
                return self.shown(start, end)
            if begins:
                self.advance()

    def check_command(self, match: "re.Match[bytes]", begins: bool) -> None:
        if not begins or match[1] not in (b"restrict", b"unrestrict"):
            line = self.line + self.buffer.count(b"\n", self.start, match.start())
            name = match[1].decode(errors="replace")[:20]
            raise refused(line, f"a command of psql, \\{name}")

    def shown(self, start: int, end: int) -> str:
        if TEXT.match(self.buffer, start) or DOLLAR.match(self.buffer, start):
            return "'"
        token = self.buffer[start:end]
        text = token.decode(errors="replace")
        return text.upper() if token.isascii() and not token.endswith(b'"') else text

    def end_of_token(self, start: int) -> int:
        buffer = self.buffer
        if match := SPACE.match(buffer, start) or COMMENT.match(buffer, start):
            return match.end()
        if buffer.startswith(b"/*", start):
            return self.end_of_block(start)
        if match := TEXT.match(buffer, start):
            return self.end_of_text(match.end(), is_escaped=bool(match[1]))
        if match := NAME.match(buffer, start):
            return self.end_of_quote(match.end(), b'"', is_escaped=False)
        if match := DOLLAR.match(buffer, start):
            end = buffer.find(match[0], match.end())
            if end < 0:
                raise Incomplete
            return end + len(match[0])
        if match := WORD.match(buffer, start):
            return match.end()
        if match := PSQL_COMMAND.match(buffer, start):
            return match.end()
        return min(start + 1, len(buffer))

    def end_of_block(self, start: int) -> int:
        depth = 0
        for match in BLOCK.finditer(self.buffer, start):
            depth += 1 if match[0] == b"/*" else -1
            if depth == 0:
                return match.end()
        raise Incomplete

    def end_of_text(self, start: int, is_escaped: bool) -> int:
        while True:
            end = self.end_of_quote(start, b"'", is_escaped)
            blanks = BLANKS.match(self.buffer, end)
            assert blanks is not None
            if blanks.end() == len(self.buffer) and not self.is_read:
                raise Incomplete
            has_line_end = b"\n" in blanks[0] or b"\r" in blanks[0]
            if not has_line_end or not self.buffer.startswith(b"'", blanks.end()):
                return end
            start = blanks.end() + 1

    def end_of_quote(self, start: int, quote: bytes, is_escaped: bool) -> int:
        marks = re.compile(rb"[\\%b]" % quote if is_escaped else quote)
        position = start
        while match := marks.search(self.buffer, position):
            is_doubled = self.buffer[match.end() : match.end() + 1] == quote
            if match.end() == len(self.buffer) and not self.is_read:
                raise Incomplete
            if match[0] == quote and not is_doubled:
                return match.end()
            position = match.end() + 1
        raise Incomplete


class Body:
    """Where the body of a function ends that is SQL and no text. The rules are those of psql."""

    def __init__(self) -> None:
        self.depth = 0

    def follow(self, token: str, before: list[str]) -> None:
        if self.depth == 0:
            if token == "ATOMIC" and before[-1:] == ["BEGIN"] and is_routine(before):
                self.depth = 1
        elif token == "CASE":
            self.depth += 1
        elif token == "END":
            self.depth -= 1


def is_routine(tokens: list[str]) -> bool:
    words = [word for word in tokens[:4] if word not in ("OR", "REPLACE")]
    return words[:2] in (["CREATE", "FUNCTION"], ["CREATE", "PROCEDURE"])


class Rows:
    """The rows of a COPY as a file, up to the line `\\.`."""

    def __init__(self, dump: Dump) -> None:
        self.dump, self.line = dump, dump.line
        self.rest, self.begins = b"", True
        self.is_ended = self.is_cut = False

    def read(self, size: int = -1) -> bytes:
        pieces, length = [self.rest], len(self.rest)
        while not self.is_ended and (size < 0 or length < size):
            line = self.dump.readline()
            self.is_cut = not line
            if self.is_cut or (self.begins and line in END_OF_ROWS):
                self.is_ended = True
                break
            self.begins = line.endswith(b"\n")
            pieces.append(line)
            length += len(line)
        data = b"".join(pieces)
        if size < 0:
            size = len(data)
        data, self.rest = data[:size], data[size:]
        return data

    def end(self) -> None:
        """Skips the rest. Fails if the dump ends within the rows."""
        while self.read(1 << 20):
            pass
        if self.is_cut:
            raise refused(self.line, "rows without an end")
