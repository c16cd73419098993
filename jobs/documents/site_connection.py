"""The framework in this process, connected to a site whose documents a Job writes."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from database_tls import encrypt_framework
from job_result import JobError, log

# The framework has no types.
Frappe = Any


@contextmanager
def connected(site: str, wait_seconds: float) -> Iterator[Frappe]:
    """The framework, connected to this site. Sends no mail, and writes no file of an app."""
    import frappe

    encrypt_framework()
    frappe.init(site, sites_path=".")
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            frappe.connect()
            frappe.db.sql("select 1")
            break
        except Exception as error:  # the drivers share no class of errors
            if time.monotonic() >= deadline:
                message = f"{type(error).__name__}: {error}"
                raise JobError("DatabaseUnreachable", message) from None
            log(f"waiting for the database: {type(error).__name__}: {error}")
            time.sleep(2)
    try:
        if "frappe" not in frappe.get_installed_apps():
            raise JobError("SiteIncomplete", f"the framework is not installed on {site}")
        frappe.flags.mute_emails = True
        # In this process only: no limit of users, and no files in the folders of apps.
        frappe.local.conf.update(throttle_user_limit=10**9, developer_mode=0)
        disable_version_15_rules()
        yield frappe
    finally:
        frappe.destroy()


def disable_version_15_rules() -> None:
    """Disables rules of version-15 for saving a user, which version-16 does not have.

    While a site has no System Manager except Administrator, version-15 makes every user one, and
    refuses to disable or delete a user. It also clears the site's whole cache, because users of
    e-mail accounts may have changed.
    """
    from frappe.core.doctype.user import user
    from frappe.model.base_document import get_controller

    controller = get_controller("User")
    for rule in ("add_system_manager_role", "a_system_manager_should_exist"):
        if hasattr(controller, rule):
            setattr(controller, rule, lambda _: None)
    user.ask_pass_update = lambda: None
