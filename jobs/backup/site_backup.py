"""Backs up a site to a store, verifies the stored files, and applies the retention.

Runs as a Job. It may be killed at any point and repeated.

Environment
  SITE_NAME, SITE_OWNER (`<namespace>/<name>` of the AppSite), IMAGE
  BACKUP_OWNER            `<namespace>/<name>` of the SiteBackup
  WITH_FILES, COMPRESS    1 or 0
  INCLUDE, EXCLUDE        JSON arrays of document types; at most one of them is not empty
  KEEP_LAST, KEEP_DAYS    retention; both empty: all backups are kept
  TIMEOUT_SECONDS         after this time no process writes to a backup any more (21600)
  WAIT_SECONDS            for another backup, an upgrade or a restore of the site to end (900)
  JOB_NAME                folders of earlier attempts of the same Job are removed
  BENCH_DIR, TERMINATION_LOG, and the store's, see backup_store.py

The framework writes the files to scratch space. The Job stores them, reads them back, and writes
the manifest last (see stored_backup.py). The termination message is JSON: `location`; `count`, the
number of backups; `leftOut`, names of what the newest backup does not hold, or what another site
cannot take over; `versions`, pairs [frameworkVersion, {app: version}]; `backups`, newest first and
as many as fit, rows of [name, completion (in the form of a name), size in bytes, 1 if complete,
index in `versions`]; `notRemoved`, why backups that should be removed are still there. A store that
forbids to remove, as one with locked objects does, makes no backup fail.
"""

import gzip
import json
import os
import re
import secrets
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import stored_backup
from atomic_files import read_json
from backup_retention import Removals, Retention, apply_retention
from backup_store import open_store
from framework_programs import (
    LOST_CONNECTION,
    ProgramFailed,
    framework_env,
    run_program,
    script_command,
)
from image_apps import apps_of_image
from job_environment import SiteLocation, json_array_env, number_env, text_env
from job_result import (
    JobError,
    log,
    report_success,
    run_job,
    set_termination_message,
    write_termination_message,
)
from operator_constants import TERMINATION_MESSAGE_BYTES
from secret_redaction import file_secrets, redact
from site_access import closed_reason
from site_locks import backup_lock
from site_records import CONFIG_FILE, check_framework_files, read_marker, read_site_config
from site_state import check_owner
from store_base import Store
from stored_backup import CONFIG, DATABASE, MANIFEST, STARTED, Manifest
from utc_time import rfc3339, utc_now
from volume_files import copy_file, is_file, open_to_read, read_json_value, remove_file

STEP = Path(__file__).with_name("site_backup_step.py")
MAX_LISTED = 50
# Of the names of what is left out, so many are reported, and so many characters of each.
MAX_LEFT_OUT = 20
MAX_NAME = 100
# More than the last line of a dump.
DUMP_TAIL_BYTES = 4 << 10
DUMP_ENDS = (b"-- Dump completed", b"-- PostgreSQL database dump complete")
# The last line of site_backup_step.py when it fails with a reason.
STEP_FAILURE = re.compile(r"^ {0,2}app-operator: (\w+): (.*)$", re.MULTILINE)


class BackupSettings(SiteLocation):
    def __init__(self) -> None:
        super().__init__()
        self.owner = text_env("SITE_OWNER")
        self.backup_owner = text_env("BACKUP_OWNER")
        self.with_files = os.environ.get("WITH_FILES") != "0"
        self.compress = os.environ.get("COMPRESS") != "0"
        self.include = json_array_env("INCLUDE")
        self.exclude = json_array_env("EXCLUDE")
        self.retention = Retention(
            self.owner,
            self.backup_owner,
            keep_last=number_env("KEEP_LAST", 0, "backups"),
            keep_days=number_env("KEEP_DAYS", 0, "days"),
        )
        self.timeout = number_env("TIMEOUT_SECONDS", 21_600)
        self.wait_seconds = number_env("WAIT_SECONDS", 900)
        self.job = os.environ.get("JOB_NAME", "")


# --- the site -----------------------------------------------------------------------------------


