"""TEST CODE: the after_install of an app; STANDIN_PAUSE_REGISTERED is how many seconds it takes."""

import os
import time

import frappe

APP = __name__.split(".")[0]


def after_install():
    time.sleep(float(os.environ.get("STANDIN_PAUSE_REGISTERED", "0")))
    frappe.db.set_single_value(APP, "after_install", "done")
