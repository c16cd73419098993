"""TEST CODE: `python -m frappe.utils.bench_helper frappe --site SITE install-app|migrate`."""

import sys
from pathlib import Path

import frappe


def migrate():
    for app in frappe.get_installed_apps():
        if "fail" in Path(f"../apps/{app}/{app}/patches.txt").read_text():
            raise RuntimeError(f"patch of {app} failed")
    frappe.db.sql(
        "INSERT INTO `tabMigration` VALUES (%s, %s)",
        str(frappe.conf.maintenance_mode), str(frappe.conf.pause_scheduler),
    )  # fmt: skip
    frappe.db.commit()


if __name__ == "__main__":
    _, _, site, command, *arguments = sys.argv[1:]
    frappe.init(site)
    frappe.connect()
    if command == "migrate":
        migrate()
    else:
        from frappe.installer import install_app

        for app in arguments:
            if app != "--force":
                install_app(app, force="--force" in arguments)
