"""Which statements of a dump run, and in which form. What is not listed here is refused.

Known is what the dump programs of MariaDB and MySQL write. A statement runs as the site's user, so
this is no border of rights: it says in words what cannot be taken over, before the server does.
"""

import re
from collections.abc import Callable

from job_result import JobError
from mariadb_dump import Statement
from mariadb_tokens import Grammar, Token, tokens
from operator_constants import RESTORE_FAILED

OBJECTS = (
    b"TABLE",
    b"VIEW",
    b"TRIGGER",
    b"FUNCTION",
    b"PROCEDURE",
    b"EVENT",
    b"SEQUENCE",
    b"PACKAGE",
)
# Of these engines, rows are on another server, or in a file of the server.
FOREIGN_ENGINES = ("FEDERATED", "FEDERATEDX", "SPIDER", "CONNECT", "S3")
# Variables of the session that dumps set. Modes and character sets are read from the server then.
VARIABLES = frozenset(
    b"autocommit character_set_client character_set_connection character_set_results "
    b"check_constraint_checks collation_connection default_storage_engine foreign_key_checks "
    b"innodb_strict_mode max_statement_time names note_verbosity sql_mode sql_notes "
    b"sql_quote_show_create sql_warnings system_versioning_alter_history "
    b"system_versioning_insert_history time_zone unique_checks".upper().split()
)
# A site's user may not set them, and a site needs none of them.
SKIPPED_VARIABLES = frozenset((b"SQL_LOG_BIN", b"GTID_SEQ_NO", b"SQL_REQUIRE_PRIMARY_KEY"))
SCOPES = (b"SESSION", b"LOCAL", b"@@SESSION", b"@@LOCAL")
MAX_SHOWN = 120
MARKS = re.compile(r"/\*M?!\d*|\*/")


def shown(text: bytes) -> str:
    """The first words of a statement, without its texts: they may be data."""
    code = MARKS.sub(" ", re.split(r"['\"]", text[:400].decode(errors="replace"))[0])
    words = " ".join(code.split())
    return words if len(words) <= MAX_SHOWN else f"{words[:MAX_SHOWN]}…"


