"""TEST CODE: what the page of the desk has about its user: kept in the cache until it is cleared."""

from functools import partial

import frappe
from frappe.desk.desktop import get_workspace_sidebar_items


def get_bootinfo():
    user = frappe.session.user
    bootinfo = frappe.cache.hget_value("bootinfo", user)
    if not bootinfo:
        bootinfo = build_bootinfo()
        frappe.cache.hset_value("bootinfo", user, bootinfo)
    return bootinfo


def build_bootinfo():
    workspaces = get_workspace_sidebar_items()
    setting = partial(frappe.db.get_single_value, "System Settings")
    zone = setting("time_zone") or "Asia/Kolkata"
    user = frappe.get_doc("User", frappe.session.user)
    fields = ("country", "language", "currency") if frappe.VERSION >= (16, 0) else ("country", "language")
    bootinfo = {
        "setup_complete": setting("setup_complete") == "1",
        "home_page": frappe.db.get_default("desktop:home_page") or "setup-wizard",
        "allowed_workspaces": workspaces["pages"],
        "sysdefaults": {field: setting(field) for field in fields},
        "user": {"name": user.name} | default_workspace(user),
        "lang": user.language or setting("language") or "en",
        "time_zone": {"system": zone, "user": user.time_zone or zone},
    }
    if frappe.VERSION >= (16, 0):
        from frappe.desk.doctype.desktop_icon.desktop_icon import get_desktop_icons

        sidebars = get_sidebar_items([page["name"] for page in workspaces["pages"]])
        bootinfo |= {
            "setup_complete": frappe.is_setup_complete(),
            "workspace_sidebar_item": sidebars,
            "desktop_icons": get_desktop_icons(sidebars),
        }
    return bootinfo


def default_workspace(user):
    name = user.default_workspace
    if not name:
        return {}
    workspace = frappe.get_doc("Workspace", name)
    return {"default_workspace": {"name": name, "public": workspace.public, "title": workspace.title}}


def get_sidebar_items(allowed_workspaces):
    found = {}
    for name in frappe.db.sql("SELECT `name` FROM `tabWorkspace Sidebar`", pluck=True):
        sidebar = frappe.get_doc("Workspace Sidebar", name)
        items = [
            {"label": item.label, "type": item.type, "link_type": item.link_type, "link_to": item.link_to}
            for item in sidebar.items
            if item.type == "Section Break" or sidebar.is_item_allowed(item.link_to, item.link_type, allowed_workspaces)
        ]
        found[name.lower()] = {"label": name, "items": items, "app": sidebar.app}
    return found
