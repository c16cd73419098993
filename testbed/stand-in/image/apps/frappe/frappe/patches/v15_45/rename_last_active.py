"""TEST CODE: after this, code of 15.44 cannot read a user, and code of 15.45 could not before."""

import frappe


def execute():
    columns = frappe.db.get_columns("tabUser")
    if "last_active" in columns:
        frappe.db.rename_column("tabUser", "last_active", "last_seen", "Datetime")
