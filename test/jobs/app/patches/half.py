"""TEST CODE: a patch that changes tables and then fails; with STANDIN_KILL it kills the Job's process first."""

import os

import frappe


def execute():
    frappe.db.sql("CREATE TABLE IF NOT EXISTS `tabHalf` (name varchar(140) PRIMARY KEY)")
    frappe.db.sql("DELETE FROM `tabProbe`")
    frappe.db.sql("DROP TABLE `__Auth`")
    frappe.db.commit()
    if os.environ.get("STANDIN_KILL"):
        os.kill(os.getppid(), 9)
    raise RuntimeError("patch of frappe failed half way")
