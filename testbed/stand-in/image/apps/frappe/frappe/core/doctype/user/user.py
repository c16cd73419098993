"""TEST CODE: what happens to a user when it is saved: in version-16 less than in version-15."""

import re
from datetime import datetime, timedelta

import frappe
from frappe.model.document import Document
from frappe.utils import cint
from frappe.utils.password import set_encrypted_password

EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")


@frappe.whitelist()
def generate_keys(user):
    """A new secret for the user's API key; the key itself stays and is not returned."""
    secret = frappe.generate_hash(15)
    if not frappe.db.get_value("User", user, "api_key"):
        frappe.db.set_value("User", user, api_key=frappe.generate_hash(15))
    set_encrypted_password("User", user, secret, "api_secret")
    return {"api_secret": secret}


def ask_pass_update():
    """Finds the users that must enter the password of an e-mail account; clears the whole cache of the site."""
    frappe.db.set_default("email_user_password", "")
    frappe.clear_cache()


class User(Document):
    def autoname(self):
        self.email = self.email.strip().lower()
        self.name = self.email

    def before_insert(self):
        recent = frappe.db.sql("SELECT COUNT(*) FROM `tabUser` WHERE `creation` > %s", [an_hour_ago()])[0][0]
        if recent > (frappe.conf.throttle_user_limit or 60):
            frappe.throw("Throttled")

    def validate(self):
        if self.name not in frappe.STANDARD_USERS:
            self.email = self.name
            if not EMAIL.fullmatch(self.name):
                frappe.throw(f"{self.name} is not a valid Email Address", frappe.InvalidEmailAddressError)
        if frappe.VERSION < (16, 0):
            self.add_system_manager_role()
        self.set_profile_roles()
        if self.module_profile:
            blocked = frappe.get_doc("Module Profile", self.module_profile).block_modules
            self.set("block_modules", [{"module": row.module} for row in blocked])
        self.user_type = "System User" if self.has_desk_access() else "Website User"
        self.full_name = " ".join(filter(None, [self.first_name, self.last_name]))
        if not cint(self.enabled):
            self.check_disabled()
        self.roles = [row for row in self.unique_roles() if not cint(frappe.db.get_value("Role", row.role, "disabled"))]
        self.set_username()
        if frappe.VERSION < (16, 0):
            ask_pass_update()
        self.time_zone = self.time_zone or "Asia/Kolkata"

    def check_disabled(self):
        if self.name in frappe.STANDARD_USERS:
            frappe.throw(f"User {self.name} cannot be disabled")
        if frappe.VERSION < (16, 0):
            self.a_system_manager_should_exist()

    def set_profile_roles(self):
        if frappe.VERSION >= (16, 0):
            if self.role_profile_name and self.role_profile_name not in [row.role_profile for row in self.role_profiles]:
                self.append("role_profiles", {"role_profile": self.role_profile_name})
            self.role_profile_name = None
            profiles = [row.role_profile for row in self.role_profiles]
        else:
            profiles = [self.role_profile_name] if self.role_profile_name else []
        if profiles:
            wanted = {row.role for profile in profiles for row in frappe.get_doc("Role Profile", profile).roles}
            self.roles = [row for row in self.roles if row.role in wanted]
            for role in sorted(wanted - {row.role for row in self.roles}):
                self.append("roles", {"role": role})

    def unique_roles(self):
        return list({row.role: row for row in reversed(self.roles)}.values())[::-1]

    def has_desk_access(self):
        return any(cint(frappe.db.get_value("Role", row.role, "desk_access")) for row in self.roles)

    def set_username(self):
        """Another one's name is not taken, without an error."""
        if not self.username and self.is_new():
            self.username = frappe.scrub(self.first_name or "")
        if self.username and frappe.db.sql("SELECT 1 FROM `tabUser` WHERE `username` = %s AND `name` != %s", [self.username, self.name]):
            if self.user_type == "System User":
                frappe.msgprint(f"Username {self.username} already exists")
            self.username = ""

    def other_system_managers(self):
        return frappe.db.sql(
            "SELECT u.`name` FROM `tabUser` u JOIN `tabHas Role` r ON r.`parent` = u.`name` "
            "WHERE r.`role` = 'System Manager' AND u.`enabled` = 1 AND u.`name` NOT IN ('Administrator', %s)",
            [self.name],
        )

    def on_update(self):
        frappe.cache.hdel_value("user", self.name)

    def on_trash(self):
        if self.name in frappe.STANDARD_USERS:
            frappe.throw(f"User {self.name} cannot be deleted")
        if frappe.VERSION < (16, 0):
            self.a_system_manager_should_exist()


class Version15User(User):
    def add_system_manager_role(self):
        complete = cint(frappe.db.get_single_value("System Settings", "setup_complete"))
        if not cint(self.enabled) or self.user_type != "System User" or not complete or self.other_system_managers():
            return
        if "System Manager" not in [row.role for row in self.roles]:
            self.append("roles", {"role": "System Manager"})

    def a_system_manager_should_exist(self):
        if not self.other_system_managers():
            frappe.throw("There should remain at least one System Manager")


if frappe.VERSION < (16, 0):
    User = Version15User


def an_hour_ago():
    return datetime.utcnow() - timedelta(hours=1)
