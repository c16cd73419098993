"""TEST CODE: what the commands share."""

import sys
from functools import wraps

import click
import frappe


def get_site(context):
    """The first chosen site."""
    if not context.sites:
        raise frappe.SiteNotSpecifiedError
    return context.sites[0]


def pass_context(function):
    """Gives the command the choice of sites; no site or a missing site ends with exit code 1."""

    @wraps(function)
    def command(ctx, *args, **kwargs):
        try:
            return function(frappe._dict(ctx.obj), *args, **kwargs)
        except frappe.SiteNotSpecifiedError as error:
            click.secho(str(error), fg="yellow")
        except frappe.IncorrectSitePath:
            click.secho(f"Site {(ctx.obj.get('sites') or [''])[0]} does not exist!", fg="yellow")
        sys.exit(1)

    return click.pass_context(command)


def each_site(context):
    """Connects to one site after the other; the first error ends the command."""
    for site in context.sites:
        frappe.init(site)
        try:
            frappe.connect()
            yield site
        finally:
            frappe.destroy()
    if not context.sites:
        raise frappe.SiteNotSpecifiedError


def since(version, *options):
    """Options that only a version and its successors have; on the others they are unknown flags (exit code 2)."""
    present = tuple(int(part) for part in frappe.__version__.split(".")[:2]) >= version

    def add(command):
        for option in reversed(options if present else ()):
            command = option(command)
        return command

    return add


def get_commands():
    from frappe.commands.apps import commands as apps
    from frappe.commands.backup import commands as backup
    from frappe.commands.scheduler import commands as scheduler
    from frappe.commands.site import commands as site
    from frappe.commands.utils import commands as utils

    return [*site, *apps, *backup, *scheduler, *utils]
