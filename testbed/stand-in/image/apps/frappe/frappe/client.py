"""TEST CODE: documents as rows: what the file of the doctype names can be read and written by whoever is logged in."""

import json

import frappe
from frappe import schema
from frappe.database import quote
from frappe.utils import now


def columns_of(doctype):
    for app in frappe.get_installed_apps():
        for known in schema.doctypes(app):
            if known["name"] == doctype:
                return list(schema.columns(known))
    return frappe.throw(f"DocType {doctype} not found", frappe.DoesNotExistError)


def only_known(doctype, row):
    known = columns_of(doctype)
    return {key: value for key, value in row.items() if key in known}


@frappe.whitelist()
def get(doctype, name):
    rows = frappe.db.select(doctype, columns_of(doctype), {"name": name})
    if not rows:
        frappe.throw(f"{doctype} {name} not found", frappe.DoesNotExistError)
    return {"doctype": doctype, **rows[0]}


@frappe.whitelist()
def get_list(doctype, fields=None, filters=None, limit_page_length=20):
    """`filters`: a mapping, or a list of `[field, "=", value]`."""
    filters = json.loads(filters) if isinstance(filters, str) else filters or {}
    if isinstance(filters, list):
        filters = {part[-3]: part[-1] for part in filters}
    fields = json.loads(fields) if isinstance(fields, str) else fields or ["name"]
    known = columns_of(doctype)
    fields = known if fields == ["*"] else fields
    for field in (*fields, *filters):
        if field not in known:
            frappe.throw(f"Field not permitted in query: {field}")
    return frappe.db.select(doctype, fields, filters, order_by=quote("modified") + " DESC", limit=limit_page_length or None)


@frappe.whitelist()
def get_count(doctype, filters=None):
    return len(get_list(doctype, ["name"], filters, None))


@frappe.whitelist()
def insert(doc):
    doc = json.loads(doc) if isinstance(doc, str) else dict(doc)
    doctype = doc.pop("doctype")
    row = only_known(doctype, doc)
    row["name"] = row.get("name") or natural_name(doctype, row) or frappe.generate_hash(10)
    if doctype == "ToDo":
        row.setdefault("status", "Open")
    row.update(creation=now(), modified=now(), owner=frappe.session.user)
    try:
        frappe.db.insert(doctype, **row)
    except Exception as error:
        if frappe.db.is_duplicate_entry(error):
            frappe.throw(f"{doctype} {row['name']} already exists", frappe.DuplicateEntryError)
        raise
    return get(doctype, row["name"])


def natural_name(doctype, row):
    return {"User": (row.get("email") or "").lower(), "Note": row.get("title")}.get(doctype)


def update(doctype, name, values):
    get(doctype, name)
    changes = {k: v for k, v in only_known(doctype, values).items() if k not in schema.COMMON}
    frappe.db.set_value(doctype, name, **changes, modified=now())
    return get(doctype, name)


@frappe.whitelist()
def delete(doctype, name):
    get(doctype, name)
    frappe.db.delete(doctype, name=name)
