"""TEST CODE: the items beside a workspace, from version-16 on; which of them a user sees."""

import frappe
from frappe.model.document import Document


class WorkspaceSidebar(Document):
    def on_trash(self):
        if "Workspace Manager" not in frappe.get_roles():
            frappe.throw("You need to be Workspace Manager to delete a public workspace.")

    def is_item_allowed(self, name, item_type, allowed_workspaces):
        """Not here: the rights to document types, pages and reports."""
        if frappe.session.user == "Administrator":
            return True
        return item_type in ("Dashboard", "URL") or (item_type == "Workspace" and name in allowed_workspaces)
