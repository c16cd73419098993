"""TEST CODE: one dashboard is the default; those of apps are not written."""

import frappe
from frappe.model.document import Document
from frappe.utils import cint


class Dashboard(Document):
    def validate(self):
        if cint(self.is_standard) and not frappe.conf.developer_mode:
            frappe.throw("Cannot edit Standard Dashboards")

    def on_update(self):
        if cint(self.is_default):
            frappe.db.sql("UPDATE `tabDashboard` SET `is_default` = 0 WHERE `name` != %s", [self.name])
