"""The framework's own backup, in a process of its own, started by site_backup.py in `sites/`.

BACKUP_REQUEST is a JSON object: paths `database`, `config`, `files`, `privateFiles`; `withFiles`, `compress`; `include`, `exclude`
(document types). The result goes to the file STEP_RESULT: `dbType`, `apps`, `partial`, `encrypted`. A failure's reason is the last line.
"""

import json
import os
import sys

from site_steps import connect, keep_password_out_of_commands


def fail(message):
    print(" ".join(str(message).split())[-2000:], file=sys.stderr, flush=True)
    sys.exit(1)


def check_doctypes(frappe, doctypes):
    """The framework leaves out what it does not know, and backs up everything when nothing remains."""
    tables = set(frappe.db.get_tables())
    missing = [doctype for doctype in doctypes if f"tab{doctype}" not in tables]
    if missing:
        fail(f"app-operator: DocTypeMissing: the site has no table for: {', '.join(missing)}")


def back_up(frappe, request):
    from frappe.utils import backups

    # It removes all older than a day from the site's own folder of backups, which is not ours to tidy.
    backups.delete_temp_backups = lambda *args, **kwargs: None
    chosen = request["include"] or request["exclude"]
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
        # The site's configuration may name tables to leave out: what says it is complete must have them.
        ignore_conf=not chosen,
    )


def main():
    request = json.loads(os.environ["BACKUP_REQUEST"])
    frappe = connect()
    check_doctypes(frappe, [*request["include"], *request["exclude"]])
    keep_password_out_of_commands()
    try:
        back_up(frappe, request)
    except Exception as error:
        said = getattr(error, "err", None) or error
        fail(f"{type(error).__name__}: {said.decode(errors='replace') if isinstance(said, bytes) else said}")
    result = {
        "dbType": frappe.conf.db_type or "mariadb",
        "apps": list(frappe.get_installed_apps()),
        "partial": bool(request["include"] or request["exclude"]),
        "encrypted": bool(frappe.db.get_single_value("System Settings", "encrypt_backup")),
    }
    with open(os.environ["STEP_RESULT"], "w") as file:
        json.dump(result, file)


if __name__ == "__main__":
    main()
