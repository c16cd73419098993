"""TEST CODE: brings a site's database to the code: patches, schema, patches, jobs, the list of applications."""

import json
import sys

import frappe
from frappe import schema
from frappe.installer import sync_jobs, sync_workspaces
from frappe.installed_applications import update_versions
from frappe.modules.patch_handler import run_all
from frappe.utils.connections import check_connection
from frappe.utils.synchronization import filelock


def services_running():
    for name, running in check_connection().items():
        if not running:
            print(f"Service {name} is not running.")
            return False
    return True


def migrate(site, skip_failing=False, skip_search_index=False):
    frappe.init(site)
    frappe.connect()
    if not services_running():
        print("Cannot run bench migrate without the services running.")
        sys.exit(1)
    try:
        with filelock("bench_migrate", timeout=1):
            frappe.clear_cache()
            for hook in frappe.get_hooks("before_migrate"):
                frappe.call(hook)
            run_all("pre_model_sync", skip_failing)
            for app in frappe.get_installed_apps():
                print(f"Updating DocTypes for {app}")
                schema.sync_for(app)
            frappe.db.commit()
            run_all("post_model_sync", skip_failing)
            sync_jobs()
            for app in frappe.get_installed_apps():
                sync_workspaces(app)
            update_versions()
            if frappe.VERSION >= (16, 0) and "tabWorkspace" in frappe.db.get_tables():
                remove_orphan_workspaces()
                remove_orphan_entries()
            frappe.db.commit()
            with open(frappe.get_site_path("touched_tables.json"), "w") as file:
                json.dump([], file)
            if not skip_search_index:
                print(f"Queued rebuilding of search index for {site}")
                frappe.enqueue("frappe.core.tasks.sweep", queue="long")
            frappe.clear_cache()
    except Exception:
        frappe.db.rollback()
        raise
    finally:
        frappe.destroy()


def remove_orphan_workspaces():
    """Public ones of a module and an app without a file."""
    known = {workspace["name"] for app in frappe.get_installed_apps() for workspace in schema.files(app, "workspace")}
    for row in frappe.db.select("Workspace", ["name", "module", "app"], {"public": 1}):
        if row.module and row.app and row.name not in known:
            print(f"Deleting entity Workspace {row.name}")
            frappe.delete_doc("Workspace", row.name, force=True)


def remove_orphan_entries():
    """Standard sidebars and icons of an app; the apps of this image have no files of them."""
    for doctype in ("Workspace Sidebar", "Desktop Icon"):
        for row in frappe.db.select(doctype, ["name", "app"], {"standard": 1}):
            if row.app:
                print(f"Deleting entity {doctype} {row.name}")
                frappe.delete_doc(doctype, row.name, force=True)
