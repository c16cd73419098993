"""TEST CODE."""

import frappe
from frappe.utils.password import set_encrypted_password


@frappe.whitelist()
def generate_keys(user):
    """A new secret for the user's API key; the key itself stays and is not told."""
    secret = frappe.generate_hash(15)
    if not frappe.db.get_value("User", user, "api_key"):
        frappe.db.set_value("User", user, api_key=frappe.generate_hash(15))
    set_encrypted_password("User", user, secret, "api_secret")
    return {"api_secret": secret}
