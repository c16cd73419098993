"""TEST CODE: creating a site, installing and removing apps, writing configuration files, restoring."""

import json
import os
import random
import shutil
import string
import subprocess
import sys

import click

import frappe
from frappe import database, schema
from frappe.installed_applications import update_versions
from frappe.tests import faults
from frappe.utils import now
from frappe.utils.synchronization import filelock


def _is_scheduler_enabled():
    try:
        frappe.connect()
        return bool(int(frappe.db.get_single_value("System Settings", "enable_scheduler") or 0))
    except Exception:
        return False
    finally:
        if frappe.db:
            frappe.db.close()


def default_db_name():
    """A hash of the site's path; from version-16 on it is random."""
    import hashlib

    path = os.path.realpath(frappe.get_site_path())
    if frappe.VERSION >= (16, 0):
        path += frappe.generate_hash()
    return "_" + hashlib.sha1(path.encode(), usedforsecurity=False).hexdigest()[:16]


def _new_site(
    db_name, site, db_root_username=None, db_root_password=None, admin_password=None, install_apps=None, source_sql=None,
    force=False, no_mariadb_socket=False, db_password=None, db_type=None, db_host=None, db_port=None, db_user=None,
    setup_db=True, user_host=None,
):  # fmt: skip
    from frappe.utils import scheduler
    from frappe.utils.password import update_password

    if not force and os.path.exists(site):
        print(f"Site {site} already exists")
        sys.exit(1)
    if no_mariadb_socket and db_type != "mariadb":
        print("--no-mariadb-socket requires db_type to be set to mariadb.")
        sys.exit(1)
    frappe.init(site)
    scheduler_was_enabled = _is_scheduler_enabled()
    make_site_dirs()
    with filelock("bench_new_site", timeout=1):
        make_conf(db_name or default_db_name(), db_password, db_type, db_host, db_port, db_user)
        kind = frappe.conf.db_type
        frappe.flags.root_login = db_root_username or ("postgres" if kind == "postgres" else "root")
        frappe.flags.root_password = db_root_password
        if setup_db:
            database.setup_database(force, no_mariadb_socket, user_host)
        database.bootstrap_database(source_sql)
        remove_missing_apps()
        for app in ["frappe", *(install_apps or [])]:
            install_app(app, set_as_patched=not source_sql)
        if not source_sql:
            password = admin_password or click.prompt("Set Administrator password", hide_input=True)
            update_password("Administrator", password)
        scheduler.toggle_scheduler(scheduler_was_enabled)
        frappe.db.commit()
    print("*** Scheduler is", "enabled" if scheduler_was_enabled else "disabled", "***")


def make_site_dirs():
    if frappe.VERSION >= (16, 0):
        shutil.rmtree(frappe.get_site_path("locks"), ignore_errors=True)
    for folder in ("public/files", "private/backups", "private/files", "locks", "logs"):
        os.makedirs(frappe.get_site_path(folder), exist_ok=True)


def make_conf(db_name, db_password, db_type, db_host, db_port, db_user):
    """Writes site_config.json unless it is there; a later attempt keeps what the first one wrote."""
    path = frappe.get_site_path("site_config.json")
    if not os.path.exists(path):
        password = db_password or "".join(random.SystemRandom().choices(string.ascii_letters + string.digits, k=16))
        config = {"db_name": db_name, "db_password": password, "db_type": db_type, "db_host": db_host, "db_port": db_port}
        if frappe.VERSION >= (16, 0):
            config["db_user"] = db_user or db_name
        write_config(path, {key: value for key, value in config.items() if value})
    site, flags = frappe.local.site, frappe.local.flags
    frappe.destroy()
    frappe.init(site)
    frappe.local.flags.update(flags)


# --- configuration files ---------------------------------------------------------------------------------------------


def write_config(path, config):
    # In place, as the framework does: a reader may see half of it.
    with open(path, "w") as file:
        file.write(json.dumps(config, indent=1, sort_keys=True))


