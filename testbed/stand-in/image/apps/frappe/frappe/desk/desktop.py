"""TEST CODE: the workspaces that a user sees, and the page of one."""

import json

import frappe

FIELDS = ["name", "title", "for_user", "parent_page", "content", "public", "module", "icon", "indicator_color", "is_hidden"]


@frappe.whitelist()
def get_workspace_sidebar_items():
    roles = frappe.get_roles()
    has_access = "Workspace Manager" in roles
    blocked = [row.module for row in frappe.get_doc("User", frappe.session.user).block_modules]
    pages, private_pages = [], []
    for page in frappe.db.select("Workspace", FIELDS, {}, order_by="sequence_id"):
        allowed = [row.role for row in frappe.get_doc("Workspace", page.name).roles]
        if not has_access and allowed and not set(allowed) & set(roles):
            continue
        if not has_access and page.module in blocked:
            continue
        if page.public and (has_access or not page.is_hidden) and page.title != "Welcome Workspace":
            pages.append({**page, "label": page.name})
        elif page.for_user == frappe.session.user:
            private_pages.append({**page, "label": page.name})
    return {"pages": [*pages, *private_pages], "has_access": has_access}


@frappe.whitelist()
def get_desktop_page(page):
    """What the page shows. Not here: the rights to what its shortcuts lead to."""
    doc = frappe.get_doc("Workspace", json.loads(page)["name"])
    columns = {"shortcuts": ("label", "type", "link_to"), "charts": ("label", "chart_name")}
    return {table: {"items": [{name: row.get(name) for name in names} for row in doc.get(table)]} for table, names in columns.items()}
