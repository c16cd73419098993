"""TEST CODE: what a chart needs of its type."""

from datetime import date

import frappe
from frappe.model.document import Document
from frappe.utils import cint


class DashboardChart(Document):
    def validate(self):
        if cint(self.is_standard) and not frappe.conf.developer_mode:
            frappe.throw("Cannot edit Standard charts")
        if self.chart_type not in ("Custom", "Report"):
            self.check_required_fields()

    def check_required_fields(self):
        if not self.document_type:
            frappe.throw("Document type is required to create a dashboard chart")
        meta = frappe.get_meta(self.document_type)
        if meta.istable and not self.parent_document_type:
            frappe.throw("Parent document type is required to create a dashboard chart")
        if self.chart_type == "Group By":
            if not self.group_by_based_on:
                frappe.throw("Group By field is required to create a dashboard chart")
        elif not self.based_on:
            frappe.throw("Time series based on is required to create a dashboard chart")
        if meta.issingle:
            frappe.throw("You cannot create a dashboard chart from single DocTypes")


@frappe.whitelist()
def get(chart_name, filters=None, refresh=None):
    """The figures of a chart that counts documents by month in the last year; not here: other charts, and filters."""
    chart = frappe.get_doc("Dashboard Chart", chart_name)
    if (chart.chart_type, chart.timespan, chart.time_interval) != ("Count", "Last Year", "Monthly"):
        raise NotImplementedError(chart_name)
    this_month = date.today().year * 12 + date.today().month - 1
    months = range(this_month - 12, this_month + 1)
    created = frappe.db.sql(f"SELECT `creation` FROM `tab{chart.document_type}`", pluck=True)
    counted = [moment.year * 12 + moment.month - 1 for moment in created]
    labels = [f"{month % 12 + 1:02}-{month // 12}" for month in months]
    return {"labels": labels, "datasets": [{"name": chart.name, "values": [counted.count(month) for month in months]}]}
