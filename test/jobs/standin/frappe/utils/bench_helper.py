"""TEST CODE: `python -m frappe.utils.bench_helper frappe --site SITE install-app|migrate`.

An app's patches.txt with `half` changes tables and then fails, one with `fail` fails at once.
"""

import os
import sys
from pathlib import Path

import frappe


def migrate():
    with open(f"{frappe.local.site}/migrations.txt", "a") as log:  # where a job would be enqueued to meanwhile
        log.write(f"{frappe.__version__} {frappe.conf.bench_id}\n")
    for app in frappe.get_installed_apps():
        if "half" in Path(f"../apps/{app}/{app}/patches.txt").read_text():
            frappe.db.sql("CREATE TABLE IF NOT EXISTS `tabHalf` (name varchar(140) PRIMARY KEY)")
            frappe.db.sql("DELETE FROM `tabModule Def`")
            frappe.db.sql("DROP TABLE `__Auth`")
            frappe.db.commit()
            if os.environ.get("STANDIN_KILL"):
                os.kill(os.getppid(), 9)
            raise RuntimeError(f"patch of {app} failed half way")
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
