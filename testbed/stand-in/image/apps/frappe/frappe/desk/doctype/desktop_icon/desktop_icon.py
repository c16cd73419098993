"""TEST CODE: the icons of the desk, from version-16 on, as 16.4.1 has them."""

import frappe
from frappe.model.document import Document

FIELDS = ("name", "label", "link_type", "link_to", "app", "icon_type", "parent_icon", "icon", "standard", "hidden")


class DesktopIcon(Document):
    def is_permitted(self, sidebars):
        items = sidebars.get(self.label.lower(), {"items": []})["items"]
        return not (items and all(item["type"] == "Section Break" for item in items))

    def after_insert(self):
        clear_desktop_icons_cache()

    on_trash = after_insert


def get_desktop_icons(sidebars):
    """Kept for each user, until they are cleared."""
    user = frappe.session.user
    found = frappe.cache.hget_value("desktop_icons", user)
    if not found:
        own = frappe.db.select("Desktop Icon", FIELDS, {"standard": 0, "owner": user})
        rows = [*own, *frappe.db.select("Desktop Icon", FIELDS, {"standard": 1})]
        found = [dict(row) for row in rows if frappe.get_doc("Desktop Icon", row.name).is_permitted(sidebars)]
        frappe.cache.hset_value("desktop_icons", user, found)
    return found


def clear_desktop_icons_cache():
    for key in ("desktop_icons", "bootinfo"):
        frappe.cache.hdel_value(key, frappe.session.user)
