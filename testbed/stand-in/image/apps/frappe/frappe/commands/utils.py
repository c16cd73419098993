"""TEST CODE: configuration, caches, versions, and running a function."""

import ast
import importlib
import json
import os

import click
import frappe
from frappe.commands import each_site, pass_context


@click.command("set-config")
@click.argument("key")
@click.argument("value")
@click.option("-g", "--global", "global_", is_flag=True)
@click.option("-p", "--parse", is_flag=True)
@pass_context
def set_config(context, key, value, global_, parse):
    "Insert/Update a value in site_config.json"
    from frappe.installer import update_site_config

    value = ast.literal_eval(value) if parse else value
    if global_:
        update_site_config(key, value, site_config_path=os.path.join(os.getcwd(), "common_site_config.json"))
        return
    if not context.sites:
        raise frappe.SiteNotSpecifiedError
    for site in context.sites:
        frappe.init(site)
        update_site_config(key, value)
        frappe.destroy()


@click.command("clear-cache")
@pass_context
def clear_cache(context):
    "Clear the cache of the site; the manifest of assets, which all sites share, stays"
    for _ in each_site(context):
        frappe.clear_cache()


@click.command("clear-website-cache")
@pass_context
def clear_website_cache(context):
    "Clear website cache"
    for _ in each_site(context):
        frappe.cache.delete_keys("website")


@click.command("version")
@click.option("-f", "--format", "output", type=click.Choice(["plain", "table", "json", "legacy"]), default="legacy")
def version(output):
    "Show the versions of all apps of the bench."
    apps = [{"app": app, "version": importlib.import_module(app).__version__} for app in sorted(frappe.get_all_apps(sites_path="."))]
    print(json.dumps(apps, indent=4) if output == "json" else "\n".join(f"{app['app']} {app['version']}" for app in apps))


@click.command("execute")
@click.argument("method")
@click.option("--args")
@click.option("--kwargs")
@pass_context
def execute(context, method, args, kwargs):
    "Execute a function"
    arguments = ast.literal_eval(args) if args else ()
    named = ast.literal_eval(kwargs) if kwargs else {}
    for _ in each_site(context):
        result = frappe.get_attr(method)(*arguments, **named)
        if frappe.db:
            frappe.db.commit()
        if result:
            print(json.dumps(result, default=repr))


commands = [set_config, clear_cache, clear_website_cache, version, execute]
