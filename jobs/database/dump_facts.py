"""What a dump says of its site, read before a row of it is loaded: apps and stored passwords.

Rows of three tables are read. Those of a hostile dump may be anything, so all is bounded.
"""

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from job_result import JobError
from mariadb_dump import Statement
from mariadb_tokens import Grammar, Token, tokens

# Which apps are installed is a default of the site. Their versions are in a table, which may be
# empty before the first migration.
DEFAULTS, VERSIONS, PASSWORDS = "tabDefaultValue", "tabInstalled Application", "__Auth"
TABLES = (DEFAULTS, VERSIONS, PASSWORDS)
MAX_PROBLEMS = 20
MAX_APPS = 1000
MAX_SECRETS = 100_000
MAX_ROW_BYTES = 1 << 20
# Words between the verb of a statement and the name of its table.
BEFORE_NAME = (
    *(b"INTO", b"IGNORE", b"DELAYED", b"LOW_PRIORITY", b"TABLE", b"IF", b"NOT", b"EXISTS"),
    *(b"OR", b"REPLACE"),
)
NO_COLUMNS = (
    *(b"PRIMARY", b"UNIQUE", b"KEY", b"INDEX", b"FULLTEXT", b"SPATIAL", b"CONSTRAINT"),
    *(b"FOREIGN", b"CHECK", b"PERIOD"),
)
ESCAPED = {b"0": b"\0", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"Z": b"\x1a"}
COPY = re.compile(rb'COPY\s+(?:public\.)?("[^"]+"|\w+)\s*\(([^)]*)\)\s+FROM\s+stdin', re.IGNORECASE)
COPY_ESCAPED = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f", b"v": b"\v"}


class Secret(NamedTuple):
    """A password that the framework has encrypted with the site's key."""

    doctype: str
    name: str
    fieldname: str
    value: str


class DumpFacts:
    def __init__(self) -> None:
        self.installed: list[str] = []
        self.versions: dict[str, str] = {}
        self.secrets: list[Secret] = []
        # Why the server would not take the dump.
        self.problems: list[str] = []
        self.columns: dict[str, list[str]] = {}

    def problem(self, error: JobError) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(str(error))

    def add(self, table: str, columns: list[str], values: list[str | None]) -> None:
        row = dict(zip(columns, values, strict=False))
        if table == DEFAULTS and row.get("defkey") == "installed_apps":
            self.installed = names_in(row.get("defvalue") or "")
        app = row.get("app_name")
        if table == VERSIONS and app and len(self.versions) < MAX_APPS:
            self.versions[app] = row.get("app_version") or ""
        is_encrypted = row.get("encrypted") in ("1", "t", "true")
        if table == PASSWORDS and is_encrypted and len(self.secrets) < MAX_SECRETS:
            names = (row.get(key) or "" for key in ("doctype", "name", "fieldname", "password"))
            self.secrets.append(Secret(*names))

    def apps(self, framework: str) -> dict[str, str]:
        """App → version, empty where none is known. `framework`: as the head of the dump says."""
        names = self.installed or list(self.versions)
        apps = {name: self.versions.get(name, "") for name in names}
        if framework and "frappe" in apps:
            apps["frappe"] = framework
        return apps

    # --- MariaDB ------------------------------------------------------------------------------

    def read(self, statement: Statement, grammar: Grammar) -> None:
        """Reads a statement of MariaDB: a definition of one of the tables, or rows of it."""
        found = tokens(statement.text, grammar)
        verb = next(found, None)
        if verb is None or verb.upper not in (b"CREATE", b"INSERT", b"REPLACE"):
            return
        table, behind = table_of(found)
        if table not in TABLES:
            return
        if verb.upper == b"CREATE":
            self.columns[table] = [name for name in columns_of(found) if behind == b"("]
            return
        columns = self.columns.get(table, [])
        if behind == b"(":
            columns = [
                token.value.decode() for token in until_bracket(found) if token.is_identifier
            ]
        for values in rows_in(found, grammar):
            self.add(table, columns, values)

    # --- PostgreSQL ---------------------------------------------------------------------------

    def copy(self, statement: bytes, lines: Iterator[bytes]) -> None:
        """Reads the rows of a COPY if they are of one of the tables."""
        match = COPY.match(statement)
        table = match[1].decode(errors="replace").strip('"') if match else ""
        if match is None or table not in TABLES:
            return
        columns = [name.strip().strip('"') for name in match[2].decode(errors="replace").split(",")]
        for line in lines:
            values = [copied(value) for value in line.rstrip(b"\r\n").split(b"\t")]
            self.add(table, columns, values)


def names_in(text: str) -> list[str]:
    try:
        names = json.loads(text)
    except (ValueError, RecursionError):
        return []
    found = names if isinstance(names, list) else []
    return [name for name in found if isinstance(name, str)][:MAX_APPS]


def table_of(found: Iterator[Token]) -> tuple[str, bytes]:
    """The name of a statement's table without its database, and the token behind it."""
    name = b""
    for token in found:
        if token.upper in BEFORE_NAME:
            continue
        if not name:
            if not token.is_identifier:
                break
            name = token.value
        elif token.upper == b".":
            name = b""
        else:
            return name.decode(errors="replace"), token.upper
    return "", b""


def columns_of(found: Iterator[Token]) -> Iterator[str]:
    """The columns of a CREATE TABLE, behind its first bracket."""
    depth, begins = 1, True
    for token in found:
        if begins and depth == 1 and token.is_identifier and token.upper not in NO_COLUMNS:
            yield token.value.decode(errors="replace")
        depth += (token.upper == b"(") - (token.upper == b")")
        begins = token.upper == b","
        if depth == 0:
            return


def until_bracket(found: Iterator[Token]) -> Iterator[Token]:
    for token in found:
        if token.upper == b")":
            return
        yield token


def rows_in(found: Iterator[Token], grammar: Grammar) -> Iterator[list[str | None]]:
    """The rows of an INSERT: texts and numbers as texts, anything else is None."""
    depth, values, last = 0, list[str | None](), None
    for token in found:
        if token.upper == b"(":
            depth += 1
        elif depth == 1 and token.upper in (b",", b")"):
            values.append(value_of(last, grammar))
            last = None
            if token.upper == b")":
                yield values
                depth, values = 0, []
        elif token.upper == b")":
            depth -= 1
        else:
            last = token


def value_of(token: Token | None, grammar: Grammar) -> str | None:
    if token is None or len(token.value) > MAX_ROW_BYTES:
        return None
    if token.kind == "word":
        return None if token.upper == b"NULL" else token.value.decode(errors="replace")
    if token.kind != "text":
        return None
    quote = token.value[:1]
    text = token.value[1:-1].replace(quote * 2, quote)
    if not grammar.no_backslash_escapes:
        text = re.sub(rb"\\(.)", lambda match: ESCAPED.get(match[1], match[1]), text, flags=re.S)
    return text.decode(errors="replace")


def copied(value: bytes) -> str | None:
    if value == rb"\N":
        return None
    text = re.sub(rb"\\(.)", lambda match: COPY_ESCAPED.get(match[1], match[1]), value)
    return text.decode(errors="replace")
