"""TEST CODE: the tables of a site. The framework's own ones come with the database; doctypes come from JSON files.

A doctype's table gets what its file has and the table lacks; nothing is ever dropped, which is what patches are for.
"""

import functools
import glob
import importlib
import json
import os

import frappe
from frappe.database import MariaDB, Postgres, quote

# What a new database starts with, before any app is installed.
STANDARD = {
    "tabDefaultValue": {"name": "Data", "parent": "Data", "defkey": "Data", "defvalue": "Text"},
    "tabSingles": {"doctype": "Data", "field": "Data", "value": "Text"},
    "__Auth": {"doctype": "Data", "name": "Data", "fieldname": "Data", "password": "Text", "encrypted": "Check"},
    "tabSessions": {"sid": "Data", "user": "Data", "sessiondata": "Text", "lastupdate": "Datetime"},
    "tabPatch Log": {"name": "Data", "patch": "Text", "skipped": "Check", "traceback": "Text", "creation": "Datetime"},
    "tabModule Def": {"name": "Data", "app_name": "Data"},
    "tabInstalled Application": {"name": "Data", "app_name": "Data", "app_version": "Data", "idx": "Int"},
    "tabError Log": {"name": "Data", "method": "Data", "error": "Text", "creation": "Datetime"},
}
KEYS = {"tabSingles": ("doctype", "field"), "__Auth": ("doctype", "name", "fieldname"), "tabSessions": ("sid",)}
# Each document has these, whatever its file says.
COMMON = {"name": "Data", "creation": "Datetime", "modified": "Datetime", "owner": "Data"}
# And each row of a child table these as well.
CHILD = {"parent": "Data", "parenttype": "Data", "parentfield": "Data", "idx": "Int"}
TABLES = ("Table", "Table MultiSelect")
LONG = ("Text", "Code", "Long Text", "Small Text", "Password")


def server_class():
    return Postgres if frappe.conf.db_type == "postgres" else MariaDB


def create_table(table, columns, key=("name",)):
    server = server_class()
    parts = []
    for name, kind in columns.items():
        kind = server.TYPES[kind]
        parts.append(f"{quote(name)} {kind}{' NOT NULL' if name in key else ''}")
    parts.append(f"PRIMARY KEY ({', '.join(quote(name) for name in key)})")
    statement = f"CREATE TABLE {quote(table)} ({', '.join(parts)})"
    return statement.replace("`", '"') if server is Postgres else statement


def bootstrap_sql():
    """For the server's client program, like the framework's own `.sql` file."""
    statements = []
    for table, columns in STANDARD.items():
        statements.append(create_table(table, columns, KEYS.get(table, ("name",))))
    return ";\n".join(statements) + ";\n"


@functools.cache
def files(app, folder):
    """What the files `<app>/<module>/<folder>/<name>/<name>.json` say."""
    package = os.path.dirname(importlib.import_module(app).__file__)
    found = []
    for path in sorted(glob.glob(f"{package}/**/{folder}/*/*.json", recursive=True)):
        with open(path) as file:
            found.append({**json.load(file), "folder": os.path.dirname(os.path.relpath(path, os.path.dirname(package)))})
    return found


def doctypes(app):
    return files(app, "doctype")


def columns(doctype):
    """Name → kind of the columns of a doctype's table."""
    own = {field["fieldname"]: kind_of(field["fieldtype"]) for field in doctype["fields"] if field["fieldtype"] not in TABLES}
    return {**COMMON, **(CHILD if doctype.get("istable") else {}), **own}


def kind_of(fieldtype):
    if fieldtype in LONG:
        return "Text"
    return fieldtype if fieldtype in MariaDB.TYPES else "Data"


def sync_for(app, force=False):
    """Creates and widens the tables of an app's doctypes. A table that a killed install left behind needs `force`."""
    tables = frappe.db.get_tables()
    for doctype in doctypes(app):
        table = f"tab{doctype['name']}"
        if doctype.get("issingle"):
            continue
        if table not in tables:
            frappe.db.sql(create_table(table, columns(doctype)))
            for field in doctype["fields"]:
                if field.get("unique"):
                    add_unique(table, field["fieldname"])
            continue
        present = frappe.db.get_columns(table)
        for name, kind in columns(doctype).items():
            if name not in present:
                frappe.db.sql(f"ALTER TABLE {quote(table)} ADD COLUMN {quote(name)} {server_class().TYPES[kind]}")
    for doctype in doctypes(app):
        if not frappe.db.exists("DocType", doctype["name"]):
            frappe.db.insert("DocType", name=doctype["name"], istable=doctype.get("istable", 0), issingle=doctype.get("issingle", 0))


def add_unique(table, column):
    index = f"unique_{table}_{column}".lower().replace(" ", "_")
    frappe.db.sql(f"CREATE UNIQUE INDEX {quote(index)} ON {quote(table)} ({quote(column)})")
