"""TEST CODE: what a doctype's file says of it."""

import frappe
from frappe import schema


class Meta:
    def __init__(self, doctype):
        self.name, self.autoname, self.folder = doctype["name"], doctype.get("autoname"), doctype["folder"]
        self.istable, self.issingle = doctype.get("istable", 0), doctype.get("issingle", 0)
        self.fields = [frappe._dict(field) for field in doctype["fields"]]
        self.columns = list(schema.columns(doctype))

    def get_field(self, name):
        return next((field for field in self.fields if field.fieldname == name), None)

    def has_field(self, name):
        return self.get_field(name) is not None

    def get_label(self, name):
        return self.get_field(name).label or name

    def get_table_fields(self):
        return [field for field in self.fields if field.fieldtype in schema.TABLES]


def get_meta(doctype):
    known = frappe.local.cache.setdefault("meta", {})
    if doctype not in known:
        found = [one for app in frappe.get_installed_apps() for one in schema.doctypes(app) if one["name"] == doctype]
        if not found:
            frappe.throw(f"DocType {doctype} not found", frappe.DoesNotExistError)
        known[doctype] = Meta(found[-1])
    return known[doctype]
