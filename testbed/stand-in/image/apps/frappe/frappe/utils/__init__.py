"""TEST CODE: small helpers of the framework."""

import json
import os
import shutil
import subprocess
from datetime import datetime

import frappe


def get_bench_path():
    return os.environ.get("FRAPPE_BENCH_ROOT") or os.path.realpath(os.path.join(os.path.dirname(frappe.__file__), "../../.."))


def get_bench_id():
    """The prefix of the queues' names: configured, or the bench's path with dashes."""
    return frappe.get_conf().get("bench_id") or get_bench_path().strip("/").replace("/", "-")


def get_sites(sites_path="."):
    """Folders with a site_config.json, but no folders of folders."""
    return sorted(
        name
        for name in os.listdir(sites_path)
        if name != "assets" and os.path.exists(os.path.join(sites_path, name, "site_config.json"))
    )


def now_datetime():
    """In the site's time zone, without one: the framework's default is Asia/Kolkata, 5.5 hours ahead of UTC."""
    from zoneinfo import ZoneInfo

    zone = (frappe.db.get_single_value("System Settings", "time_zone") if frappe.db else None) or "Asia/Kolkata"
    return datetime.now(ZoneInfo(zone)).replace(tzinfo=None)


def now():
    return datetime.utcnow().isoformat(sep=" ")


def get_assets_json():
    """Of `sites/assets/`, kept in redis_cache under one key for all sites until the key is deleted."""

    def read():
        found = {}
        for name in ("assets.json", "assets-rtl.json"):
            with open(os.path.join(frappe.local.sites_path, "assets", name)) as file:
                found.update(json.load(file))
        return found

    return frappe.cache.get_value("assets_json", read, shared=True)


def cint(value):
    try:
        return int(float(value))
    except (TypeError, ValueError):
        return 0


def flt(value):
    try:
        return float(value)
    except (TypeError, ValueError):
        return 0.0


def get_datetime(value):
    return value if isinstance(value, datetime) else datetime.fromisoformat(str(value))


def getdate(value):
    return get_datetime(value).date()


def execute_in_shell(command, input=None):
    """Raises with both outputs when the command fails, after printing them."""
    done = subprocess.run(command, shell=True, executable=shutil.which("bash"), input=input, capture_output=True)
    if done.returncode:
        print(done.stderr.decode(errors="replace"))
        raise frappe.CommandFailedError("Command failed", done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))
    return done.stderr, done.stdout