class Check:
    """One statement of a dump for the database `own`. `source`: the database that was dumped."""

    def __init__(self, statement: Statement, grammar: Grammar, own: bytes, source: bytes) -> None:
        self.statement, self.own, self.source = statement, own, source
        self.tokens = tokens(statement.text, grammar)
        self.seen: list[Token] = []
        self.at = 0
        # The grammar may be another one behind it.
        self.is_setting = False
        # Of an object that it creates.
        self.kind = b""
        self.changes: list[tuple[int, int, bytes]] = []

    def runnable(self) -> bytes | None:
        """The statement as it runs; None if it is left out."""
        head = self.take()
        if head is None:
            return None
        self.is_setting = head.upper == b"SET"
        kinds: dict[bytes, Callable[[], bool]] = {
            b"INSERT": self.insert,
            b"REPLACE": self.insert,
            b"CREATE": self.create,
            b"DROP": self.drop,
            b"ALTER": self.alter,
            b"SET": self.set,
            b"LOCK": lambda: False,
            b"UNLOCK": lambda: False,
            b"COMMIT": lambda: True,
            b"START": lambda: self.expect(self.accept(b"TRANSACTION")),
            b"BEGIN": lambda: self.expect(self.peek() is None),
            b"DO": self.set_value,
            b"SELECT": self.set_value,
        }
        known = kinds.get(head.upper)
        if known is None:
            raise self.refused()
        if not known():
            return None
        text = bytearray(self.statement.text)
        for start, end, replacement in sorted(self.changes, reverse=True):
            text[start:end] = replacement
        return bytes(text)

    def refused(self, why: str = "") -> JobError:
        what = why or "this is no statement that a dump of a site has"
        return JobError(
            RESTORE_FAILED,
            f"line {self.statement.line} of the dump, {shown(self.statement.text)}: {what}",
        )

    def expect(self, holds: bool) -> bool:
        if not holds:
            raise self.refused()
        return True

    # --- tokens -------------------------------------------------------------------------------

    def peek(self, ahead: int = 0) -> Token | None:
        while len(self.seen) <= self.at + ahead:
            token = next(self.tokens, None)
            if token is None:
                return None
            self.seen.append(token)
        return self.seen[self.at + ahead]

    def take(self) -> Token | None:
        token = self.peek()
        self.at += token is not None
        return token

    def accept(self, *words: bytes) -> bool:
        """Takes these words if they are next."""
        for index, word in enumerate(words):
            token = self.peek(index)
            if token is None or token.upper != word:
                return False
        self.at += len(words)
        return True

    def rest(self) -> list[Token]:
        """All further tokens, which stay."""
        while self.peek(len(self.seen) - self.at) is not None:
            pass
        return self.seen[self.at :]

    def name(self) -> Token:
        """Takes a name of an object, in the site's database."""
        token = self.take()
        if token is None or not token.is_identifier:
            raise self.refused()
        if not self.accept(b"."):
            return token
        self.check_database(token)
        named = self.take()
        if named is None:
            raise self.refused()
        return named

    def check_database(self, token: Token) -> None:
        if token.value not in (self.own, self.source):
            database = token.value.decode(errors="replace")
            raise self.refused(f"{database} is another database than the one of the dump")

    def of_own_database(self) -> None:
        """Names that say the dump's database, in the whole statement, mean the site's."""
        self.rest()
        self.map_names()

    def map_names(self) -> None:
        if self.source in (b"", self.own):
            return
        for index, token in enumerate(self.seen[:-1]):
            is_first = index == 0 or self.seen[index - 1].upper != b"."
            is_database = token.is_identifier and token.value == self.source
            if is_first and is_database and self.seen[index + 1].upper == b".":
                self.changes.append((token.start, token.end, quoted(self.own)))

    # --- rows ---------------------------------------------------------------------------------

    def insert(self) -> bool:
        while self.accept(b"IGNORE") or self.accept(b"DELAYED") or self.accept(b"LOW_PRIORITY"):
            pass
        self.accept(b"INTO")
        self.name()
        self.map_names()
        if self.accept(b"("):
            while not self.accept(b")"):
                if self.take() is None:
                    raise self.refused()
        return self.expect(self.accept(b"VALUES") or self.accept(b"VALUE"))

    def set_value(self) -> bool:
        """`DO SETVAL(sequence, 5, 0)`, or with SELECT."""
        if not self.accept(b"SETVAL", b"("):
            raise self.refused()
        self.name()
        self.of_own_database()
        numbers = all(token.upper in b",-)" or token.value.isdigit() for token in self.rest())
        return self.expect(numbers)

    # --- definitions --------------------------------------------------------------------------

    def create(self) -> bool:
        self.accept(b"OR", b"REPLACE")
        kind = self.kind = self.kind_of_object()
        if kind == b"PACKAGE":
            self.accept(b"BODY")
        self.accept(b"IF", b"NOT", b"EXISTS")
        self.name()
        if kind == b"TRIGGER":
            self.table_of_trigger()
        if kind == b"TABLE":
            self.check_engine()
        rest = self.rest()
        if kind == b"FUNCTION" and any(token.upper == b"SONAME" for token in rest[:4]):
            raise self.refused("a function of a library is not the site's")
        self.of_own_database()
        return True

    def kind_of_object(self) -> bytes:
        """Takes the words up to the kind. The definer becomes the site's user."""
        while token := self.take():
            if token.upper in OBJECTS:
                return token.upper
            if token.upper == b"DEFINER":
                self.definer(token)
            elif token.upper not in (
                *(b"ALGORITHM", b"=", b"UNDEFINED", b"MERGE", b"TEMPTABLE", b"AGGREGATE"),
                *(b"SQL", b"SECURITY", b"INVOKER"),
            ):
                break
        raise self.refused()

    def definer(self, first: Token) -> None:
        """`DEFINER`, as an attribute or in `SQL SECURITY DEFINER`."""
        if not self.accept(b"="):
            return
        last = self.take()
        behind = self.peek()
        if self.accept(b"(") or (behind is not None and behind.value.startswith(b"@")):
            last = self.take()
        if last is not None and last.kind == "word" and last.value.endswith(b"@"):
            last = self.take()
        if last is None:
            raise self.refused()
        self.changes.append((first.start, last.end, b"DEFINER=CURRENT_USER"))

    def table_of_trigger(self) -> None:
        """`AFTER INSERT ON table`; from MariaDB 12 on, `AFTER INSERT OR UPDATE ON table`."""
        for _ in range(200):
            if self.accept(b"ON"):
                self.name()
                return
            if self.take() is None:
                break
        raise self.refused()

    def check_engine(self) -> None:
        rest = self.rest()
        for option, equals, value in zip(rest, rest[1:], rest[2:], strict=False):
            if equals.upper != b"=":
                continue
            if option.upper == b"CONNECTION":
                raise self.refused("its rows are on another server")
            name = value.value.strip(b"'\"").decode(errors="replace").upper()
            if option.upper == b"ENGINE" and name in FOREIGN_ENGINES:
                raise self.refused("its rows are on another server, or in a file of the server")

    def drop(self) -> bool:
        kind = self.take()
        if kind is None or kind.upper not in OBJECTS:
            raise self.refused()
        if kind.upper == b"PACKAGE":
            self.accept(b"BODY")
        self.accept(b"IF", b"EXISTS")
        while True:
            self.name()
            if not self.accept(b","):
                break
        self.of_own_database()
        return True

    def alter(self) -> bool:
        if self.accept(b"DATABASE") or self.accept(b"SCHEMA"):
            return self.alter_database()
        if not self.accept(b"TABLE") and not self.accept(b"SEQUENCE"):
            raise self.refused()
        self.name()
        self.check_engine()
        self.of_own_database()
        return True

    def alter_database(self) -> bool:
        """`ALTER DATABASE name COLLATE x`, before a routine that was made under it."""
        token = self.take()
        if token is None or not token.is_identifier:
            raise self.refused()
        if token.upper not in (b"CHARACTER", b"DEFAULT", b"COLLATE"):
            self.check_database(token)
            self.changes.append((token.start, token.end, quoted(self.own)))
        return True

    # --- the session --------------------------------------------------------------------------

    def set(self) -> bool:
        names: set[bytes] = set()
        if self.accept(b"CHARACTER", b"SET"):
            names.add(b"NAMES")
            self.value()
        while self.peek() is not None:
            names.add(self.assignment())
            if self.peek() is not None and not self.accept(b","):
                raise self.refused()
        return names.isdisjoint(SKIPPED_VARIABLES)

    def assignment(self) -> bytes:
        """Takes `@name = value`, `[SESSION] name = value` or `NAMES value`. Returns the name."""
        token = self.take()
        assert token is not None
        if token.upper in SCOPES:
            self.accept(b".")
            token = self.take()
        if token is None:
            raise self.refused()
        name = token.value.upper().removeprefix(b"@@") if token.is_identifier else b""
        if name == b"@":  # @`name`
            self.take()
        if not name.startswith(b"@") and name not in VARIABLES | SKIPPED_VARIABLES:
            raise self.refused(f"{name.decode(errors='replace')} is no variable that dumps set")
        if name == b"NAMES":
            self.value()
            if self.accept(b"COLLATE"):
                self.value()
            return name
        self.accept(b":")
        if not self.accept(b"="):
            raise self.refused()
        self.value()
        return name

    def value(self) -> None:
        """A text, a number, a word or a variable, but no expression."""
        self.accept(b"-")
        token = self.take()
        if token is None or token.kind == "sign":
            raise self.refused()
        if token.upper in (b"@@SESSION", b"@@LOCAL", b"@@GLOBAL") and self.accept(b"."):
            self.take()


def quoted(name: bytes) -> bytes:
    return b"`%s`" % name.replace(b"`", b"``")
