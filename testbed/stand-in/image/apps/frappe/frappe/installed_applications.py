"""TEST CODE: which apps a site has, and from version-16 on, whether the setup wizard of each is done."""

import frappe

WITH_WIZARD = ("frappe", "erpnext")


def update_versions():
    """From version-16 on a site with users counts as one whose wizard of the framework is done."""
    table, has_states = "tabInstalled Application", frappe.VERSION >= (16, 0)
    states = {}
    if has_states:
        for column in {"has_setup_wizard", "is_setup_complete"} - set(frappe.db.get_columns(table)):
            frappe.db.sql(f"ALTER TABLE `{table}` ADD COLUMN `{column}` {frappe.db.TYPES['Check']}")
        states = dict(frappe.db.sql(f"SELECT `app_name`, `is_setup_complete` FROM `{table}`"))
    frappe.db.sql(f"DELETE FROM `{table}`")
    for index, app in enumerate(frappe.get_installed_apps()):
        row = {"app_name": app, "app_version": frappe.get_app_version(app), "idx": index}
        if has_states:
            row |= {"has_setup_wizard": int(app in WITH_WIZARD), "is_setup_complete": int(is_complete(app, states))}
        frappe.db.insert("Installed Application", name=frappe.generate_hash(10), **row)
    if has_states:
        frappe.db.set_single_value("System Settings", "setup_complete", int(frappe.is_setup_complete()))


def is_complete(app, states):
    if app not in WITH_WIZARD:
        return False
    if states.get(app):
        return True
    if app == "frappe":
        return bool(frappe.db.sql("SELECT 1 FROM `tabUser` WHERE `user_type` = 'System User' AND `name` NOT IN ('Administrator', 'Guest')"))
    return "tabCompany" in frappe.db.get_tables() and bool(frappe.db.sql("SELECT 1 FROM `tabCompany`"))


def completed_apps():
    return frappe.db.sql("SELECT `app_name` FROM `tabInstalled Application` WHERE `has_setup_wizard` = 1 AND `is_setup_complete` = 1", pluck=True)
