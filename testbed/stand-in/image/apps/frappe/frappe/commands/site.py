"""TEST CODE: commands that make, change, restore and drop sites."""

import os
import shutil
import sys

import click
import frappe
from frappe.commands import each_site, get_site, pass_context, since

ROOT_USER = click.option("--db-root-username", "--mariadb-root-username")
ROOT_PASSWORD = click.option("--db-root-password", "--mariadb-root-password")
TYPES = ["mariadb", "postgres"] + (["sqlite"] if frappe.VERSION >= (16, 0) else [])


@click.command("new-site")
@click.argument("site")
@click.option("--db-name")
@click.option("--db-password")
@click.option("--db-type", default="mariadb", type=click.Choice(TYPES))
@click.option("--db-host")
@click.option("--db-port", type=int)
@ROOT_USER
@ROOT_PASSWORD
@click.option("--no-mariadb-socket", is_flag=True)
@click.option("--admin-password")
@click.option("--verbose", is_flag=True)
@click.option("--force", is_flag=True)
@click.option("--source-sql", "--source_sql")
@click.option("--install-app", multiple=True)
@click.option("--set-default", is_flag=True)
@since((15, 42), click.option("--setup-db/--no-setup-db", default=True))
@since((16, 0), click.option("--db-user"), click.option("--db-socket"), click.option("--mariadb-user-host-login-scope"))
def new_site(site, verbose, set_default, install_app, **options):
    "Create a new site"
    from frappe.installer import _new_site

    if options["db_type"] == "sqlite":
        raise click.UsageError("this test image has no sqlite")
    if site in frappe.get_all_apps(sites_path="."):
        print(f"Your bench has an app called {site}, please choose another name for the site.")
        sys.exit(1)
    options.pop("db_socket", None)
    options["user_host"] = options.pop("mariadb_user_host_login_scope", None)
    frappe.init(site, new_site=True)
    _new_site(options.pop("db_name"), site, install_apps=install_app, **options)
    if set_default:
        from frappe.installer import update_site_config

        update_site_config("default_site", site, site_config_path="./common_site_config.json")
        print(f"Current Site set to {site}")


@click.command("migrate")
@click.option("--skip-failing", is_flag=True)
@click.option("--skip-search-index", is_flag=True)
@pass_context
def migrate(context, skip_failing, skip_search_index):
    "Run patches, sync schema and rebuild files/translations"
    from frappe.migrate import migrate

    for site in context.sites:
        click.secho(f"Migrating {site}", fg="green")
        migrate(site, skip_failing, skip_search_index)
    if not context.sites:
        raise frappe.SiteNotSpecifiedError


@click.command("restore")
@click.argument("sql-file-path")
@ROOT_USER
@ROOT_PASSWORD
@click.option("--db-name")
@click.option("--admin-password")  # without effect, as in the framework
@click.option("--install-app", multiple=True)
@click.option("--with-public-files")
@click.option("--with-private-files")
@click.option("--force", is_flag=True)
@click.option("--encryption-key")
@pass_context
def restore(context, sql_file_path, db_root_username, db_root_password, install_app, with_public_files, with_private_files, force, **_):
    "Restore site database from an sql file"
    from frappe.installer import _new_site, check_dump, extract_files
    from frappe.utils.synchronization import filelock

    site = get_site(context)
    frappe.init(site)
    path = find_dump(site, sql_file_path)
    with filelock("site_restore", timeout=1):
        check_dump(path, force or context.force)
        try:
            _new_site(
                frappe.conf.db_name, site, db_root_username=db_root_username, db_root_password=db_root_password,
                install_apps=install_app, source_sql=path, force=True, db_type=frappe.conf.db_type,
            )  # fmt: skip
        except Exception as error:
            print(error)
            sys.exit(1)
        for archive in (with_public_files, with_private_files):
            if archive:
                extract_files(archive)
    files = " with files" if with_public_files or with_private_files else ""
    click.secho(f"Site {site} has been restored{files}", fg="green")


def find_dump(site, path):
    for folder in ("", os.path.join(site, "private/backups"), ".."):
        if os.path.exists(os.path.join(folder, path)):
            return os.path.abspath(os.path.join(folder, path))
    click.secho(f"File {path} not found.", fg="red")
    sys.exit(1)


@click.command("drop-site")
@click.argument("site")
@click.option("--db-root-username", "--mariadb-root-username", "--root-login")
@click.option("--db-root-password", "--mariadb-root-password", "--root-password")
@click.option("--archived-sites-path")
@click.option("--no-backup", is_flag=True)
@click.option("--force", is_flag=True)
def drop_site(site, db_root_username, db_root_password, archived_sites_path, no_backup, force):
    "Remove a site from database and filesystem."
    from frappe.database import drop_user_and_database, site_user
    from frappe.utils import get_bench_path
    from frappe.utils.backups import backup

    frappe.init(site)
    frappe.connect()
    try:
        if not no_backup:
            click.secho(f"Taking backup of {site}", fg="green")
            backup(with_files=True)
    except Exception as error:
        if not force:
            print(f"Error: The operation has stopped because backup of {site}'s database failed.\nReason: {error}\n")
            print(f"Hint: Use 'bench drop-site {site} --force' to force the removal of {site}")
            sys.exit(1)
    frappe.db.close()
    click.secho("Dropping site database and user", fg="green")
    drop_user_and_database(frappe.conf.db_name, site_user(), db_root_username, db_root_password)
    # Without a path the archive is in the container and is deleted with it.
    archive = os.path.realpath(archived_sites_path or os.path.join(get_bench_path(), "archived", "sites"))
    click.secho(f"Moving site to archive under {archive}", fg="green")
    os.makedirs(archive, exist_ok=True)
    target, count = os.path.join(archive, site), 0
    while os.path.exists(target):
        count += 1
        target = os.path.join(archive, f"{site}{count}")
    shutil.move(frappe.local.site_path, target)


def set_user_password(context, user, password, logout_all_sessions):
    from frappe.utils.password import update_password

    for site in each_site(context):
        if not password:
            password = click.prompt(f"{user}'s password for {site}", hide_input=True)
        if not frappe.db.exists("User", user):
            print(f"User {user} does not exist")
            sys.exit(1)
        update_password(user, password, logout_all_sessions=logout_all_sessions)
        frappe.db.commit()


@click.command("set-admin-password")
@click.argument("admin-password", required=False)
@click.option("--logout-all-sessions", is_flag=True)
@pass_context
def set_admin_password(context, admin_password, logout_all_sessions):
    "Set Administrator password for a site"
    set_user_password(context, "Administrator", admin_password, logout_all_sessions)


@click.command("set-password")
@click.argument("user")
@click.argument("password", required=False)
@click.option("--logout-all-sessions", is_flag=True)
@pass_context
def set_password(context, user, password, logout_all_sessions):
    "Set password for a user on a site"
    set_user_password(context, user, password, logout_all_sessions)


commands = [new_site, migrate, restore, drop_site, set_admin_password, set_password]
