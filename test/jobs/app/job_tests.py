"""TEST CODE: what the tests of the jobs' scripts add to the stand-in: a table for their data, and a record of migrations.

`tabProbe` has rows that tests write and compare. Each migration adds a row to `tabMigration` and a line to `migrations.txt`.
"""

import frappe


def after_install():
    for columns in ("Probe` (name varchar(140) PRIMARY KEY)", "Migration` (maintenance varchar(10), paused varchar(10))"):
        frappe.db.sql(f"CREATE TABLE IF NOT EXISTS `tab{columns}")


def before_migrate():
    with open(f"{frappe.local.site}/migrations.txt", "a") as log:
        log.write(f"{frappe.__version__} {frappe.conf.bench_id}\n")
    settings = [str(frappe.conf.maintenance_mode), str(frappe.conf.pause_scheduler)]
    frappe.db.sql("INSERT INTO `tabMigration` VALUES (%s, %s)", settings)
    frappe.db.commit()
