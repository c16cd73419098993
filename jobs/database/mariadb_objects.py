"""What a database of MariaDB holds beside its tables: for a dump, and for emptying it.

The dump program writes tables, sequences and views. Functions and procedures stand before them,
because views use them, and triggers and events behind them, because rows would start them. What the
site's user cannot take over is named, and neither dumped nor dropped.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from mariadb_load import words_of
from mariadb_statements import FOREIGN_ENGINES, quoted
from mariadb_tokens import SAFE_CHARACTER_SETS

# The rows of a statement with its arguments.
Query = Callable[..., list[Any]]

LIST_TABLES = (
    "SELECT TABLE_NAME, TABLE_TYPE, ENGINE FROM information_schema.TABLES "
    "WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME"
)
LIST_VIEWS = (
    "SELECT TABLE_NAME, VIEW_DEFINITION, CHARACTER_SET_CLIENT, DEFINER "
    "FROM information_schema.VIEWS WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME"
)
LIST_ROUTINES = (
    "SELECT ROUTINE_NAME, ROUTINE_TYPE, DEFINER FROM information_schema.ROUTINES "
    "WHERE ROUTINE_SCHEMA = DATABASE() ORDER BY ROUTINE_TYPE, ROUTINE_NAME"
)
LIST_TRIGGERS = (
    "SELECT TRIGGER_NAME, EVENT_OBJECT_TABLE, DEFINER FROM information_schema.TRIGGERS "
    "WHERE TRIGGER_SCHEMA = DATABASE() ORDER BY EVENT_OBJECT_TABLE, ACTION_TIMING, "
    "EVENT_MANIPULATION, ACTION_ORDER"
)
LIST_EVENTS = (
    "SELECT EVENT_NAME, 'EVENT', DEFINER FROM information_schema.EVENTS "
    "WHERE EVENT_SCHEMA = DATABASE() ORDER BY EVENT_NAME"
)
# The definitions are not left to the program. A row has any size that a server takes.
DUMP_OPTIONS = (
    "--skip-triggers",
    "--hex-blob",
    "--max-allowed-packet=1G",
    "--default-character-set=utf8mb4",
)
# As the dump program ends its own part: what is cut behind that has no end.
DUMP_END = b"-- Dump completed\n"


@dataclass
class Objects:
    """What stands `before` and `after` the tables in a dump, and what is said of the rest."""

    before: bytes = b""
    after: bytes = b""
    # (kind, name) of what the dump has, and can be dropped.
    dumped: list[tuple[str, str]] = field(default_factory=list)
    # Tables and views that the dump program must leave out.
    ignored: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


class ObjectReader:
    """Reads the objects of the current database, as the site's user."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self.objects = Objects()
        [[database, self.user, collation]] = query(
            "SELECT DATABASE(), CURRENT_USER(), @@collation_database"
        )
        self.database, self.collation = database.encode(), collation.encode()

    def read(self) -> Objects:
        objects = self.objects
        for name, kind, engine in self.query(LIST_TABLES):
            self.read_table(name, kind, engine)
        for name, definition, character_set, definer in self.query(LIST_VIEWS):
            self.read_view(name, definition, character_set, definer)
        routines = self.query(LIST_ROUTINES)
        # A package is created before its body.
        kinds = ("FUNCTION", "PROCEDURE", "PACKAGE", "PACKAGE BODY")
        ordered = [row for kind in kinds for row in routines if row[1] == kind]
        # The comment says of which database it is, for names with a database.
        objects.before = b"-- Database: %s\n" % self.database + self.definitions(ordered)
        triggers = [
            (name, "TRIGGER", definer)
            for name, table, definer in self.query(LIST_TRIGGERS)
            if table not in objects.ignored
        ]
        objects.after = self.definitions([*triggers, *self.query(LIST_EVENTS)]) + DUMP_END
        return objects

    def leave_out(self, what: str, name: str, why: str) -> None:
        self.objects.left_out.append(f"{what} {name}: {why}")

    def read_table(self, name: str, kind: str, engine: str | None) -> None:
        if kind == "VIEW":
            return
        if (engine or "").upper() in FOREIGN_ENGINES:
            self.objects.ignored.append(name)
            self.leave_out("table", name, f"its rows are not in it, by its engine {engine}")
            return
        if kind == "SYSTEM VERSIONED":
            self.leave_out("the history of table", name, "only its present rows are dumped")
        self.objects.dumped.append(("SEQUENCE" if kind == "SEQUENCE" else "TABLE", name))

    def read_view(self, name: str, definition: str, character_set: str, definer: str) -> None:
        try:
            if not definition:
                raise ValueError("its definition cannot be read")
            if character_set not in SAFE_CHARACTER_SETS:
                raise ValueError(f"it is written in {character_set}")
            # As the user who will create it. It reads nothing.
            self.query("PREPARE app_operator_view FROM %s", definition)
            self.query("DEALLOCATE PREPARE app_operator_view")
            self.query(f"SHOW FIELDS FROM {quoted(name.encode()).decode()}")
        except Exception as error:  # also of the driver
            self.objects.ignored.append(name)
            self.leave_out("view", name, words_of(error))
            return
        self.objects.dumped.append(("VIEW", name))
        self.remark_definer("view", name, definer)

    def remark_definer(self, what: str, name: str, definer: str) -> None:
        if definer != self.user:
            self.objects.left_out.append(f"the definer {definer} of {what} {name}")

    # --- routines, triggers and events --------------------------------------------------------

    def definitions(self, rows: Iterable[Any]) -> bytes:
        found = b""
        for name, kind, definer in rows:
            what = kind.lower()
            try:
                found += self.definition(name, kind)
            except ValueError as error:
                self.leave_out(what, name, f"{error}, its definer is {definer}")
                continue
            if kind != "TRIGGER":  # a table takes its triggers with it
                self.objects.dumped.append((kind, name))
            self.remark_definer(what, name, definer)
        return found

    def definition(self, name: str, kind: str) -> bytes:
        """Statements that make an object again, in the form that dump programs write."""
        object_name = quoted(name.encode())
        row = self.show_create(f"SHOW CREATE {kind} {object_name.decode()}")
        time_zone = row.pop(2) if kind == "EVENT" else b"SYSTEM"
        _, sql_mode, text, character_set, collation, of_database = row[:6]
        if not text:
            raise ValueError("its text cannot be read")
        if character_set.decode() not in SAFE_CHARACTER_SETS:
            raise ValueError(f"it is written in {character_set.decode()}")
        values = {
            b"sql_mode": sql_mode,
            b"character_set_client": character_set,
            b"collation_connection": collation,
            b"time_zone": time_zone,
        }
        saved = [(b"@app_operator_" + name, name) for name in values]
        statements = [
            b"SET " + b", ".join(b"%s = @@%s" % one for one in saved),
            b"SET " + b", ".join(b"%s = '%s'" % one for one in values.items()),
            b"DROP %s IF EXISTS %s" % (kind.encode(), object_name),
            text,
            b"SET " + b", ".join(b"%s = %s" % (name, variable) for variable, name in saved),
        ]
        if of_database != self.collation:  # of parameters without one
            change = b"ALTER DATABASE %s COLLATE " % quoted(self.database)
            statements = [change + of_database, *statements, change + self.collation]
        delimiter = delimiter_for(text)
        lines = b"".join(b"%s %s\n" % (statement, delimiter) for statement in statements)
        return b"DELIMITER %s\n%sDELIMITER ;\n" % (delimiter, lines)

    def show_create(self, statement: str) -> list[bytes]:
        """The columns, in the bytes in which the object was written."""
        self.query("SET SESSION character_set_results = 'binary'")
        try:
            [row] = self.query(statement)
        finally:
            self.query("SET SESSION character_set_results = 'utf8mb4'")
        return [bytes_of(value) for value in row]


def bytes_of(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value or "").encode()


def delimiter_for(text: bytes) -> bytes:
    """One that the text does not have."""
    return next((one for one in (b";;", b"//", b"$$", b"||") if one not in text), b"$_$_$_$_")
