"""The steps that need the framework in this process: `site_steps.py STEP`, started by site_init.py in `sites/`.

A step is a process of its own because the framework keeps global state and ends the interpreter where it likes. Secrets
come from the environment and reach the framework's functions as values, so none is ever an argument of a process. The
result is a JSON document in the file that STEP_RESULT names.
"""

import json
import os
import sys


def main_site():
    return os.environ["SITE_NAME"]


def connect():
    import frappe

    frappe.init(main_site(), sites_path=".")
    frappe.connect()
    return frappe


def keep_password_out_of_commands():
    """The framework hands the database password to the client program as an argument; the client's environment does as well."""
    import frappe.database

    original = frappe.database.get_command

    def get_command(*args, **kwargs):
        password = kwargs.pop("password", None)
        if password:
            os.environ["MYSQL_PWD"] = os.environ["PGPASSWORD"] = password
        return original(*args, **kwargs)

    frappe.database.get_command = get_command


def new_site_command():
    from frappe.commands.site import new_site

    known = {name for option in new_site.params for name in (*option.opts, *option.secondary_opts)}
    return new_site, known


def capabilities():
    """Which of the ways of creating a site this version of the framework has."""
    _, known = new_site_command()
    return {"noSetupDb": "--no-setup-db" in known, "dbUser": "--db-user" in known}


def create():
    """The framework's own `new-site`, called in this process. The site's configuration is there already."""
    import frappe.installer

    new_site, known = new_site_command()
    env = os.environ
    arguments = [
        env["SITE_NAME"],
        "--force",  # only says that the directory may exist: it does, with our marker in it
        f"--db-type={env['DB_TYPE']}",
        f"--db-host={env['DB_HOST']}",
        f"--db-port={env['DB_PORT']}",
        f"--db-name={env['DB_NAME']}",
        f"--db-password={env['DB_PASSWORD']}",
        f"--admin-password={env['ADMIN_PASSWORD']}",
    ]
    if "--db-user" in known:
        arguments.append(f"--db-user={env['DB_USER']}")
    if "--no-setup-db" in known:
        arguments.append("--no-setup-db")
    else:  # before 15.42: the framework must make the database itself, as the administrator
        arguments += [f"--db-root-username={env['DB_ROOT_USER']}", f"--db-root-password={env['DB_ROOT_PASSWORD']}"]
        if env["DB_TYPE"] == "mariadb":
            arguments.append("--no-mariadb-socket")
    keep_password_out_of_commands()
    # It would ask the empty database, and print the error's whole stack into our log.
    frappe.installer._is_scheduler_enabled = lambda *args, **kwargs: False
    new_site.main(args=arguments, prog_name="new-site", standalone_mode=False)


def installed_apps():
    """What `execute frappe.get_installed_apps` says; `list-apps -f json` is empty on a fresh site."""
    frappe = connect()
    return list(frappe.get_installed_apps())


def apps_in_order():
    """The wanted apps, each after those that it requires: the framework would install them with it, but never again with --force."""
    frappe, order = connect(), []

    def add(app):
        for required in frappe.get_hooks("required_apps", app_name=app):
            add(required.rstrip("/").split("/")[-1].split("@")[0].removesuffix(".git"))  # an organisation or an address may precede it
        if app not in order:
            order.append(app)

    for app in json.loads(os.environ["SITE_APPS"]):
        add(app)
    return order


def admin_password():
    """Sets the Administrator's password if it is another one. Returns whether it did."""
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


def enable_scheduler():
    frappe = connect()
    from frappe.utils.scheduler import toggle_scheduler

    if int(frappe.db.get_single_value("System Settings", "enable_scheduler") or 0):
        return False
    toggle_scheduler(True)
    frappe.db.commit()
    return True


STEPS = {
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
