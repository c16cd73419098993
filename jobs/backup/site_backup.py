"""Backs up a site to a store, checks what was stored, and removes what retention does not keep. Runs as a Job; safe to kill and to repeat.

Environment
  SITE_NAME, SITE_OWNER (`<namespace>/<name>` of the AppSite), BACKUP_OWNER (`<namespace>/<name>` of the SiteBackup), IMAGE
  WITH_FILES, COMPRESS    1 or 0
  INCLUDE, EXCLUDE        JSON arrays of document types, one of them at most
  KEEP_LAST, KEEP_DAYS    retention; both empty: all are kept
  TIMEOUT_SECONDS         after which nobody writes to a backup that was begun (21600)
  WAIT_SECONDS            for another backup of the site, and for an upgrade or a restore, to end (900)
  JOB_NAME                a folder begun by an earlier attempt of the same Job is nobody's any more
  BENCH_DIR, TERMINATION_LOG, and the store's, see backup_store.py

The files are made on scratch space by the framework, stored, and read back; the manifest comes last (see stored_backup.py). The last
words are JSON: `location`; `count`, the number of backups; `versions`, pairs [frameworkVersion, {app: version}]; `backups`, newest
first and as many as fit, rows of [name, completion (as a name), size in bytes, 1 where complete, index in `versions`].
"""

import gzip
import json
import os
import re
import secrets
import shutil
import signal
import sys
import tempfile
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

import stored_backup
from backup_store import open_store
from site_backup_lock import only_backup
from site_common import MARKER, SITE_NAME, TERMINATION_LOG, Refused, check_owner, foretell, json_env, read_json, run_job, say, seconds_env, text_env
from site_gate import obstacle
from site_init import LOST_CONNECTION, ProgramFailed, apps_of_image, run
from stored_backup import CONFIG, DATABASE, MANIFEST, STARTED

STEP = Path(__file__).with_name("site_backup_step.py")
MAX_MESSAGE_BYTES = 4096
MAX_LISTED = 50
DUMP_ENDS = (b"-- Dump completed", b"-- PostgreSQL database dump complete")


class BackupSettings:
    def __init__(self):
        self.bench = Path(os.environ.get("BENCH_DIR") or "/home/frappe/frappe-bench")
        self.sites = self.bench / "sites"
        self.site_name = text_env("SITE_NAME")
        if not SITE_NAME.match(self.site_name) or self.site_name in ("assets", "archived_sites"):
            raise Refused("InvalidInput", f"SITE_NAME {self.site_name!r} is not a host name")
        self.site = self.sites / self.site_name
        self.workspace = self.sites / ".app-operator"
        self.owner = text_env("SITE_OWNER")
        self.backup_owner = text_env("BACKUP_OWNER")
        self.with_files = os.environ.get("WITH_FILES") != "0"
        self.compress = os.environ.get("COMPRESS") != "0"
        self.include = json_env("INCLUDE", [], list)
        self.exclude = json_env("EXCLUDE", [], list)
        self.keep_last = seconds_env("KEEP_LAST", 0)
        self.keep_days = seconds_env("KEEP_DAYS", 0)
        self.timeout = seconds_env("TIMEOUT_SECONDS", 21_600)
        self.wait_seconds = seconds_env("WAIT_SECONDS", 900)
        self.job = os.environ.get("JOB_NAME", "")


# --- the site -------------------------------------------------------------------------------------------------------


def busy_with(settings):
    """What is being done to the site's data by another Job; None while it is open."""
    marker = read_json(settings.site / MARKER)
    for key, what in (("upgrade", "upgraded"), ("restore", "restored")):
        if marker.get(key):
            return what
    return None if marker.get("state", "complete") == "complete" else "created"


def wait_until_open(settings):
    deadline = time.monotonic() + settings.wait_seconds
    while what := busy_with(settings):
        if time.monotonic() >= deadline:
            raise Refused("SiteBusy", f"{settings.site_name} is being {what}: it is not backed up meanwhile")
        say(f"waiting: {settings.site_name} is being {what}")
        time.sleep(min(5, settings.wait_seconds))


def check_image(settings):
    """The site may be of another image since this Job was made: its data must not be called data of ours."""
    if why := obstacle(read_json(settings.site / MARKER), os.environ.get("IMAGE", "")):
        raise Refused("SiteBusy", f"{settings.site_name} {why}: it is not backed up by this Job")


def state_of(settings):
    """Another one where the site was closed meanwhile, also where its code is the same again after a restore."""
    marker = read_json(settings.site / MARKER)
    return marker.get("code"), marker.get("closings")


