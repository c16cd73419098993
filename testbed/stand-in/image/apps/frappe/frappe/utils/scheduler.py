"""TEST CODE: enqueues the due jobs of every site, once each tick."""

import os
import random
import sys
import time
from datetime import datetime, timedelta

import frappe
from filelock import FileLock, Timeout
from frappe.utils import cint, get_bench_path, get_sites, now

SECONDS = {"all": None, "hourly": 3600, "daily": 86400, "weekly": 604800, "monthly": 2592000}


def start_scheduler():
    """One for each `config` folder: version-15 from 15.55 on, too."""
    if frappe.VERSION >= (15, 55):
        try:
            lock = FileLock(os.path.join(get_bench_path(), "config/scheduler_process"))
            lock.acquire(blocking=False)
        except Timeout:
            return
    while True:
        default = 240 if frappe.VERSION >= (16, 0) else 60
        time.sleep(cint(frappe.get_conf().scheduler_tick_interval) or default)
        enqueue_events_for_all_sites()


def enqueue_events_for_all_sites():
    sites = get_sites()
    random.shuffle(sites)
    for site in sites:
        try:
            frappe.init(site)
            frappe.connect()
            if not is_scheduler_inactive():
                enqueue_events()
        except Exception as error:  # one site's trouble is not the others'
            print(f"Exception in Enqueue Events for Site {site}: {error}", file=sys.stderr, flush=True)
        finally:
            frappe.destroy()


def is_scheduler_inactive():
    if frappe.conf.maintenance_mode or frappe.conf.pause_scheduler or frappe.conf.disable_scheduler:
        return True
    return is_scheduler_disabled()


def is_scheduler_disabled():
    return not cint(frappe.db.get_single_value("System Settings", "enable_scheduler"))


def interval(frequency):
    seconds = SECONDS[frequency.removesuffix("_long")]
    return seconds or cint(frappe.conf.scheduler_interval) or 240


def enqueue_events():
    fields = ["name", "method", "frequency", "last_execution", "creation"]
    for job in frappe.db.select("Scheduled Job Type", fields, {"stopped": 0}):
        since = job.last_execution or job.creation
        if since + timedelta(seconds=interval(job.frequency)) > datetime.utcnow():
            continue
        queue = "long" if job.frequency.endswith("_long") else "default"
        frappe.enqueue(
            "frappe.utils.scheduler.run_scheduled_job", queue=queue, job_type=job.method,
            job_id=f"scheduled_job::{job.method}", deduplicate=True,
        )  # fmt: skip


def run_scheduled_job(job_type):
    frappe.get_attr(job_type)()
    frappe.db.set_value("Scheduled Job Type", job_type, last_execution=now())


def toggle_scheduler(enable):
    frappe.db.set_single_value("System Settings", "enable_scheduler", int(enable))


def enable_scheduler():
    toggle_scheduler(True)


def disable_scheduler():
    toggle_scheduler(False)
