"""Removes the stored backups of a SiteBackup whose deletionPolicy is Delete. Nothing of anybody else is touched; what is gone already is fine.

Environment: SITE_NAME, SITE_OWNER, BACKUP_OWNER, WAIT_SECONDS, BENCH_DIR, TERMINATION_LOG, as in site_backup.py, and the store's, see
backup_store.py.
"""

import os
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import stored_backup
from backup_store import open_store
from site_backup_lock import only_backup
from site_common import run_job, say, seconds_env, text_env
from stored_backup import MANIFEST, STARTED


def owner_of(store, name):
    """SiteBackup and AppSite of a folder, as its manifest says, or where it has none, what was written at its start."""
    files = store.files(name)
    if MANIFEST in files:
        manifest = stored_backup.read_object(store, f"{name}/{MANIFEST}") or {}
        return manifest.get("owner"), f"{manifest.get('namespace')}/{manifest.get('site')}"
    if STARTED in files:
        started = stored_backup.read_object(store, f"{name}/{STARTED}") or {}
        return started.get("owner"), started.get("site")
    return None, None


def lock():
    """Waits for a backup that still runs; where the site is gone, none does."""
    sites = Path(os.environ.get("BENCH_DIR") or "/home/frappe/frappe-bench") / "sites"
    name = text_env("SITE_NAME")
    if not (sites / name).is_dir():
        return nullcontext()
    wait = seconds_env("WAIT_SECONDS", 900)
    return only_backup(SimpleNamespace(workspace=sites / ".app-operator", site_name=name, wait_seconds=wait))


def main():
    ours = text_env("BACKUP_OWNER"), text_env("SITE_OWNER")
    store = open_store()
    removed = 0
    with lock():
        for name in filter(stored_backup.NAME.fullmatch, store.folders()):
            if owner_of(store, name) == ours:
                say(f"removing {store.location(name)}")
                stored_backup.delete_backup(store, name)
                removed += 1
        store.discard(stored_backup.draft_of(*ours))
    return {"removed": removed}


if __name__ == "__main__":
    run_job(main)
