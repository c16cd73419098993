"""TEST CODE: what the scheduler runs."""

import frappe
from frappe.utils import now


def flush():
    frappe.db.set_single_value("System Settings", "last_flush", now())


def sweep():
    frappe.db.set_single_value("System Settings", "last_sweep", now())
