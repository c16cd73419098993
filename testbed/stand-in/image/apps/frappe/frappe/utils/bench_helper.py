"""TEST CODE: `python -m frappe.utils.bench_helper frappe [--site X] COMMAND`, run in `sites/`."""

import importlib
import os
import sys
import traceback
from difflib import get_close_matches

import click
import frappe
from frappe.utils import get_sites


def main():
    click.Group(commands={"frappe": app_group()})(prog_name="bench")


def app_group():
    commands = {}
    for app in frappe.get_all_apps(sites_path="."):  # without sites/apps.txt there is no command at all
        for command in commands_of(app):
            commands[command.name] = command
    return click.group(name="frappe", commands=commands, cls=Group)(choose_sites)


class Group(click.Group):
    """From version-16 on an error is printed again below its traceback, and similar commands are named."""

    def get_command(self, ctx, cmd_name):
        found = super().get_command(ctx, cmd_name)
        if found is None and frappe.VERSION >= (16, 0):
            similar = get_close_matches(cmd_name, self.list_commands(ctx))
            raise click.NoSuchOption(cmd_name, possibilities=similar, message=f"No such command: {cmd_name}.")
        return found

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.exceptions.Abort):
            raise
        except Exception as error:
            if frappe.VERSION < (16, 0):
                raise
            click.echo(traceback.format_exc())
            click.echo(error)
            sys.exit(1)


def commands_of(app):
    try:
        module = importlib.import_module(f"{app}.commands")
    except ModuleNotFoundError:
        return []
    return module.get_commands() if hasattr(module, "get_commands") else getattr(module, "commands", [])


@click.option("--site")
@click.option("--profile", is_flag=True)
@click.option("--verbose", is_flag=True)
@click.option("--force", is_flag=True)
@click.pass_context
def choose_sites(ctx, site, profile, verbose, force):
    ctx.obj = {"sites": sites_of(site), "force": force, "verbose": verbose, "profile": profile}


def sites_of(site):
    if site == "all":
        return get_sites()
    chosen = site or os.environ.get("FRAPPE_SITE") or frappe.get_common_site_config().default_site
    return [chosen] if chosen else []


if __name__ == "__main__":
    main()
