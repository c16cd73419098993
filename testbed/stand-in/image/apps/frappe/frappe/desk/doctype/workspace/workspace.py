"""TEST CODE: a workspace's page is a list of blocks; its route is unique."""

import json

import frappe
from frappe.model.document import Document


def slug(name):
    return name.lower().replace(" ", "-")


class Workspace(Document):
    def validate(self):
        for doctype in ("Page", "DocType"):
            taken = frappe.db.sql(f"SELECT `name` FROM `tab{doctype}`", pluck=True)
            if slug(self.title or "") in [slug(name) for name in taken if name != self.name]:
                frappe.msgprint("Name already taken, please set a new name")
                raise frappe.NameError
        try:
            blocks = json.loads(self.content)
        except (TypeError, ValueError):
            blocks = None
        if not isinstance(blocks, list):
            frappe.throw("Content data shoud be a list")
        if frappe.VERSION >= (16, 0) and self.module and not self.app:
            self.app = frappe.db.get_value("Module Def", self.module, "app_name")

    def on_update(self):
        if self.for_user:
            frappe.cache.hdel_value("bootinfo", self.for_user)
        else:
            frappe.cache.delete_value("bootinfo")

    def on_trash(self):
        self.on_update()
        if frappe.VERSION >= (16, 0) and not self.public:
            frappe.get_doc("Workspace Sidebar", f"My Workspaces-{frappe.session.user}")