def make(settings, directory):
    """Has the framework write the backup's files to a directory. Returns what it says of the site."""
    archive = "tgz" if settings.compress else "tar"
    request = {
        "database": str(directory / DATABASE), "config": str(directory / CONFIG),
        "files": str(directory / f"files.{archive}"), "privateFiles": str(directory / f"private-files.{archive}"),
        "withFiles": settings.with_files, "compress": settings.compress, "include": settings.include, "exclude": settings.exclude,
    }  # fmt: skip
    result = directory / "result"
    env = {k: v for k, v in os.environ.items() if not k.startswith(("FRAPPE_", "S3_", "STORE_"))}
    env.update(BACKUP_REQUEST=json.dumps(request), STEP_RESULT=str(result), FRAPPE_DOCKER_BUILD="1", PYTHONUNBUFFERED="1")
    try:
        run(settings, "BackupFailed", [sys.executable, str(STEP)], env)
    except ProgramFailed as error:
        output = "\n".join(error.output)
        if "No space left on device" in output:
            raise Refused("ScratchFull", f"no space for the backup's files before they are stored: {error}") from None
        if refusal := re.search(r"^  ?app-operator: (\w+): (.*)$|^app-operator: (\w+): (.*)$", output, re.MULTILINE):
            raise Refused(refusal[1] or refusal[3], refusal[2] or refusal[4]) from None
        raise Refused("DatabaseUnreachable" if LOST_CONNECTION.search(output) else "BackupFailed", error) from None
    told = json.loads(result.read_text())
    result.unlink()
    # As it is now: the framework writes keys of its own to it while it backs up.
    shutil.copyfile(settings.site / "site_config.json", directory / CONFIG)
    return told


def check_dump(path):
    """A dump that lacks its last line was cut off."""
    tail = b""
    try:
        with gzip.open(path, "rb") as file:
            while data := file.read(1 << 20):
                tail = (tail + data)[-4096:]
    except (OSError, EOFError) as error:
        raise Refused("BackupFailed", f"the database's dump is damaged: {error}") from None
    if not any(end in tail for end in DUMP_ENDS):
        raise Refused("BackupFailed", "the database's dump has no end")


# --- the store ------------------------------------------------------------------------------------------------------


def clear_leftovers(settings, store):
    """Removes what earlier backups of this SiteBackup have begun and not ended, when nobody can write to it any more."""
    oldest = stored_backup.name_of(datetime.now(timezone.utc) - timedelta(seconds=settings.timeout))
    for name in filter(stored_backup.NAME.fullmatch, store.folders()):
        files = store.files(name)
        if MANIFEST in files or STARTED not in files:
            continue
        started = stored_backup.read_object(store, f"{name}/{STARTED}") or {}
        if started.get("owner") != settings.backup_owner or started.get("site") != settings.owner:
            continue
        if name < oldest or (settings.job and started.get("job") == settings.job):
            say(f"removing {store.location(name)}: it was never finished")
            stored_backup.delete_backup(store, name)


def begin(settings, store):
    """A folder that nobody else has. Returns its name, its start, and what says there that it is ours."""
    while True:
        asked, start = time.monotonic(), datetime.now(timezone.utc).replace(microsecond=0)
        name = stored_backup.name_of(start)
        started = {"owner": settings.backup_owner, "site": settings.owner, "job": settings.job, "token": secrets.token_hex(8)}
        if store.take(name, STARTED, json.dumps(started).encode(), stored_backup.draft_of(settings.backup_owner, settings.owner)):
            # Whoever was slower may have written over one that is at work already.
            late = time.monotonic() - asked > store.SETTLE_SECONDS > 0
            time.sleep(store.SETTLE_SECONDS)
            found = stored_backup.read_object(store, f"{name}/{STARTED}")
            if found is None:
                raise Refused("StoreCorrupt", f"{store.location(name)}/{STARTED} is not what was written")
            if found == started and not late:
                return name, start, started
            say(f"{store.location(name)} is another backup's")
        time.sleep(1)


def rfc3339(moment):
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def back_up(settings, store):
    """One backup, from its first file to its manifest, which is returned."""
    state = state_of(settings)
    check_image(settings)
    name, start, started = begin(settings, store)
    say(f"backing up {settings.site_name} to {store.location(name)}")
    try:
        # What the framework has started may still write there when this Job is told to end.
        with tempfile.TemporaryDirectory(prefix="backup-", ignore_cleanup_errors=True) as scratch:
            told = make(settings, Path(scratch))
            if not told["encrypted"]:
                check_dump(Path(scratch) / DATABASE)
            files = [keep(store, name, path) for path in sorted(Path(scratch).iterdir())]
            key = bool(read_json(Path(scratch) / CONFIG).get("encryption_key"))
        # The dump may be of before a migration, and the files of after it.
        if busy_with(settings) or state_of(settings) != state:
            raise Refused("SiteBusy", f"{settings.site_name} was changed by another Job while it was backed up")
        versions = apps_of_image(settings)
        namespace, _, site = settings.owner.partition("/")
        manifest = {
            "version": 1, "name": name, "owner": settings.backup_owner, "namespace": namespace, "site": site,
            "siteName": settings.site_name, "startTime": rfc3339(start), "completionTime": rfc3339(datetime.now(timezone.utc)),
            "frameworkVersion": versions.get("frappe", "unknown"), "image": os.environ.get("IMAGE", ""), "dbType": told["dbType"],
            "apps": [{"name": app, "version": versions.get(app, "unknown")} for app in told["apps"]],
            "complete": settings.with_files and key and not told["partial"], "partial": told["partial"], "encrypted": told["encrypted"],
            "files": files,
        }  # fmt: skip
        if not is_still(store, name, started):
            raise Refused("StoreCorrupt", f"{store.location(name)} was taken by another backup")
        stored_backup.write_object(store, f"{name}/{MANIFEST}", manifest)
        if stored_backup.manifest_of(store, name) is None:
            raise Refused("StoreCorrupt", f"{store.location(name)}: files are gone again")
        return manifest
    except BaseException:
        try:
            if is_still(store, name, started):
                stored_backup.delete_backup(store, name)
        except Refused as error:
            say(f"{store.location(name)} stays for now, without a manifest: {error}")
        raise


