"""What shows a public workspace on the desk of version-16: a sidebar and an icon of its name.

Version-15 has neither: there the sidebar is the list of workspaces. Sidebars and icons of apps are
left alone.
"""

from collections.abc import Mapping, Sequence
from typing import Any

# The framework and its documents have no types.
Frappe = Any
Document = dict[str, Any]

WORKSPACE = "Workspace"
SIDEBAR = "Workspace Sidebar"
ICON = "Desktop Icon"
# In the order in which they are written: an icon links to its sidebar.
ENTRIES = (SIDEBAR, ICON)
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
