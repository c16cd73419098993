"""TEST CODE: changes data only."""

import frappe


def execute():
    if not frappe.db.get_single_value("System Settings", "language"):
        frappe.db.set_single_value("System Settings", "language", "en")
