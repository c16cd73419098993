"""TEST CODE: `backup`."""

import sys
import traceback

import click
import frappe
from frappe.commands import pass_context


@click.command("backup")
@click.option("--with-files", is_flag=True)
@click.option("--include", "--only", "-i", default="")
@click.option("--exclude", "-e", default="")
@click.option("--backup-path")
@click.option("--backup-path-db")
@click.option("--backup-path-files")
@click.option("--backup-path-private-files")
@click.option("--backup-path-conf")
@click.option("--ignore-backup-conf", is_flag=True)
@click.option("--verbose", is_flag=True)
@click.option("--compress", is_flag=True)
@pass_context
def backup(context, verbose, ignore_backup_conf, **options):
    "Backup"
    from frappe.utils.backups import backup

    code = 0
    for site in context.sites:
        try:
            frappe.init(site)
            frappe.connect()
            files = backup(**options)
            print(f"Backup Summary for {site}")
            for kind, path in files.items():
                print(f"{kind.title()}: {path}")
            end = " with files" if options["with_files"] else ""
            click.secho(f"Backup for Site {site} has been successfully completed{end}", fg="green")
        except Exception:
            click.secho(f"Backup failed for Site {site}. Database or site_config.json may be corrupted", fg="red")
            if verbose or context.verbose:
                traceback.print_exc()
            code = 1
        finally:
            frappe.destroy()
    if not context.sites:
        raise frappe.SiteNotSpecifiedError
    sys.exit(code)


commands = [backup]
