"""The steps that need the framework in this process: `site_steps.py STEP`.

site_init.py starts it in `sites/`. A step is a process, because the framework keeps global state
and may end the interpreter. Secrets come from the environment and reach the framework's functions
as values, so no secret is an argument of a process. The result is a JSON document in the file
STEP_RESULT.
"""

import json
import os
import sys
from collections.abc import Callable
from typing import Any


def connect() -> Any:
    """The framework, connected to the site."""
    import frappe

    frappe.init(os.environ["SITE_NAME"], sites_path=".")
    frappe.connect()
    return frappe


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


def create() -> None:
    """Runs the framework's own `new-site` in this process. The site's configuration exists."""
    import frappe.installer

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
    else:  # before 15.42 the framework must create the database itself, as the administrator
        arguments += [
            f"--db-root-username={env['DB_ROOT_USER']}",
            f"--db-root-password={env['DB_ROOT_PASSWORD']}",
        ]
        if env["DB_TYPE"] == "mariadb":
            arguments.append("--no-mariadb-socket")
    pass_password_by_environment()
    # It would query the empty database, and print the error's traceback to the log.
    frappe.installer._is_scheduler_enabled = lambda *args, **kwargs: False
    new_site.main(args=arguments, prog_name="new-site", standalone_mode=False)


def installed_apps() -> list[str]:
    """As `execute frappe.get_installed_apps`: `list-apps -f json` is empty on a fresh site."""
    return list(connect().get_installed_apps())


def app_name(requirement: str) -> str:
    """The app of a requirement, which may be an URL or name an organisation and a branch."""
    return requirement.rstrip("/").split("/")[-1].split("@")[0].removesuffix(".git")


def apps_in_order() -> list[str]:
    """The wanted apps, each after the apps that it requires.

    The framework would install required apps too, but not again with --force.
    """
    frappe = connect()
    order: list[str] = []

    def add(app: str) -> None:
        for required in frappe.get_hooks("required_apps", app_name=app):
            add(app_name(required))
        if app not in order:
            order.append(app)

    for app in json.loads(os.environ["SITE_APPS"]):
        add(app)
    return order


def admin_password() -> bool:
    """Sets the Administrator's password if it differs. Returns whether it did."""
    frappe = connect()
    from frappe.utils.password import check_password, update_password

    password = os.environ["ADMIN_PASSWORD"]
    try:
        check_password("Administrator", password, delete_tracker_cache=False)
        return False
    except frappe.AuthenticationError:
        update_password(user="Administrator", pwd=password, logout_all_sessions=True)
        frappe.db.commit()
        return True


def enable_scheduler() -> bool:
    """Enables the scheduler if it is disabled. Returns whether it did."""
    frappe = connect()
    from frappe.utils.scheduler import toggle_scheduler

    if int(frappe.db.get_single_value("System Settings", "enable_scheduler") or 0):
        return False
    toggle_scheduler(True)
    frappe.db.commit()
    return True


STEPS: dict[str, Callable[[], object]] = {
    "capabilities": capabilities,
    "create": create,
    "installed-apps": installed_apps,
    "apps-in-order": apps_in_order,
    "admin-password": admin_password,
    "enable-scheduler": enable_scheduler,
}

if __name__ == "__main__":
    result = STEPS[sys.argv[1]]()
    with open(os.environ["STEP_RESULT"], "w") as file:
        json.dump(result, file)
