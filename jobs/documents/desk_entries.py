"""What shows a public workspace on the desk of version-16: a sidebar and an icon of its name.

Version-15 has neither: there the sidebar is the list of workspaces. Sidebars and icons of apps are
left alone.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from desired_document import DesiredDocument, Document
from site_connection import Frappe

WORKSPACE = "Workspace"
SIDEBAR = "Workspace Sidebar"
ICON = "Desktop Icon"
# In the order in which they are written: an icon links to its sidebar.
ENTRIES = (SIDEBAR, ICON)
# Of a User.
DEFAULT_WORKSPACE = "default_workspace"
# What the desk keeps for each user. Version 16.4 clears it for the writing user only.
CACHED = ("desktop_icons", "bootinfo")


def has_entries(frappe: Frappe) -> bool:
    """Whether this version shows workspaces by sidebars and icons."""
    return bool(frappe.db.exists("DocType", SIDEBAR))


def entries_of(document: Document) -> list[Document]:
    """The sidebar and the icon of a workspace; none for one that its spec hides or gives a user."""
    fields, name = document.get("fields") or {}, document["name"]
    if document["doctype"] != WORKSPACE or not fields.get("public") or fields.get("is_hidden"):
        return []
    icon = fields.get("icon") or ""
    common = {"id": document["id"], "name": name, "state": "present"}
    sidebar = {
        **common,
        "doctype": SIDEBAR,
        "fields": {"header_icon": icon},
        "tables": {"items": [home(name, icon)]},
    }
    # Only an icon that is standard is seen by every user. One without an app outlives a migration.
    shown = {
        **common,
        "doctype": ICON,
        "fields": {
            "icon": icon,
            "icon_type": "Link",
            "link_type": SIDEBAR,
            "link_to": name,
            "standard": True,
            "hidden": False,
        },
        "tables": {"roles": (document.get("tables") or {}).get("roles") or []},
    }
    return [sidebar, shown]


def home(name: str, icon: str) -> Mapping[str, Any]:
    """The item that opens the workspace. Its page has the rest, by the rights of the user."""
    return {
        "type": "Link",
        "label": "Home",
        "link_type": WORKSPACE,
        "link_to": name,
        "icon": icon,
        "child": False,
    }


def belongs_to_app(frappe: Frappe, doctype: str, name: str) -> bool:
    """Whether an app has this sidebar or icon, or a user has made it for another purpose."""
    doc = frappe.get_doc(doctype, name)
    if doc.get("app"):
        return True
    if doctype == ICON:
        return (doc.get("link_type"), doc.get("link_to")) != (SIDEBAR, name)
    if doc.get("standard"):
        return True
    items: Sequence[Any] = doc.get("items") or []
    links = {(item.link_type, item.link_to) for item in items}
    return bool(links) and (WORKSPACE, name) not in links


def clear_cached(frappe: Frappe) -> None:
    """Every user's desk is read again."""
    frappe.cache.delete_value(list(CACHED))


def has_file(frappe: Frappe, doc: Any) -> bool:
    """Whether an app contains this document: a file in the folder of its module."""
    kind, name = frappe.scrub(doc.doctype), frappe.scrub(doc.name)
    module = doc.get("module")
    try:
        return bool(module) and os.path.exists(
            frappe.get_module_path(module, kind, name, f"{name}.json")
        )
    except Exception:  # the module's app is not installed
        return False


class Desk:
    """The desk of a site. `write` writes a document, and returns the outcome."""

    def __init__(self, frappe: Frappe, write: Callable[[Document], str]) -> None:
        self.frappe, self.write = frappe, write

    def show(self, document: Document, desired: DesiredDocument) -> bool:
        """Writes the sidebar and the icon of a workspace. Returns whether anything differed."""
        if document["doctype"] != WORKSPACE or not has_entries(self.frappe):
            return False
        changed = self.forget_app(document["name"], desired)
        entries = entries_of(document)
        if not entries:
            return self.remove(document["name"]) or changed
        written = [
            self.write(entry)
            for entry in entries
            if not self.frappe.db.exists(entry["doctype"], entry["name"])
            or not belongs_to_app(self.frappe, entry["doctype"], entry["name"])
        ]
        if changed or any(outcome != "Unchanged" for outcome in written):
            clear_cached(self.frappe)
            return True
        return False

    def forget_app(self, name: str, desired: DesiredDocument) -> bool:
        """A migration deletes a public workspace with a module and an app that has no file of it.

        The framework sets the app on each save, and finds it by the module where it is empty.
        """
        doc = self.frappe.get_doc(WORKSPACE, name)
        if desired.fields.get("app") or not doc.get("app") or not doc.get("module"):
            return False
        if has_file(self.frappe, doc):
            return False
        self.frappe.db.set_value(WORKSPACE, name, "app", None)
        return True

    def remove(self, name: str) -> bool:
        frappe = self.frappe
        found = [
            doctype
            for doctype in reversed(ENTRIES)
            if frappe.db.exists(doctype, name) and not belongs_to_app(frappe, doctype, name)
        ]
        for doctype in found:
            frappe.delete_doc(doctype, name, force=True, ignore_permissions=True)
        if found:
            clear_cached(frappe)
        return bool(found)

    def add_my_workspaces(self) -> None:
        """Version 16.4 does not delete a private workspace where this sidebar does not exist."""
        name = f"My Workspaces-{self.frappe.session.user}"
        if not self.frappe.db.exists(SIDEBAR, name):
            sidebar = self.frappe.new_doc(SIDEBAR)
            sidebar.set("title", name)
            sidebar.insert(ignore_permissions=True)

    def prepare_deletion(self, workspace: Any) -> None:
        self.forget_default(workspace.name)
        if has_entries(self.frappe) and not workspace.get("public"):
            self.add_my_workspaces()

    def forget_default(self, name: str) -> None:
        """The desk of a user whose default workspace does not exist fails."""
        if self.frappe.get_meta("User").has_field(DEFAULT_WORKSPACE):
            self.frappe.db.set_value("User", {DEFAULT_WORKSPACE: name}, DEFAULT_WORKSPACE, None)
            clear_cached(self.frappe)
