"""Reads a dump of MariaDB or MySQL as the server would: statement by statement.

No client program takes part. Of the client's own commands a dump needs one, DELIMITER; another one
is refused.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from mariadb_tokens import (
    AMBIGUOUS,
    BLOCK_EDGE,
    MARKER,
    SPACE,
    Grammar,
    code_pattern,
    refused,
)

CHUNK_BYTES = 1 << 20
# Of the largest packet that a server takes. A dump has one statement of this size in memory.
MAX_STATEMENT_BYTES = 1 << 30
# More than a marker or a delimiter.
LOOKAHEAD = 32
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
DELIMITER = re.compile(rb"delimiter(?=[\t ])", re.IGNORECASE)
# In the comments of dumps: of which database it is.
SOURCE = re.compile(rb"-- (?:Host: .*?\s)?Database: +(\S+)\s*\Z")


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class Statement(NamedTuple):
    text: bytes
    line: int


class DumpReader:
    """The statements of a dump. `grammar` may change between two of them."""

    def __init__(self, file: Readable, grammar: Grammar) -> None:
        self.file, self.grammar = file, grammar
        self.buffer, self.line, self.delimiter = bytearray(), 1, b";"
        self.source = b""
        self.is_read = False

    def statements(self) -> Iterator[Statement]:
        self.need(0)
        if self.buffer.startswith(BYTE_ORDER_MARK):
            self.drop(len(BYTE_ORDER_MARK))
        while self.skip_to_statement():
            end = self.end_of_statement()
            statement = Statement(bytes(self.buffer[:end]), self.line)
            self.drop(end + len(self.delimiter))
            if statement.text:
                yield statement

    # --- the buffer ---------------------------------------------------------------------------

    def more(self) -> bool:
        if self.is_read:
            return False
        if len(self.buffer) > MAX_STATEMENT_BYTES:
            raise refused(f"a statement of more than {MAX_STATEMENT_BYTES} bytes, {self.place}")
        data = self.file.read(CHUNK_BYTES)
        self.buffer += data
        self.is_read = not data
        return not self.is_read

    def need(self, at: int) -> None:
        """Reads until what may stand at a place is in the buffer as a whole."""
        while len(self.buffer) < at + LOOKAHEAD and self.more():
            pass

    def drop(self, size: int) -> None:
        self.line += self.buffer.count(b"\n", 0, size)
        del self.buffer[:size]

    @property
    def place(self) -> str:
        return f"in line {self.line}"

    # --- between statements -------------------------------------------------------------------

    def skip_to_statement(self) -> bool:
        """Drops blanks, comments and DELIMITER. False at the end of the dump."""
        while True:
            self.need(0)
            if end := self.end_of(SPACE, 0):
                self.drop(end)
                continue
            if not self.buffer:
                return False
            marker = MARKER.match(self.buffer)
            if marker is not None and not self.grammar.is_code(marker):
                end = self.end_of_comment(0, marker)
                if found := SOURCE.match(bytes(self.buffer[: min(end, 1024)])):
                    self.source = found[1].strip(b"`")
                self.drop(end)
            elif DELIMITER.match(self.buffer):
                self.change_delimiter()
            else:
                return True

    def change_delimiter(self) -> None:
        end = self.find(b"\n", 0)
        delimiter = bytes(self.buffer[len(b"delimiter") : end]).strip()
        if not re.fullmatch(rb"[!$%&()*+,./:;<=>?@\[\]^_{|}~]{1,8}", delimiter):
            raise refused(f"a DELIMITER that is none, {self.place}")
        self.delimiter = delimiter
        self.drop(end)

    def find(self, mark: bytes, at: int) -> int:
        """The place of a mark; without one, the end of the dump."""
        while (found := self.buffer.find(mark, at)) < 0:
            at = len(self.buffer)
            if not self.more():
                return at
        return found

    # --- in a statement -----------------------------------------------------------------------

    def end_of_statement(self) -> int:
        at, in_comment = 0, False
        while True:
            at = self.end_of(code_pattern(self.grammar, self.delimiter[0], in_comment), at)
            self.need(at)
            if at == len(self.buffer):
                raise refused(f"no end: its last statement, {self.place}, is cut")
            if self.buffer.startswith(self.delimiter, at):
                return at
            marker = MARKER.match(self.buffer, at)
            if in_comment and self.buffer.startswith(b"*/", at):
                at, in_comment = at + 2, False
            elif marker is not None and self.grammar.is_code(marker):
                at, in_comment = marker.end(), True
            elif marker is not None:
                at = self.end_of_comment(at, marker)
            else:
                at = self.behind(at)

    def behind(self, at: int) -> int:
        """The place behind the text or the sign that begins at a place."""
        byte = self.buffer[at]
        if byte in b"'\"`":
            return self.end_of_text(at + 1, byte)
        if byte == 0:
            raise refused(f"a NUL outside of texts, in the statement {self.place}")
        if byte == b"\\"[0] and self.buffer[at + 1 : at + 2] != b"N":
            raise refused(f"a command of the database's client, in the statement {self.place}")
        if AMBIGUOUS.match(self.buffer, at):
            raise refused(f"`--` that may be a comment or not, in the statement {self.place}")
        return at + 1

    def end_of(self, pattern: "re.Pattern[bytes]", at: int) -> int:
        found = pattern.match(self.buffer, at)
        return at if found is None else found.end()

    def end_of_text(self, at: int, quote: int) -> int:
        pattern = self.grammar.body(quote)
        while True:
            at = self.end_of(pattern, at)
            if at < len(self.buffer) and self.buffer[at] == quote:
                return at + 1
            if at + 1 >= len(self.buffer) and not self.more():
                raise refused(f"a text without an end, in the statement {self.place}")

    def end_of_comment(self, start: int, marker: "re.Match[bytes]") -> int:
        at = start + len(marker[0])
        if not marker[0].startswith(b"/*"):
            end = self.find(b"\n", at)
            if self.buffer.find(b"\0", at, end) >= 0:
                raise refused(f"a NUL in a comment, {self.place}")
            return end
        may_nest, is_nested = marker[2] is not None, False
        while True:
            edge = BLOCK_EDGE.search(self.buffer, at)
            if edge is None:
                at = max(at, len(self.buffer) - 1)
                if not self.more():
                    raise refused(f"a comment without an end, in the statement {self.place}")
            elif edge[0] == b"/*":
                at = edge.end() if may_nest and not is_nested else edge.end() - 1
                is_nested = is_nested or may_nest
            elif is_nested:
                at, is_nested = edge.end(), False
            else:
                return edge.end()
