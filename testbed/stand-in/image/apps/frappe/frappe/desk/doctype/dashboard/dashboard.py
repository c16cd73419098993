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


@frappe.whitelist()
def get_permitted_charts(dashboard_name):
    """Not here: rights to the charts."""
    return [{"chart": row.chart, "width": row.width} for row in frappe.get_doc("Dashboard", dashboard_name).charts]


@frappe.whitelist()
def get_permitted_cards(dashboard_name):
    return [{"card": row.card} for row in frappe.get_doc("Dashboard", dashboard_name).cards]
