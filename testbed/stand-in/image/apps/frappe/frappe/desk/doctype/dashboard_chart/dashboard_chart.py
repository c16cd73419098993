"""TEST CODE: what a chart needs of its type."""

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
