"""TEST CODE: passwords as salted hashes in `__Auth`."""

import hashlib

import frappe


def hashed(password):
    return hashlib.sha256(b"salt" + password.encode()).hexdigest()


def check_password(user, pwd, delete_tracker_cache=True):
    rows = frappe.db.sql("SELECT password FROM `__Auth` WHERE name = %s", user)
    if not rows or rows[0][0] != hashed(pwd):
        raise frappe.AuthenticationError("Incorrect User or Password")


def update_password(user, pwd, logout_all_sessions=False):
    frappe.db.sql("DELETE FROM `__Auth` WHERE name = %s", user)
    frappe.db.sql("INSERT INTO `__Auth` (name, password) VALUES (%s, %s)", user, hashed(pwd))