def other_activity(settings: BackupSettings) -> str | None:
    """How another Job changes the site's data; None while the site is open."""
    marker = read_marker(settings.site)
    for key, activity in (("upgrade", "upgraded"), ("restore", "restored")):
        if marker.get(key):
            return activity
    return None if marker.get("state", "complete") == "complete" else "created"


def wait_until_open(settings: BackupSettings) -> None:
    deadline = time.monotonic() + settings.wait_seconds
    while activity := other_activity(settings):
        message = f"{settings.site_name} is being {activity}"
        if time.monotonic() >= deadline:
            raise JobError("SiteBusy", f"{message}: it is not backed up meanwhile")
        log(f"waiting: {message}")
        time.sleep(min(5, settings.wait_seconds))


def check_image(settings: BackupSettings) -> None:
    """The manifest names this Job's image, so the site's data must be of that image."""
    if why := closed_reason(read_marker(settings.site), os.environ.get("IMAGE", "")):
        raise JobError("SiteBusy", f"{settings.site_name} {why}: this Job does not back it up")


def code_and_closings(settings: BackupSettings) -> tuple[object, object]:
    """Differs when the site was closed meanwhile, also if a restore brought back the same code."""
    marker = read_marker(settings.site)
    return marker.get("code"), marker.get("closings")


def create_files(settings: BackupSettings, directory: Path) -> dict[str, Any]:
    """The framework writes the backup's files to a directory. Returns the result of its step."""
    archive = "tgz" if settings.compress else "tar"
    request = {
        "database": str(directory / DATABASE),
        "config": str(directory / CONFIG),
        "files": str(directory / f"files.{archive}"),
        "privateFiles": str(directory / f"private-files.{archive}"),
        "withFiles": settings.with_files,
        "compress": settings.compress,
        "include": settings.include,
        "exclude": settings.exclude,
    }
    result_file = directory / "result"
    env = framework_env({"BACKUP_REQUEST": json.dumps(request), "STEP_RESULT": str(result_file)})
    check_framework_files(settings.site)
    try:
        run_program(settings.sites, "BackupFailed", script_command(STEP), env)
    except ProgramFailed as error:
        raise step_error(error) from None
    result: dict[str, Any] = read_json_value(result_file)
    remove_file(result_file)
    # The framework's copy has further keys, which it writes while it backs up.
    remove_file(directory / CONFIG)
    copy_file(settings.site / CONFIG_FILE, directory / CONFIG)
    return result


def step_error(error: ProgramFailed) -> JobError:
    output = "\n".join(error.output)
    if "No space left on device" in output:
        return JobError(
            "ScratchFull", f"no space for the backup's files before they are stored: {error}"
        )
    if failure := STEP_FAILURE.search(output):
        return JobError(failure[1], failure[2])
    lost = LOST_CONNECTION.search(output)
    return JobError("DatabaseUnreachable" if lost else "BackupFailed", error)


def starts_encrypted(path: Path) -> bool:
    with open_to_read(path) as file:
        return stored_backup.is_encrypted(file.read(64))


def check_dump(path: Path) -> None:
    """A dump without its last line is incomplete."""
    tail = b""
    try:
        with open_to_read(path) as raw, gzip.open(raw, "rb") as file:
            while data := file.read(1 << 20):
                tail = (tail + data)[-DUMP_TAIL_BYTES:]
    except (OSError, EOFError) as error:
        raise JobError("BackupFailed", f"the database's dump is damaged: {error}") from None
    if not any(end in tail for end in DUMP_ENDS):
        raise JobError("BackupFailed", "the database's dump has no end")


# --- the store ----------------------------------------------------------------------------------


def remove_unfinished(settings: BackupSettings, store: Store, removals: Removals) -> None:
    """Removes this SiteBackup's unfinished folders that no process writes to any more."""
    now = datetime.now(timezone.utc)
    oldest = stored_backup.name_of(now - timedelta(seconds=settings.timeout))
    for name in stored_backup.backup_names(store):
        with removals.tolerating(name):
            started = unfinished(settings, store, name)
            is_dead = name < oldest or (settings.job and started.get("job") == settings.job)
            if started and is_dead:
                removals.remove(name, "it was never finished")


