"""TEST CODE: commands about the apps of a site."""

import sys

import click
import frappe
from frappe.commands import each_site, pass_context


def refuse_frappe(app):
    if app == "frappe":
        click.secho("You cannot remove or uninstall the app `frappe`", fg="yellow")
        sys.exit(1)


@click.command("install-app")
@click.argument("apps", nargs=-1)
@click.option("--force", is_flag=True)
@pass_context
def install_app(context, apps, force):
    "Install a new app to site, supports multiple apps"
    import traceback

    from frappe.installer import install_app
    from frappe.utils.synchronization import filelock

    code = 0
    for _ in each_site(context):
        for app in apps:
            try:
                with filelock("install_app"):
                    install_app(app, force=force or context.force)
                frappe.db.commit()
            except Exception as error:
                frappe.db.rollback()
                print(f"An error occurred while installing {app}: {error}")
                traceback.print_exc()
                code = 1
    sys.exit(code)


@click.command("uninstall-app")
@click.argument("app")
@click.option("--yes", "-y", is_flag=True)
@click.option("--dry-run", is_flag=True)
@click.option("--no-backup", is_flag=True)
@click.option("--force", is_flag=True)
@pass_context
def uninstall_app(context, app, yes, dry_run, no_backup, force):
    "Remove app and linked modules from site"
    import importlib

    from frappe.installer import remove_app
    from frappe.utils.backups import backup
    from frappe.utils.synchronization import filelock

    refuse_frappe(app)
    for _ in each_site(context):
        with filelock("uninstall_app"):
            importlib.import_module(f"{app}.hooks")  # an app that is not in the image fails here
            if app in frappe.get_installed_apps() and not dry_run:
                if not yes:
                    click.confirm("All doctypes and modules of this app will be deleted. Are you sure you want to continue?", abort=True)
                if not no_backup:
                    print("Backing up...")
                    backup()
            remove_app(app, dry_run=dry_run, force=force)


@click.command("remove-from-installed-apps")
@click.argument("app")
@pass_context
def remove_from_installed_apps(context, app):
    "Remove app from site's installed-apps list"
    from frappe.installer import remove_from_installed_apps

    refuse_frappe(app)
    for _ in each_site(context):
        remove_from_installed_apps(app)


@click.command("list-apps")
@click.option("--format", "-f", "output", type=click.Choice(["text", "json"]), default="text")
@pass_context
def list_apps(context, output):
    "List apps in site"
    import json

    found = {}
    for site in each_site(context):
        rows = frappe.db.select("Installed Application", ["app_name", "app_version"], order_by="`idx`")
        lines = [f"{row.app_name} {row.app_version}" for row in rows] or frappe.get_installed_apps()
        found[site] = [row.app_name for row in rows]
        if output == "text":
            print("\n".join(lines))
    if output == "json":
        # Empty until the first migrate, as in the framework: this is no test of completeness.
        print(json.dumps(found))


commands = [install_app, uninstall_app, remove_from_installed_apps, list_apps]
