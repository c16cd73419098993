"""TEST CODE: fails, after the schema has changed, on a site with a ToDo of an unknown status."""

import frappe


def execute():
    known = ("Open", "Closed", "Cancelled")
    unknown = [row.name for row in frappe.db.select("ToDo", ["name", "status"]) if row.status not in known]
    if unknown:
        frappe.throw(f"ToDo {unknown[0]} has an unknown status")