def unfinished(settings: BackupSettings, store: Store, name: str) -> dict[str, Any]:
    """The record of an unfinished folder of this SiteBackup; empty for other folders."""
    files = store.files(name)
    if MANIFEST in files or STARTED not in files:
        return {}
    started = stored_backup.read_object(store, f"{name}/{STARTED}") or {}
    is_own = (started.get("owner"), started.get("site")) == (settings.backup_owner, settings.owner)
    return started if is_own else {}


def begin_backup(settings: BackupSettings, store: Store) -> tuple[str, datetime, dict[str, Any]]:
    """Creates a folder that belongs to this backup alone.

    Returns its name, its start, and the record of its owner.
    """
    draft = stored_backup.draft_of(settings.backup_owner, settings.owner)
    while True:
        began, start = time.monotonic(), datetime.now(timezone.utc).replace(microsecond=0)
        name = stored_backup.name_of(start)
        started = {
            "owner": settings.backup_owner,
            "site": settings.owner,
            "job": settings.job,
            "token": secrets.token_hex(8),
        }
        if store.create_folder(name, STARTED, json.dumps(started).encode(), draft):
            # A slow writer may have overwritten the record of a backup that already runs.
            late = time.monotonic() - began > store.SETTLE_SECONDS > 0
            time.sleep(store.SETTLE_SECONDS)
            found = stored_backup.read_object(store, f"{name}/{STARTED}")
            if found is None:
                raise JobError(
                    "StoreCorrupt", f"{store.location(name)}/{STARTED} is not what was written"
                )
            if found == started and not late:
                return name, start, started
            log(f"{store.location(name)} belongs to another backup")
        time.sleep(1)


def back_up(settings: BackupSettings, store: Store) -> Manifest:
    """Creates one backup, from its first file to its manifest. Returns the manifest."""
    state = code_and_closings(settings)
    check_image(settings)
    name, start, started = begin_backup(settings, store)
    log(f"backing up {settings.site_name} to {store.location(name)}")
    try:
        # Processes of the framework may still write to it when this Job is terminated.
        with tempfile.TemporaryDirectory(prefix="backup-", ignore_cleanup_errors=True) as scratch:
            result = create_files(settings, Path(scratch))
            encrypted = [
                path.name for path in sorted(Path(scratch).iterdir()) if starts_encrypted(path)
            ]
            if DATABASE not in encrypted:
                check_dump(Path(scratch) / DATABASE)
            result["encrypted"] = bool(encrypted)
            result["leftOut"] += [f"{name}: encrypted by the framework" for name in encrypted]
            for what in result["leftOut"]:
                log(f"the backup: left out: {what}")
            files = [store_file(store, name, path) for path in sorted(Path(scratch).iterdir())]
            has_key = bool(read_json(Path(scratch) / CONFIG).get("encryption_key"))
        # Otherwise the dump may be from before a migration, and the files from after it.
        if other_activity(settings) or code_and_closings(settings) != state:
            raise JobError(
                "SiteBusy", f"{settings.site_name} was changed by another Job during its backup"
            )
        manifest = {
            "name": name,
            **manifest_of_site(settings, start, result),
            "complete": settings.with_files and has_key and not result["partial"],
            "files": files,
        }
        if not is_own_folder(store, name, started):
            raise JobError("StoreCorrupt", f"{store.location(name)} was taken by another backup")
        stored_backup.write_object(store, f"{name}/{MANIFEST}", manifest)
        if stored_backup.manifest_of(store, name) is None:
            raise JobError("StoreCorrupt", f"{store.location(name)}: files disappeared")
        return manifest
    except BaseException:
        remove_failed(store, name, started)
        raise


def manifest_of_site(
    settings: BackupSettings, start: datetime, result: dict[str, Any]
) -> dict[str, Any]:
    versions = apps_of_image(settings.bench)
    namespace, _, site = settings.owner.partition("/")
    return {
        "version": 1,
        "owner": settings.backup_owner,
        "namespace": namespace,
        "site": site,
        "siteName": settings.site_name,
        "startTime": rfc3339(start),
        "completionTime": utc_now(),
        "frameworkVersion": versions.get("frappe", "unknown"),
        "image": os.environ.get("IMAGE", ""),
        "dbType": result["dbType"],
        "apps": [{"name": app, "version": versions.get(app, "unknown")} for app in result["apps"]],
        "partial": result["partial"],
        "encrypted": result["encrypted"],
        **({"leftOut": result["leftOut"]} if result["leftOut"] else {}),
    }


