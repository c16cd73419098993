"""TEST CODE: patches of apps, each once per site, remembered in the table `Patch Log`."""

import importlib
import os
import traceback

import frappe
from frappe.utils import now


def patches_of(app):
    """Section → patches of an app's `patches.txt`; without sections all run before the schema is synced."""
    sections = {"pre_model_sync": [], "post_model_sync": []}
    path = os.path.join(os.path.dirname(importlib.import_module(app).__file__), "patches.txt")
    section = "pre_model_sync"
    with open(path) as file:
        # A comment behind a patch is part of its name: another comment makes it run again.
        for line in (line.strip() for line in file):
            if line.startswith("["):
                section = line.strip("[]")
            elif line and not line.startswith("#"):
                sections[section].append(line)
    return sections


def executed():
    """A patch that failed and was skipped has not run."""
    return {row.patch for row in frappe.db.select("Patch Log", ["patch", "skipped"]) if not int(row.skipped or 0)}


def log(patch, skipped=0, trace=None):
    frappe.db.insert("Patch Log", name=frappe.generate_hash(10), patch=patch, skipped=skipped, traceback=trace, creation=now())


def set_all_patches_as_completed(app):
    done = executed()
    for patch in [patch for section in patches_of(app).values() for patch in section]:
        if patch not in done:
            log(patch)
    frappe.db.commit()


def run_all(section, skip_failing=False):
    for app in frappe.get_installed_apps():
        done = executed()
        for patch in patches_of(app)[section]:
            if patch not in done:
                run_single(patch, skip_failing)


def run_single(patch, skip_failing=False):
    print(f"Executing {patch} in {frappe.local.site} ({frappe.conf.db_name})")
    try:
        importlib.import_module(patch.split()[0]).execute()
        log(patch)
        frappe.db.commit()
    except Exception:
        frappe.db.rollback()
        if not skip_failing:
            raise
        log(patch, skipped=1, trace=traceback.format_exc())
        frappe.db.commit()
