"""TEST CODE: hashed passwords and encrypted secrets in the table `__Auth`."""

import base64
import hashlib
import hmac
import os

import frappe

# Few: no test needs a password that is hard to guess.
ROUNDS = 100


def hash_password(pwd, salt=None):
    """In the format of passlib's pbkdf2_sha256, whose import takes longer than the commands that need it."""
    salt = salt or os.urandom(16)
    digest = hashlib.pbkdf2_hmac("sha256", pwd.encode(), salt, ROUNDS)
    texts = [base64.b64encode(data, b"./").decode().rstrip("=") for data in (salt, digest)]
    return "$pbkdf2-sha256$" + "$".join([str(ROUNDS), *texts])


def is_password(pwd, hashed):
    salt = base64.b64decode(hashed.split("$")[3] + "==", b"./")
    return hmac.compare_digest(hash_password(pwd, salt), hashed)


def check_password(user, pwd, doctype="User", fieldname="password", delete_tracker_cache=True):
    """The user's name if the password is right."""
    rows = frappe.db.sql(
        "SELECT `name`, `password` FROM `__Auth` WHERE `doctype` = %s AND `name` = %s AND `fieldname` = %s AND `encrypted` = 0",
        [doctype, user, fieldname],
    )
    if not rows or not is_password(pwd, rows[0][1]):
        raise frappe.AuthenticationError("Incorrect User or Password")
    return rows[0][0]


def update_password(user, pwd, doctype="User", fieldname="password", logout_all_sessions=False):
    _store(doctype, user, fieldname, hash_password(pwd), 0)
    if logout_all_sessions:
        from frappe.sessions import clear_sessions

        clear_sessions(user)


def _store(doctype, name, fieldname, value, encrypted):
    frappe.db.sql("DELETE FROM `__Auth` WHERE `doctype` = %s AND `name` = %s AND `fieldname` = %s", [doctype, name, fieldname])
    frappe.db.sql("INSERT INTO `__Auth` VALUES (%s, %s, %s, %s, %s)", [doctype, name, fieldname, value, encrypted])


def get_encryption_key():
    """Made, and written into the site's configuration, when the first secret is stored."""
    from cryptography.fernet import Fernet
    from frappe.installer import update_site_config

    if not frappe.conf.encryption_key:
        update_site_config("encryption_key", Fernet.generate_key().decode())
    return frappe.conf.encryption_key


def set_encrypted_password(doctype, name, value, fieldname):
    from cryptography.fernet import Fernet

    _store(doctype, name, fieldname, Fernet(get_encryption_key().encode()).encrypt(value.encode()).decode(), 1)


def remove_encrypted_password(doctype, name, fieldname):
    frappe.db.sql("DELETE FROM `__Auth` WHERE `doctype` = %s AND `name` = %s AND `fieldname` = %s", [doctype, name, fieldname])


def delete_all_passwords_for(doctype, name):
    frappe.db.sql("DELETE FROM `__Auth` WHERE `doctype` = %s AND `name` = %s", [doctype, name])


def get_decrypted_password(doctype, name, fieldname, raise_exception=True):
    from cryptography.fernet import Fernet, InvalidToken

    rows = frappe.db.sql(
        "SELECT `password` FROM `__Auth` WHERE `doctype` = %s AND `name` = %s AND `fieldname` = %s AND `encrypted` = 1",
        [doctype, name, fieldname],
    )
    if not rows and not raise_exception:
        return None
    if not rows:
        frappe.throw(f"Password not found for {doctype} {name} {fieldname}", frappe.AuthenticationError)
    try:
        return Fernet(get_encryption_key().encode()).decrypt(rows[0][0].encode()).decode()
    except InvalidToken:
        frappe.throw("Encryption key is invalid! Please check site_config.json")