def update_site_config(key, value, validate=True, site_config_path=None):
    """`"0"` and `"1"` become numbers, `"true"` and `"false"` booleans; `"None"` deletes the key."""
    path = site_config_path or frappe.get_site_path("site_config.json")
    with filelock("site_config", is_global="common_site_config" in path):
        with open(path) as file:
            config = json.load(file)
        value = {"0": 0, "1": 1, "true": True, "false": False}.get(value, value) if isinstance(value, str) else value
        if value == "None":
            config.pop(key, None)
        else:
            config[key] = value
        write_config(path, config)
    if getattr(frappe.local, "initialised", False):
        frappe.local.conf[key] = value


# --- apps ------------------------------------------------------------------------------------------------------------


def set_installed_apps(apps):
    frappe.db.set_default("installed_apps", json.dumps(apps))


def install_app(name, set_as_patched=True, force=False):
    frappe.clear_cache()
    if name not in frappe.get_all_apps():
        click.secho(f'Could not find app "{name}"', fg="red")
        raise Exception(f"App {name} not in apps.txt")
    for required in frappe.get_hooks("required_apps", name):
        install_app(required.split("/")[-1])
    installed = frappe.get_installed_apps()
    if name in installed and not force:
        click.secho(f"App {name} already installed", fg="yellow")
        return
    print(f"\nInstalling {name}...")
    # Committed step by step: a run that is killed here leaves documents that only --force accepts.
    if force:
        frappe.db.delete("Module Def", name=name)
    frappe.db.insert("Module Def", name=name, app_name=name)
    frappe.db.commit()
    if name != "frappe":
        faults.pause()
    schema.sync_for(name, force=force)
    if name == "frappe":
        add_standard_documents()
        add_standard_users()
    if name not in installed:
        set_installed_apps([*installed, name])
    sync_workspaces(name)
    if frappe.VERSION >= (16, 0):
        update_versions()
    frappe.db.commit()
    if set_as_patched:
        from frappe.modules.patch_handler import set_all_patches_as_completed

        set_all_patches_as_completed(name)
    sync_jobs()
    frappe.db.commit()
    for hook in as_list(frappe.get_hooks("after_install", name)):
        frappe.call(hook)
    frappe.db.commit()


def as_list(hook):
    return [hook] if isinstance(hook, str) else hook


def add_standard_documents():
    standard = {
        "Role": ["Administrator", "All", "Blogger", "Desk User", "Guest", "System Manager", "Website Manager", "Workspace Manager"],
        "Language": ["de", "en", "fr", "pt-BR"],
        "Country": ["Germany", "India", "United States"],
        "Currency": ["EUR", "INR", "USD"],
        "User Type": ["System User", "Website User"],
        "Module Def": ["Core", "Desk", "Website"],
    }
    for doctype, names in standard.items():
        for name in names:
            if frappe.db.exists(doctype, name):
                continue
            if doctype == "Module Def":
                frappe.db.insert(doctype, name=name, app_name="frappe")
            else:
                key = {"Role": "role_name", "Language": "language_code", "Country": "country_name", "Currency": "currency_name"}.get(doctype)
                frappe.db.insert(doctype, name=name, creation=now(), modified=now(), **({key: name} if key else {"is_standard": 1}))
    for code, language in {"de": "Deutsch", "en": "English", "fr": "Français", "pt-BR": "Português Brasileiro"}.items():
        frappe.db.set_value("Language", code, language_name=language)
    desk = ", ".join(["%s"] * 4)
    frappe.db.sql(
        f"UPDATE `tabRole` SET `desk_access` = 1 WHERE `name` IN ({desk})",
        ["Administrator", "System Manager", "Website Manager", "Workspace Manager"],
    )


def sync_workspaces(app):
    """Workspaces of an app's files that the site does not have."""
    for workspace in schema.files(app, "workspace"):
        if not frappe.db.exists("Workspace", workspace["name"]):
            frappe.get_doc({key: value for key, value in workspace.items() if key != "folder"}).insert()


