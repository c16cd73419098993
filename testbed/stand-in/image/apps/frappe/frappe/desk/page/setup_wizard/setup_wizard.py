"""TEST CODE: the setup wizard: the framework's stage, then those of the apps, in one transaction."""

import json

import frappe
from frappe.installed_applications import completed_apps
from frappe.utils import cint

HAS_APP_STATES = frappe.VERSION >= (16, 0)


@frappe.whitelist()
def setup_complete(args):
    done = frappe.is_setup_complete() if HAS_APP_STATES else cint(frappe.db.get_single_value("System Settings", "setup_complete"))
    if done:
        return {"status": "ok"}
    args = frappe._dict(json.loads(args) if isinstance(args, str) else args)
    if frappe.conf.trigger_site_setup_in_background:
        return {"status": "registered"}  # and a worker does it
    return process_setup_stages(get_setup_stages(args))


def get_setup_stages(args):
    stages = [("frappe", update_global_settings, args)]
    for app in frappe.get_installed_apps():
        for method in frappe.get_hooks("setup_wizard_stages", app):
            stages += [(app, task["fn"], args) for stage in frappe.get_attr(method)(args) for task in stage["tasks"]]
    return stages


def process_setup_stages(stages):
    done = completed_apps() if HAS_APP_STATES else []
    try:
        for app, function, args in stages:
            if app in done:
                continue
            if "frappe" in done:
                args.update({field: frappe.db.get_single_value("System Settings", field) for field in ("country", "time_zone", "currency")})
            function(args)
            if HAS_APP_STATES:
                frappe.db.set_value("Installed Application", {"app_name": app}, "is_setup_complete", 1)
        frappe.db.set_default("desktop:home_page", "workspace")
        frappe.db.set_single_value("System Settings", "setup_complete", int(frappe.is_setup_complete()) if HAS_APP_STATES else 1)
        frappe.db.commit()
        frappe.clear_cache()
    except Exception:
        frappe.db.rollback()
        raise
    return {"status": "ok"}


def update_global_settings(args):
    for field, value in {
        "country": args.country,
        "language": frappe.db.sql("SELECT `name` FROM `tabLanguage` WHERE `language_name` = %s", [args.language], pluck=True)[0],
        "time_zone": args.timezone,
        "enable_scheduler": 1,
        **({"currency": args.currency} if HAS_APP_STATES else {}),
    }.items():
        frappe.db.set_single_value("System Settings", field, value or "")
    for name in frappe.STANDARD_USERS:
        frappe.db.set_value("User", name, time_zone=args.timezone)
