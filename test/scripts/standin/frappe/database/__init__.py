"""TEST CODE: the command line of the server's client program, password and all, as the real one builds it."""

from shutil import which

import frappe


def get_command(host=None, port=None, user=None, password=None, db_name=None):
    if frappe.conf.db_type == "postgres":
        login = f"{user}:{password}" if password else user
        return which("psql"), [f"postgresql://{login}@{host}:{port}/{db_name}"], "psql"
    arguments = [f"--user={user}", f"--host={host}", f"--port={port}"]
    if password:
        arguments.append(f"--password={password}")
    return which("mariadb"), [*arguments, db_name], "mariadb"
