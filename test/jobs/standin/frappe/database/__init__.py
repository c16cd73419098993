"""TEST CODE: the command line of the server's client program, password and all, as the real one builds it."""

from shutil import which

import frappe


def get_command(host=None, port=None, user=None, password=None, db_name=None, extra=None, dump=False):
    if frappe.conf.db_type == "postgres":
        login = f"{user}:{password}" if password else user
        program = "pg_dump" if dump else "psql"
        return which(program), [f"postgresql://{login}@{host}:{port}/{db_name}", *(extra or [])], program
    arguments = [f"--user={user}", f"--host={host}", f"--port={port}"]
    if password:
        arguments.append(f"--password={password}")
    if dump:
        return which("mariadb-dump"), [*arguments, "--single-transaction", "--quick", "--lock-tables=false", db_name, *(extra or [])], "mariadb-dump"
    return which("mariadb"), [*arguments, db_name], "mariadb"