def add_standard_users():
    for name, kind in (("Administrator", "System User"), ("Guest", "Website User")):
        if not frappe.db.exists("User", name):
            email = {"Administrator": "admin@example.com", "Guest": "guest@example.com"}[name]
            frappe.db.insert(
                "User", name=name, email=email, first_name=name, enabled=1, user_type=kind, creation=now(), modified=now(),
                owner="Administrator",
            )  # fmt: skip


def remove_app(name, dry_run=False, force=False):
    if not force and name not in frappe.get_installed_apps():
        click.secho(f"App {name} not installed on Site {frappe.local.site}", fg="yellow")
        return
    for app in frappe.get_installed_apps():
        if app != name and name in [required.split("/")[-1] for required in frappe.get_hooks("required_apps", app)]:
            click.secho(f"App {name} is a dependency of {app}. Uninstall {app} first.", fg="yellow")
            return
    doctypes = list(schema.doctypes(name))  # an app that is not in the image fails here, as in the framework
    print(f"Uninstalling App {name} from Site {frappe.local.site}...")
    if dry_run:
        return
    for doctype in doctypes:
        frappe.db.sql(f"DROP TABLE IF EXISTS {database.quote('tab' + doctype['name'])}")
        frappe.db.delete("DocType", name=doctype["name"])
    frappe.db.delete("Module Def", name=name)
    remove_from_installed_apps(name)
    frappe.db.commit()


def remove_from_installed_apps(name):
    installed = frappe.get_installed_apps()
    if name in installed:
        set_installed_apps([app for app in installed if app != name])
        frappe.clear_cache()
        frappe.db.commit()


def remove_missing_apps():
    """Of a restored database: apps that this image does not have."""
    if "tabDefaultValue" in frappe.db.get_tables():
        known = frappe.get_all_apps()
        installed = frappe.get_installed_apps()
        if any(app not in known for app in installed):
            set_installed_apps([app for app in installed if app in known])


def sync_jobs():
    """Scheduled Job Types as the installed apps' hooks have them."""
    wanted = {
        method: event
        for app in frappe.get_installed_apps()
        for event, methods in (frappe.get_hooks("scheduler_events", app) or {}).items()
        for method in methods
    }
    known = {row.method for row in frappe.db.select("Scheduled Job Type", ["method"])}
    for method in known - set(wanted):
        frappe.db.delete("Scheduled Job Type", method=method)
    for method, event in wanted.items():
        if method not in known:
            frappe.db.insert("Scheduled Job Type", name=method, method=method, frequency=event, stopped=0, creation=now())


# --- restoring -------------------------------------------------------------------------------------------------------


def dump_header(path):
    import gzip

    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        return file.read(1024).decode(errors="replace")


def check_dump(path, force):
    """The refusals of `restore`, each with exit code 1 or a question that a Job cannot answer."""
    import re

    header = dump_header(path)
    if "Partial Backup" in header:
        click.secho("Partial Backup file detected. You cannot use a partial file to restore a Frappe site.", fg="red")
        sys.exit(1)
    version = re.search(r"^-- version = (\d+)\.(\d+)\.(\d+)", header, re.MULTILINE)
    current = tuple(int(part) for part in frappe.__version__.split("."))
    if version and tuple(int(part) for part in version.groups()) > current and not force:
        print(f"Your site is currently on Frappe {frappe.__version__} and your backup is {'.'.join(version.groups())}.")
        click.confirm("This is not recommended and may lead to unexpected behaviour. Do you want to continue anyway?", abort=True)
    program = "zgrep" if path.endswith(".gz") else "grep"
    if not os.path.getsize(path) or subprocess.run([program, "-qm1", "__Auth", path]).returncode:
        click.secho("Table `__Auth` not found in file.", fg="red")
        if not force:
            raise frappe.InvalidDatabaseFile


def extract_files(archive):
    """Into the site: the archive's paths begin with `./<site>/`, which may be another site's name."""
    flags = "xzf" if archive.endswith(".tgz") else "xf"
    subprocess.run(["tar", flags, os.path.abspath(archive), "--strip", "2"], cwd=frappe.get_site_path(), check=True)
