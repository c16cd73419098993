"""TEST CODE: creating a site and installing an app, with the refusals of the real ones."""

import json
import os
import subprocess
import sys
import time

import frappe


def pause(where="STANDIN_PAUSE"):
    time.sleep(float(os.environ.get(where, "0")))


def make_site_config(site, options):
    os.makedirs(f"{site}/locks", exist_ok=True)
    os.makedirs(f"{site}/public/files", exist_ok=True)
    os.makedirs(f"{site}/private/files", exist_ok=True)
    path = f"{site}/site_config.json"
    if not os.path.exists(path):
        keys = ("db_name", "db_password", "db_type", "db_host", "db_port", "db_user")
        json.dump({key: options[key] for key in keys if options.get(key)}, open(path, "w"))
    frappe.init(site)


def setup_database(options):
    """The framework's own: it drops what is there on PostgreSQL, and asks for an administrator."""
    if not options.get("db_root_password"):
        raise EOFError("root password: ")
    name, password = frappe.conf.db_name, frappe.conf.db_password
    root = frappe.Database(options["db_root_username"], options["db_root_password"], None)
    root.sql(f"DROP DATABASE IF EXISTS `{name}`")
    if frappe.conf.db_type == "postgres":
        root.sql(f"CREATE USER \"{name}\" WITH PASSWORD '{password}'")
        root.sql(f'CREATE DATABASE "{name}" OWNER "{name}"')
        return
    if name not in [row[0] for row in root.sql("SHOW DATABASES")]:
        root.sql(f"CREATE DATABASE `{name}`")
    host = "%" if options.get("no_mariadb_socket") else root.sql("SELECT USER()")[0][0].split("@")[1]
    root.sql(f"CREATE USER IF NOT EXISTS '{name}'@'{host}' IDENTIFIED BY '{password}'")
    root.sql(f"GRANT ALL ON `{name}`.* TO '{name}'@'{host}'")


def new_site(site, options):
    if not options.get("force") and os.path.exists(site):
        print(f"Site {site} already exists")
        sys.exit(1)
    make_site_config(site, options)
    if options.get("setup_db", True):
        setup_database(options)
    run_client_program()
    frappe.connect()
    for table in ("tabDefaultValue (defkey varchar(140) PRIMARY KEY, defvalue text)",
                  "tabSingles (doctype varchar(140), field varchar(140), value text)",
                  "tabModule Def (name varchar(140) PRIMARY KEY)",
                  "tabMigration (maintenance varchar(10), paused varchar(10))",
                  "__Auth (name varchar(140) PRIMARY KEY, password text)"):  # fmt: skip
        name, columns = table.split(" (", 1)
        frappe.db.sql(f"CREATE TABLE `{name}` ({columns}")
        frappe.db.commit()
        pause()
    from frappe.utils.password import update_password
    from frappe.utils.scheduler import toggle_scheduler

    update_password("Administrator", options["admin_password"])
    frappe.db.sql("INSERT INTO `tabDefaultValue` VALUES ('installed_apps', '[\"frappe\"]')")
    toggle_scheduler(False)
    frappe.db.commit()


def run_client_program():
    """The real one feeds its schema to the server's client program, in a shell."""
    from frappe.database import get_command

    program, arguments, _ = get_command(
        host=frappe.conf.db_host, port=frappe.conf.db_port,
        user=frappe.conf.db_user if frappe.__version__.startswith("16") else frappe.conf.db_name,
        password=frappe.conf.db_password, db_name=frappe.conf.db_name,
    )  # fmt: skip
    with open("client-arguments.txt", "a") as log:
        log.write(" ".join(arguments) + "\n")
    subprocess.run([program, *arguments], input=b"SELECT 1;", check=True, stdout=subprocess.DEVNULL)


def install_app(app, force=False):
    """In the order of the real one: what it requires is not forced, and it is registered before its after_install."""
    for required in frappe.get_hooks("required_apps", app_name=app):
        install_app(required.split("/")[-1])
    if app not in frappe.get_all_apps():
        raise Exception(f"App {app} not in apps.txt")
    installed = frappe.get_installed_apps()
    if not force and app in installed:
        print(f"App {app} already installed")
        return
    if force:
        frappe.db.sql("DELETE FROM `tabModule Def` WHERE name = %s", app)
    frappe.db.sql("INSERT INTO `tabModule Def` VALUES (%s)", app)
    frappe.db.commit()
    pause()
    if app not in installed:
        frappe.db.sql(
            "UPDATE `tabDefaultValue` SET defvalue = %s WHERE defkey = 'installed_apps'", json.dumps([*installed, app])
        )
        frappe.db.commit()
    pause("STANDIN_PAUSE_REGISTERED")
    frappe.db.set_single_value(app, "after_install", "done")
    frappe.db.commit()