def is_still(store, name, started):
    """Whether a folder is that of the backup that was started so."""
    return stored_backup.read_object(store, f"{name}/{STARTED}") == started


def keep(store, name, path):
    say(f"storing {path.name}, {path.stat().st_size} bytes")
    with open(path, "rb") as file:
        size, digest = store.write(f"{name}/{path.name}", file, path.stat().st_size)
    return {"name": path.name, "size": size, "sha256": digest}


def is_ours(settings, manifest):
    namespace, _, site = settings.owner.partition("/")
    return manifest.get("owner") == settings.backup_owner and (manifest.get("namespace"), manifest.get("site")) == (namespace, site)


def expired(manifests, keep_last, keep_days, now):
    """Those of `manifests`, newest first, that neither rule keeps. Backups that are not complete count for themselves: they
    never push a complete one out. The newest of each sort stays."""
    gone = []
    for complete in (True, False):
        for rank, manifest in enumerate(m for m in manifests if bool(m["complete"]) is complete):
            recent = keep_days and stored_backup.moment_of(manifest["name"]) >= now - timedelta(days=keep_days)
            if rank > 0 and not recent and not rank < keep_last:
                gone.append(manifest)
    return gone if keep_last or keep_days else []


def retain(settings, store):
    """Removes what is not to be kept. Returns the manifests of what is."""
    ours = [manifest for manifest in stored_backup.stored_backups(store) if is_ours(settings, manifest)]
    gone = expired(ours, settings.keep_last, settings.keep_days, datetime.now(timezone.utc))
    for manifest in gone:
        say(f"removing {store.location(manifest['name'])}: retention does not keep it")
        stored_backup.delete_backup(store, manifest["name"])
    return [manifest for manifest in ours if manifest not in gone]


# --- the last words -------------------------------------------------------------------------------------------------


def message_of(manifests, location):
    """What is stored, in as many of the newest backups as fit into the last words."""
    kinds, rows = [], []
    for manifest in manifests[:MAX_LISTED]:
        kind = [manifest["frameworkVersion"], {app["name"]: app["version"] for app in manifest["apps"]}]
        if kind not in kinds:
            kinds.append(kind)
        completion = re.sub("[-:]", "", manifest["completionTime"])
        rows.append([manifest["name"], completion, stored_backup.size_of(manifest), int(manifest["complete"]), kinds.index(kind)])
    while True:
        used = kinds[: 1 + max((row[-1] for row in rows), default=-1)]
        report = {"location": location, "count": len(manifests), "versions": used, "backups": rows}
        text = json.dumps(report, separators=(",", ":"))
        if len(text.encode()) <= MAX_MESSAGE_BYTES or not rows:
            return text
        rows.pop()


def leave(message):
    path = os.environ.get("TERMINATION_LOG") or TERMINATION_LOG
    if path != TERMINATION_LOG or os.path.exists(path):
        Path(path).write_text(message)


def main(messages):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    foretell("BackupInterrupted", "the backup was killed before its end, as by its timeout, by its memory limit or with its node")
    settings = BackupSettings()
    if not (settings.site / "site_config.json").is_file():
        raise Refused("SiteMissing", f"{settings.site} has no site_config.json")
    if check_owner(settings) is None:
        raise Refused("SiteNotOwned", f"{settings.site} records no owner: it was not made by this operator")
    config = read_json(settings.site / "site_config.json")
    # Only so that no program's last words repeat them.
    os.environ.update(DB_PASSWORD=str(config.get("db_password", "")), ENCRYPTION_KEY=str(config.get("encryption_key", "")))
    store = open_store()
    with only_backup(settings):
        wait_until_open(settings)
        clear_leftovers(settings, store)
        manifest = back_up(settings, store)
        messages.append(message_of(retain(settings, store), store.location()))
    return {"backup": manifest["name"], "size": stored_backup.size_of(manifest), "complete": manifest["complete"]}


if __name__ == "__main__":
    last_words = []
    run_job(lambda: main(last_words))
    leave(last_words[0])
