"""TEST CODE: fails, with nothing changed, on a site where two users share an e-mail address."""

from frappe.schema import add_unique


def execute():
    add_unique("tabUser", "email")
