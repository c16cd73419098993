"""TEST CODE: commands about jobs, the scheduler and maintenance."""

import json
import sys

import click
import frappe
from frappe.commands import each_site, get_site, pass_context

SITE = click.option("--site")


@click.command("enable-scheduler")
@pass_context
def enable_scheduler(context):
    "Enable scheduler"
    toggle(context, True)


@click.command("disable-scheduler")
@pass_context
def disable_scheduler(context):
    "Disable scheduler"
    toggle(context, False)


def toggle(context, enable):
    from frappe.utils.scheduler import toggle_scheduler

    for site in each_site(context):
        toggle_scheduler(enable)
        frappe.db.commit()
        print("Enabled for" if enable else "Disabled for", site)


@click.command("scheduler")
@SITE
@click.argument("state", type=click.Choice(["pause", "resume", "disable", "enable", "status"]))
@click.option("--format", "-f", "output", default="text", type=click.Choice(["json", "text"]))
@pass_context
def scheduler(context, site, state, output):
    "Control scheduler state."
    from frappe.installer import update_site_config
    from frappe.utils.scheduler import is_scheduler_inactive, toggle_scheduler

    site = site or get_site(context)
    frappe.init(site)
    status = f"{state}d"
    if state in ("pause", "resume"):
        update_site_config("pause_scheduler", state == "pause")
    else:
        frappe.connect()
        if state == "status":
            status = "disabled" if is_scheduler_inactive() else "enabled"
        else:
            toggle_scheduler(state == "enable")
            frappe.db.commit()
    print(json.dumps({"status": status, "site": site}) if output == "json" else f"Scheduler is {status} for site {site}")


@click.command("set-maintenance-mode")
@SITE
@click.argument("state", type=click.Choice(["on", "off"]))
@pass_context
def set_maintenance_mode(context, site, state):
    "Put the site in maintenance mode for upgrades."
    from frappe.installer import update_site_config

    frappe.init(site or get_site(context))
    update_site_config("maintenance_mode", 1 if state == "on" else 0)


@click.command("ready-for-migration")
@SITE
@pass_context
def ready_for_migration(context, site):
    "Whether no job of the site waits or runs"
    from frappe.utils.background_jobs import pending_jobs

    site = site or get_site(context)
    frappe.init(site)
    if pending_jobs(site):
        print(f"NOT READY for migration: site {site} has pending background jobs")
        sys.exit(1)
    print(f"READY for migration: site {site} does not have any background jobs")


@click.command("purge-jobs")
@SITE
@click.option("--queue")
@click.option("--event")
def purge_jobs(site, queue, event):
    "Purge waiting jobs"
    from frappe.utils.background_jobs import get_queue, get_queue_list

    frappe.init(site or "", new_site=True)
    purged = 0
    for name in get_queue_list([queue] if queue else None):
        for job in get_queue(name).jobs:
            if not site or job.kwargs.get("site") == site:
                job.delete()
                purged += 1
    print(f"Purged {purged} jobs")


@click.command("doctor")
@SITE
@pass_context
def doctor(context, site):
    "Workers, and waiting jobs of each queue"
    from frappe.utils.background_jobs import get_queue, get_queue_list, get_redis_conn
    from rq import Worker

    frappe.init(site or (context.sites or [""])[0], new_site=True)
    print("Workers online:", len(Worker.all(connection=get_redis_conn())))
    for name in get_queue_list():
        print(f"Queue {name}: {get_queue(name).count} jobs")


@click.command("schedule")
def schedule():
    "Start scheduler process which is responsible for enqueueing the scheduled job types."
    from frappe.utils.scheduler import start_scheduler

    start_scheduler()


@click.command("worker")
@click.option("--queue")
@click.option("--quiet", is_flag=True)
@click.option("-u", "--rq-username")
@click.option("-p", "--rq-password")
@click.option("--burst", is_flag=True)
@click.option("--strategy", type=click.Choice(["round_robin", "random"]))
def worker(**options):
    "Start a background worker"
    from frappe.utils.background_jobs import start_worker

    start_worker(**options)


commands = [
    enable_scheduler, disable_scheduler, scheduler, set_maintenance_mode, ready_for_migration, purge_jobs, doctor, schedule,
    worker,
]  # fmt: skip
