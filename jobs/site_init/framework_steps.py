"""The steps that need the framework in this process: `framework_steps.py STEP`.

site_init.py starts it in `sites/`. A step is a process, because the framework keeps global state
and may end the interpreter. Secrets come from the environment and reach the framework's functions
as values, so no secret is an argument of a process. The result is a JSON document in the file
STEP_RESULT.
"""

import json
import os
import sys
from collections.abc import Callable
from typing import Any

from database_tls import encrypt_framework
from image_apps import app_name
from new_site import capabilities, create


def connect() -> Any:
    """The framework, connected to the site."""
    import frappe

    encrypt_framework()
    frappe.init(os.environ["SITE_NAME"], sites_path=".")
    frappe.connect()
    return frappe


def read_site() -> dict[str, Any]:
    """The installed apps, and whether the scheduler is enabled.

    As `execute frappe.get_installed_apps`: `list-apps -f json` is empty on a fresh site.
    """
    frappe = connect()
    return {"apps": list(frappe.get_installed_apps()), "scheduler": has_scheduler(frappe)}


def has_scheduler(frappe: Any) -> bool:
    return bool(int(frappe.db.get_single_value("System Settings", "enable_scheduler") or 0))


def apps_in_order() -> list[str]:
    """The wanted apps, each after the apps that it requires.

    The framework would install required apps too, but not again with --force.
    """
    frappe = connect()
    order: list[str] = []

    def add(app: str) -> None:
        for required in frappe.get_hooks("required_apps", app_name=app):
            add(app_name(required))
        if app not in order:
            order.append(app)

    for app in json.loads(os.environ["SITE_APPS"]):
        add(app)
    return order


def admin_password() -> bool:
    """Sets the Administrator's password, the input, if it differs. Returns whether it did."""
    password = sys.stdin.read()
    frappe = connect()
    from frappe.utils.password import check_password, update_password

    try:
        check_password("Administrator", password, delete_tracker_cache=False)
        return False
    except frappe.AuthenticationError:
        update_password(user="Administrator", pwd=password, logout_all_sessions=True)
        frappe.db.commit()
        return True


def enable_scheduler() -> None:
    frappe = connect()
    from frappe.utils.scheduler import toggle_scheduler

    toggle_scheduler(True)
    frappe.db.commit()


STEPS: dict[str, Callable[[], object]] = {
    "capabilities": capabilities,
    "create": create,
    "read-site": read_site,
    "apps-in-order": apps_in_order,
    "admin-password": admin_password,
    "enable-scheduler": enable_scheduler,
}

if __name__ == "__main__":
    result = STEPS[sys.argv[1]]()
    with open(os.environ["STEP_RESULT"], "w") as file:
        json.dump(result, file)
