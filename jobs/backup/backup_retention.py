"""Removes the backups that `spec.retention` does not keep, and unfinished ones."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

import stored_backup
from job_result import JobError, log
from store_base import Store
from stored_backup import Manifest

MAX_NOT_REMOVED = 500


@dataclass(frozen=True)
class Retention:
    """What is kept of the backups of one SiteBackup; where both numbers are 0, all are."""

    # `<namespace>/<name>` of the AppSite, and of the SiteBackup.
    site: str
    owner: str
    keep_last: int
    keep_days: int

    def covers(self, manifest: Manifest) -> bool:
        namespace, _, site = self.site.partition("/")
        return manifest.get("owner") == self.owner and (
            (manifest.get("namespace"), manifest.get("site")) == (namespace, site)
        )


class Removals:
    """Removes folders of a store. What it does not remove is reported, and fails nothing."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.problems: dict[str, Exception] = {}

    def remove(self, name: str, why: str) -> None:
        log(f"removing {self.store.location(name)}: {why}")
        with self.tolerating(name):
            stored_backup.delete_backup(self.store, name)

    @contextmanager
    def tolerating(self, name: str) -> Iterator[None]:
        try:
            yield
        except (JobError, OSError) as error:
            log(f"{name}: {error}")
            self.problems[name] = error

    @property
    def report(self) -> str:
        """The first problem, and how many folders have one; empty if none has."""
        if not self.problems:
            return ""
        name, error = next(iter(self.problems.items()))
        reason = error.reason if isinstance(error, JobError) else "VolumeNotWritable"
        others = len(self.problems) - 1
        more = f" and {others} more" if others else ""
        return f"{name}{more}: {reason}: {' '.join(str(error).split())}"[:MAX_NOT_REMOVED]


def expired(
    manifests: Sequence[Manifest], keep_last: int, keep_days: int, now: datetime
) -> list[Manifest]:
    """The backups of `manifests`, newest first, that neither rule keeps.

    Incomplete backups are counted separately, so they never expire a complete one. The newest
    backup of each sort is always kept. Backups of the future come from a wrong clock: they are
    kept and not counted, or they would expire what is made now.
    """
    if not keep_last and not keep_days:
        return []
    found = []
    for complete in (True, False):
        ages = [
            (manifest, now - stored_backup.start_of(manifest["name"]))
            for manifest in manifests
            if bool(manifest["complete"]) is complete
        ]
        counted = [(manifest, age) for manifest, age in ages if age >= timedelta(0)]
        for rank, (manifest, age) in enumerate(counted):
            is_recent = bool(keep_days) and age <= timedelta(days=keep_days)
            if rank > 0 and rank >= keep_last and not is_recent:
                found.append(manifest)
    return found


def apply_retention(
    retention: Retention, store: Store, newest: Manifest, removals: Removals
) -> list[Manifest]:
    """Removes expired backups. Returns the manifests of all that can be restored.

    The newest was stored by this Job: what fails from now on fails no backup.
    """
    names = [newest["name"]]
    with removals.tolerating("retention"):
        names = sorted({*names, *stored_backup.backup_names(store)}, reverse=True)
    own = [
        manifest
        for manifest in (readable(store, name, newest, removals) for name in names)
        if manifest and retention.covers(manifest)
    ]
    removed = expired(own, retention.keep_last, retention.keep_days, datetime.now(timezone.utc))
    for manifest in removed:
        removals.remove(manifest["name"], "retention does not keep it")
    return [
        manifest
        for manifest in own
        if manifest not in removed or is_still_whole(store, manifest["name"], removals)
    ]


def readable(store: Store, name: str, newest: Manifest, removals: Removals) -> Manifest | None:
    """The manifest of a backup; None for other folders, and where the store does not give it."""
    if name == newest["name"]:
        return newest
    with removals.tolerating(name):
        return stored_backup.manifest_of(store, name)
    return None


def is_still_whole(store: Store, name: str, removals: Removals) -> bool:
    """Whether a backup that should be removed can still be restored."""
    if name not in removals.problems:
        return False
    with suppress(JobError, OSError):
        return stored_backup.manifest_of(store, name) is not None
    return False
