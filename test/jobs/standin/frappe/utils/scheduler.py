"""TEST CODE."""

import frappe


def toggle_scheduler(enable):
    frappe.db.set_single_value("System Settings", "enable_scheduler", int(enable))
