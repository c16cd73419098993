"""Runs the framework's own `new-site` in this process, for framework_steps.py."""

import importlib
import os
from typing import Any

from database_tls import encrypt_framework


def pass_password_by_environment() -> None:
    """The framework passes the database password as an argument of the client program."""
    import frappe.database

    original = frappe.database.get_command

    def get_command(*args: Any, **kwargs: Any) -> Any:
        password = kwargs.pop("password", None)
        if password:
            os.environ["MYSQL_PWD"] = os.environ["PGPASSWORD"] = password
        return original(*args, **kwargs)

    frappe.database.get_command = get_command


def new_site_command() -> tuple[Any, set[str]]:
    """The framework's command, and the names of its options."""
    from frappe.commands.site import new_site

    options = {
        name for option in new_site.params for name in (*option.opts, *option.secondary_opts)
    }
    return new_site, options


def capabilities() -> dict[str, bool]:
    """How this version of the framework can create a site."""
    _, options = new_site_command()
    return {"noSetupDb": "--no-setup-db" in options, "dbUser": "--db-user" in options}


class NoAdministrator:
    """In place of the administrator's connection: the database and its user exist already."""

    def __init__(self) -> None:
        self.connection = self

    def sql(self, *args: Any, **kwargs: Any) -> list[Any]:
        return []

    def commit(self) -> None:
        pass

    def close(self) -> None:
        pass


def use_existing_database() -> None:
    """Before 15.42 the framework itself creates the database, with an administrator's login."""
    for server in ("mariadb", "postgres"):
        module = importlib.import_module(f"frappe.database.{server}.setup_db")
        module.get_root_connection = lambda *args, **kwargs: NoAdministrator()  # type: ignore[attr-defined]


def create() -> None:
    """Runs the framework's own `new-site` in this process. The site's configuration exists."""
    import frappe.installer

    encrypt_framework()
    new_site, options = new_site_command()
    env = os.environ
    arguments = [
        env["SITE_NAME"],
        "--force",  # allows an existing directory: it has the operator's marker
        f"--db-type={env['DB_TYPE']}",
        f"--db-host={env['DB_HOST']}",
        f"--db-port={env['DB_PORT']}",
        f"--db-name={env['DB_NAME']}",
        f"--db-password={env['DB_PASSWORD']}",
        f"--admin-password={env['ADMIN_PASSWORD']}",
    ]
    if "--db-user" in options:
        arguments.append(f"--db-user={env['DB_USER']}")
    if "--no-setup-db" in options:
        arguments.append("--no-setup-db")
    else:
        arguments += ["--db-root-username=none", "--db-root-password=none"]
        if env["DB_TYPE"] == "mariadb":
            arguments.append("--no-mariadb-socket")
        use_existing_database()
    pass_password_by_environment()
    # It would query the empty database, and print the error's traceback to the log.
    frappe.installer._is_scheduler_enabled = lambda *args, **kwargs: False
    new_site.main(args=arguments, prog_name="new-site", standalone_mode=False)
