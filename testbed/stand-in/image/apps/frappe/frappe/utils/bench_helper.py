"""TEST CODE: `python -m frappe.utils.bench_helper frappe [--site X] COMMAND`, run in `sites/`."""

import importlib
import os

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
    return click.group(name="frappe", commands=commands)(choose_sites)


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
