"""Deletes the stored backups of a SiteBackup whose deletionPolicy is Delete, and no others.

Environment: SITE_NAME, SITE_OWNER, BACKUP_OWNER, WAIT_SECONDS, BENCH_DIR, TERMINATION_LOG, as in
site_backup.py, and the store's, see backup_store.py.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import stored_backup
from backup_store import open_store
from job_environment import bench_dir, number_env, site_name_env, text_env
from job_result import JobError, log, run_job
from site_locks import backup_lock
from store_base import Store
from stored_backup import MANIFEST, STARTED
from volume_files import is_directory


def owner_of(store: Store, name: str) -> tuple[str | None, str | None]:
    """SiteBackup and AppSite of a folder: of its manifest, or of its first file."""
    files = store.files(name)
    if MANIFEST in files:
        manifest = stored_backup.read_object(store, f"{name}/{MANIFEST}") or {}
        return manifest.get("owner"), f"{manifest.get('namespace')}/{manifest.get('site')}"
    if STARTED in files:
        started = stored_backup.read_object(store, f"{name}/{STARTED}") or {}
        return started.get("owner"), started.get("site")
    return None, None


def lock() -> AbstractContextManager[None]:
    """Waits for a running backup. Without a site there is none."""
    sites = bench_dir() / "sites"
    name = site_name_env()
    if not is_directory(sites / name):
        return nullcontext()
    return backup_lock(sites / ".app-operator", name, number_env("WAIT_SECONDS", 900))


def main() -> dict[str, Any]:
    owner = text_env("BACKUP_OWNER"), text_env("SITE_OWNER")
    store = open_store()
    removed, problems = 0, []
    with lock():
        for name in stored_backup.backup_names(store):
            try:
                if owner_of(store, name) != owner:
                    continue
                log(f"removing {store.location(name)}")
                stored_backup.delete_backup(store, name)
                removed += 1
            except JobError as error:
                log(f"{store.location(name)} stays: {error}")
                problems.append((name, error))
        store.discard_draft(stored_backup.draft_of(*owner))
    if problems:
        name, first = problems[0]
        raise JobError(
            first.reason,
            f"{len(problems)} stored backups are not removed, {removed} are: "
            f"{store.location(name)}: {first}",
        )
    return {"removed": removed}


if __name__ == "__main__":
    run_job(main)