def remove_failed(store: Store, name: str, started: dict[str, Any]) -> None:
    try:
        if is_own_folder(store, name, started):
            stored_backup.delete_backup(store, name)
    except JobError as error:
        log(f"{store.location(name)} is not removed, and has no manifest: {error}")


def is_own_folder(store: Store, name: str, started: dict[str, Any]) -> bool:
    """Whether a folder still has the record of this backup."""
    return stored_backup.read_object(store, f"{name}/{STARTED}") == started


def store_file(store: Store, name: str, path: Path) -> dict[str, Any]:
    with open_to_read(path) as file:
        size = os.fstat(file.fileno()).st_size
        log(f"storing {path.name}, {size} bytes")
        size, digest = store.write(f"{name}/{path.name}", file, size)
    return {"name": path.name, "size": size, "sha256": digest}


# --- the result ---------------------------------------------------------------------------------


def termination_message(manifests: Sequence[Manifest], location: str, not_removed: str = "") -> str:
    """The stored backups, as many of the newest as fit into a termination message."""
    versions: list[list[Any]] = []
    rows: list[list[Any]] = []
    left_out = shortened(manifests[0].get("leftOut", [])) if manifests else []
    for manifest in manifests[:MAX_LISTED]:
        version = [
            manifest["frameworkVersion"],
            {app["name"]: app["version"] for app in manifest["apps"]},
        ]
        if version not in versions:
            versions.append(version)
        rows.append(
            [
                manifest["name"],
                re.sub("[-:]", "", manifest["completionTime"]),
                stored_backup.size_of(manifest),
                int(manifest["complete"]),
                versions.index(version),
            ]
        )
    while True:
        used = versions[: 1 + max((row[-1] for row in rows), default=-1)]
        report = {"location": location, "count": len(manifests), "versions": used, "backups": rows}
        if left_out:
            report["leftOut"] = left_out
        if not_removed:
            report["notRemoved"] = not_removed
        text = json.dumps(report, separators=(",", ":"))
        if len(text.encode()) <= TERMINATION_MESSAGE_BYTES or not rows:
            return text
        rows.pop()


def shortened(names: Sequence[str]) -> list[str]:
    shown = [name[:MAX_NAME] for name in names[:MAX_LEFT_OUT]]
    rest = len(names) - len(shown)
    return [*shown, *([f"{rest} more"] if rest else [])]


def main() -> tuple[dict[str, Any], str]:
    """The outcome for the log, and the termination message."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    set_termination_message(
        "BackupInterrupted",
        "the backup was killed, for example by spec.timeout, its memory limit or a node's failure",
    )
    settings = BackupSettings()
    if not is_file(settings.site / CONFIG_FILE):
        raise JobError("SiteMissing", f"{settings.site} has no site_config.json")
    if check_owner(settings.site, settings.owner) is None:
        raise JobError(
            "SiteNotOwned",
            f"{settings.site} records no owner: the operator has not created it",
        )
    config = read_site_config(settings.site)
    # So that the output of programs is redacted.
    file_secrets.update(config.get(key) or "" for key in ("db_password", "encryption_key"))
    store = open_store()
    removals = Removals(store)
    with backup_lock(settings.workspace, settings.site_name, settings.wait_seconds):
        wait_until_open(settings)
        remove_unfinished(settings, store, removals)
        manifest = back_up(settings, store)
        kept = apply_retention(settings.retention, store, manifest, removals)
        message = termination_message(kept, store.location(), redact(removals.report))
    outcome = {
        "backup": manifest["name"],
        "size": stored_backup.size_of(manifest),
        "complete": manifest["complete"],
    }
    return outcome, message


def report_backups(result: tuple[dict[str, Any], str]) -> None:
    outcome, message = result
    report_success(outcome)
    write_termination_message(message.encode())


if __name__ == "__main__":
    run_job(main, report_backups)
