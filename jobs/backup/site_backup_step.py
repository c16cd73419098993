"""The framework's own backup. site_backup.py starts it as a process in `sites/`.

BACKUP_REQUEST is a JSON object: paths `database`, `config`, `files`, `privateFiles`; `withFiles`,
`compress`; `include`, `exclude` (document types). The result is written to the file STEP_RESULT:
`dbType`, `apps`, `partial`, `leftOut`. After a failure, the last line has the reason.
"""

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from framework_steps import connect
from mariadb_objects import DUMP_OPTIONS, ObjectReader, Objects
from new_site import pass_password_by_environment
from postgres_objects import (
    NOT_POSSIBLE_ELSEWHERE,
    OTHER_LARGE_OBJECTS,
    OTHER_TABLES,
    excluding,
    names_of,
)

PARTS = ("before", "after")
# Writes the two files around the output of a program.
AROUND = 'cat "$0"; after="$1"; shift; "$@"; cat "$after"'


def fail(message: object) -> NoReturn:
    print(" ".join(str(message).split())[-2000:], file=sys.stderr, flush=True)
    sys.exit(1)


def check_doctypes(frappe: Any, doctypes: Sequence[str]) -> None:
    """The framework ignores unknown types, and backs up everything when none remains."""
    tables = set(frappe.db.get_tables())
    missing = [doctype for doctype in doctypes if f"tab{doctype}" not in tables]
    if missing:
        names = ", ".join(missing)
        fail(f"app-operator: DocTypeMissing: the site has no table for: {names}")


def prepare_dump(frappe: Any, folder: Path, is_partial: bool) -> list[str]:
    """Makes a dump have what can be restored. Names what it lacks, or what no other site takes."""
    if frappe.conf.db_type == "postgres":
        return leave_out(frappe)
    if is_partial:
        return []
    objects = ObjectReader(lambda text, *values: list(frappe.db.sql(text, values or None))).read()
    surround_dump(frappe, objects, folder)
    return objects.left_out


def leave_out(frappe: Any) -> list[str]:
    """Excludes what the site's user may not dump. Names it, and what no other site could take."""
    tables = [tuple(row) for row in frappe.db.sql(OTHER_TABLES)]
    has_large_objects = bool(frappe.db.sql(OTHER_LARGE_OBJECTS)[0][0])
    exclude(excluding(tables, has_large_objects))
    elsewhere = [str(row[0]) for row in frappe.db.sql(NOT_POSSIBLE_ELSEWHERE)]
    return [*names_of(tables, has_large_objects), *elsewhere]


def exclude(arguments: list[str]) -> None:
    """Adds arguments to the program that dumps the database."""
    import frappe.database

    original = frappe.database.get_command

    def get_command(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("dump"):
            kwargs["extra"] = [*(kwargs.get("extra") or []), *arguments]
        return original(*args, **kwargs)

    frappe.database.get_command = get_command


def surround_dump(frappe: Any, objects: Objects, folder: Path) -> None:
    """Makes the framework's dump of MariaDB one that can be restored as a whole."""
    import frappe.database as database

    original = database.get_command
    for part, text in zip(PARTS, (objects.before, objects.after), strict=True):
        (folder / part).write_bytes(text)
    ignored = [f"--ignore-table={frappe.conf.db_name}.{name}" for name in objects.ignored]

    def get_command(*args: Any, **kwargs: Any) -> Any:
        program, arguments, name = original(*args, **kwargs)
        if not program or not kwargs.get("dump"):
            return program, arguments, name
        dump = [program, *arguments, *DUMP_OPTIONS, *ignored]
        return "/bin/sh", ["-ec", AROUND, *(str(folder / part) for part in PARTS), *dump], name

    database.get_command = get_command


def back_up(request: dict[str, Any]) -> None:
    from frappe.utils import backups

    # It deletes files older than a day from the site's own folder of backups, which users own.
    backups.delete_temp_backups = lambda *args, **kwargs: None
    is_partial = request["include"] or request["exclude"]
    backups.scheduled_backup(
        force=True,
        ignore_files=not request["withFiles"],
        compress=request["compress"],
        backup_path_db=request["database"],
        backup_path_conf=request["config"],
        backup_path_files=request["files"],
        backup_path_private_files=request["privateFiles"],
        include_doctypes=",".join(request["include"]),
        exclude_doctypes=",".join(request["exclude"]),
        # The site's configuration may name tables to exclude: a complete backup must have them.
        ignore_conf=not is_partial,
    )


def error_text(error: Exception) -> str:
    """The output of a program that failed, or the error's own text."""
    output = getattr(error, "err", None) or error
    return output.decode(errors="replace") if isinstance(output, bytes) else str(output)


def main() -> None:
    request = json.loads(os.environ["BACKUP_REQUEST"])
    frappe = connect()
    check_doctypes(frappe, [*request["include"], *request["exclude"]])
    pass_password_by_environment()
    is_partial = bool(request["include"] or request["exclude"])
    with tempfile.TemporaryDirectory() as folder:
        try:
            left_out = prepare_dump(frappe, Path(folder), is_partial)
            back_up(request)
        except Exception as error:
            fail(f"{type(error).__name__}: {error_text(error)}")
    result = {
        "dbType": frappe.conf.db_type or "mariadb",
        "apps": list(frappe.get_installed_apps()),
        "partial": is_partial,
        "leftOut": left_out,
    }
    with open(os.environ["STEP_RESULT"], "w") as file:
        json.dump(result, file)


if __name__ == "__main__":
    main()
