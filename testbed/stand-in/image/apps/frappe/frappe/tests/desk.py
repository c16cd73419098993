"""TEST CODE: methods of the tests: the desk as a user sees it, without a login."""

import frappe
from frappe.boot import get_bootinfo
from frappe.desk import desktop


@frappe.whitelist()
def boot_of(user):
    frappe.set_user(user)
    return get_bootinfo()


@frappe.whitelist()
def page_of(user, name):
    frappe.set_user(user)
    return desktop.get_desktop_page(frappe.as_json({"name": name}))
