"""What of a dump of PostgreSQL is loaded, left out or refused, by the tokens of each statement.

The boundary is what the server permits the site's user. This list keeps the loader's own state (how
texts are read, transactions), leaves out what is the server's and not the database's, and names
what is no dump of one database.
"""

import re
from collections.abc import Callable, Collection
from enum import Enum

from postgres_dump import Statement, refused


class Use(Enum):
    LOAD = "loaded"
    # Loaded if the server and its rights of the site's user permit it.
    TRY = "tried"
    LEAVE_OUT = "left out"
    COPY = "rows follow"
    BEGIN = "a transaction begins"
    COMMIT = "a transaction ends"


# Settings that a dump needs to be read as it was written.
SETTINGS = {
    "CHECK_FUNCTION_BODIES",
    "CLIENT_ENCODING",
    "CLIENT_MIN_MESSAGES",
    "DEFAULT_TABLE_ACCESS_METHOD",
    "ESCAPE_STRING_WARNING",
    "ROW_SECURITY",
    "SEARCH_PATH",
    "STANDARD_CONFORMING_STRINGS",
    "XMLOPTION",
}
# Settings of the session that loads, or of the server that was dumped.
OTHER_SETTINGS = {
    "DEFAULT_TABLESPACE",
    "DEFAULT_WITH_OIDS",
    "IDLE_IN_TRANSACTION_SESSION_TIMEOUT",
    "IDLE_SESSION_TIMEOUT",
    "LOCK_TIMEOUT",
    "MAINTENANCE_WORK_MEM",
    "STATEMENT_TIMEOUT",
    "SYNCHRONOUS_COMMIT",
    "TRANSACTION_TIMEOUT",
    "WORK_MEM",
}
# Bytes below 0x80 are always themselves in these: a quote is never a part of a letter.
ENCODING = re.compile(r"UTF8|UNICODE|SQL_ASCII|LATIN\d+|ISO_8859_\d|WIN\d+|KOI8[RU]|EUC_\w+")

MODIFIERS = {"OR", "REPLACE", "IF", "NOT", "EXISTS"}
OF_THE_SERVER = {"DATABASE", "ROLE", "USER", "GROUP", "TABLESPACE", "SYSTEM", "OWNED"}
# Without one of these, the data is not what it was. Other kinds may need another role's rights or
# tables, or another role's object of that name has stayed.
DATA = {"TABLE", "UNLOGGED", "SEQUENCE", "INDEX", "UNIQUE", "CONSTRAINT"}
DATA |= {"TRIGGER", "RULE", "POLICY"}
PUBLIC_SCHEMA = {"PUBLIC", '"public"'}
FUNCTIONS = {"SETVAL", "LO_CREATE", "LO_OPEN", "LOWRITE", "LO_CLOSE"}
# In pg_dump of version 18: `SELECT * FROM pg_catalog.pg_restore_relation_stats(…)`.
OF_SELECT = {"*", "FROM", "PG_CATALOG", "."}
STATISTICS = re.compile(r"PG_(RESTORE|CLEAR)_\w+_STATS")
SET_SEARCH_PATH = re.compile(rb"SELECT pg_catalog\.set_config\('search_path', '[^']*', false\)\s*")


def use_of(statement: Statement) -> Use:
    """@raises JobError where no dump of one database has such a statement"""
    first = statement.tokens[0]
    classify = CLASSIFIERS.get(first)
    use = classify(statement) if classify else None
    if use is None:
        raise refused(statement.line, f"a statement that is not loaded, {statement.words!r}")
    return use


def use_of_set(statement: Statement) -> Use | None:
    name = next((word for word in statement.tokens[1:] if word != "SESSION"), "")
    if name == "AUTHORIZATION" or name in OTHER_SETTINGS:
        return Use.LEAVE_OUT
    return Use.LOAD if name in SETTINGS else None


def use_of_select(statement: Statement) -> Use | None:
    words = [word for word in statement.tokens[1:] if word not in OF_SELECT]
    name, rest = "".join(words[:1]), words[1:]
    if rest != ["(", ")"]:
        return None
    if name == "SET_CONFIG":
        return Use.LOAD if SET_SEARCH_PATH.fullmatch(statement.text) else None
    if STATISTICS.fullmatch(name):
        return Use.LEAVE_OUT
    return Use.LOAD if name in FUNCTIONS else None


def use_of_definition(statement: Statement) -> Use | None:
    """Of CREATE, ALTER and DROP."""
    verb, *rest = statement.tokens
    kind, name = [*(word for word in rest if word not in MODIFIERS), "", ""][:2]
    if kind in OF_THE_SERVER and (kind, name) != ("USER", "MAPPING"):
        return None
    # The database is empty.
    if verb == "DROP" or kind == "SUBSCRIPTION":
        return Use.LEAVE_OUT
    if verb == "ALTER" and statement.last_tokens[:2] == ("OWNER", "TO"):
        return Use.LEAVE_OUT
    if kind == "SCHEMA" and name in PUBLIC_SCHEMA:
        return Use.LEAVE_OUT
    return Use.LOAD if kind in DATA and "FOREIGN" not in statement.tokens else Use.TRY


def use_of_comment(statement: Statement) -> Use:
    kind, name = [*statement.tokens[2:4], "", ""][:2]
    if kind in {*OF_THE_SERVER, "EXTENSION", "SUBSCRIPTION"}:
        return Use.LEAVE_OUT
    if kind == "SCHEMA" and name in PUBLIC_SCHEMA:
        return Use.LEAVE_OUT
    return Use.TRY


def use_of_copy(statement: Statement) -> Use | None:
    """`COPY [schema .] table [(columns)] FROM stdin`: no file, no program, no options."""
    rest = list(statement.tokens[2:])
    if rest[:1] == ["."]:
        rest = rest[2:]
    if rest[:2] == ["(", ")"]:
        rest = rest[2:]
    return Use.COPY if rest == ["FROM", "STDIN"] else None


def use_of_insert(statement: Statement) -> Use | None:
    return Use.LOAD if statement.tokens[1:2] == ("INTO",) else None


def use_of_rights(statement: Statement) -> Use:
    """Of GRANT and REVOKE. `for_known_roles` decides on the roles."""
    tokens = statement.tokens
    if "ON" not in tokens or "GRANTED" in tokens:
        return Use.LEAVE_OUT
    kind, name = [*tokens[tokens.index("ON") + 1 :], "", ""][:2]
    if kind in {*OF_THE_SERVER, "PARAMETER"} or (kind == "SCHEMA" and name in PUBLIC_SCHEMA):
        return Use.LEAVE_OUT
    return Use.TRY


def is_right(statement: Statement) -> bool:
    first, second = [*statement.tokens, ""][:2]
    return first in ("GRANT", "REVOKE") or (first, second) == ("ALTER", "DEFAULT")


def for_known_roles(statement: Statement, user: str, known: Collection[str]) -> bool:
    """Whether a right names no other roles than these and PUBLIC. Default rights are the user's."""
    tokens = list(statement.tokens)
    if tokens[:4] == ["ALTER", "DEFAULT", "PRIVILEGES", "FOR"]:
        if role_name("".join(tokens[5:6])) != user:
            return False
        tokens = tokens[6:]
    mark = "FROM" if "REVOKE" in tokens[:4] else "TO"
    if mark not in tokens:
        return False
    roles = tokens[len(tokens) - tokens[::-1].index(mark) :]
    if "WITH" in roles:
        roles = roles[: roles.index("WITH")]
    names = {role_name(role) for role in roles if role not in (",", "CASCADE", "RESTRICT")}
    return names <= {*known, "public"}


def role_name(token: str) -> str:
    return token[1:-1].replace('""', '"') if token.startswith('"') else token.lower()


def left_out(statement: Statement) -> Use:
    return Use.LEAVE_OUT


def tried(statement: Statement) -> Use:
    return Use.TRY


CLASSIFIERS: dict[str, Callable[[Statement], Use | None]] = {
    "SET": use_of_set,
    "SELECT": use_of_select,
    "CREATE": use_of_definition,
    "ALTER": use_of_definition,
    "DROP": use_of_definition,
    "COMMENT": use_of_comment,
    "COPY": use_of_copy,
    "GRANT": use_of_rights,
    "REVOKE": use_of_rights,
    "INSERT": use_of_insert,
    "REFRESH": tried,
    "SECURITY": left_out,
    "ANALYZE": left_out,
    "VACUUM": left_out,
    "BEGIN": lambda statement: Use.BEGIN,
    "COMMIT": lambda statement: Use.COMMIT,
}
