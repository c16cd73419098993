"""Locks on the bench's volume. The kernel releases a lock when its process ends.

A lock is needed because a Job's pod can be replaced before the previous pod has terminated.
"""

import fcntl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from job_environment import SiteLocation, number_env
from job_result import JobError, log
from volume_files import lock, open_lock

# The pod of a site that was deleted and created again may be about to end.
LOCK_WAIT_SECONDS = 30


@contextmanager
def exclusive_site_lock(location: SiteLocation) -> Iterator[None]:
    """For Jobs that create, change, upgrade, restore or drop the site. Waits for another one."""
    wait_seconds = number_env("LOCK_WAIT_SECONDS", LOCK_WAIT_SECONDS)
    with open_lock(location.workspace / f"{location.site_name}.lock") as file:
        if not _take(file, fcntl.LOCK_EX, wait_seconds):
            raise JobError("SiteBusy", f"another Job works on {location.site_name}")
        yield


@contextmanager
def shared_site_lock(sites: Path, site_name: str) -> Iterator[None]:
    """For Jobs that work in the site: no Job with the exclusive lock starts meanwhile."""
    with open_lock(sites / ".app-operator" / f"{site_name}.lock") as file:
        if not _take(file, fcntl.LOCK_SH):
            raise JobError("SiteClosed", f"another Job changes {site_name}: nothing was done")
        yield


@contextmanager
def backup_lock(workspace: Path, site_name: str, wait_seconds: float) -> Iterator[None]:
    """Only one backup of a site runs at a time. Waits for another one to end."""
    problem = f"another backup of {site_name} runs"

    def pause() -> None:
        log(f"waiting: {problem}")
        time.sleep(min(5, wait_seconds))

    with open_lock(workspace / f"{site_name}.backup.lock") as file:
        if not _take(file, fcntl.LOCK_EX, wait_seconds, pause):
            raise JobError("BackupRunning", problem)
        yield


@contextmanager
def documents_lock(sites: Path, site_name: str, wait_seconds: float) -> Iterator[None]:
    """Only one Job writes documents of a site at a time. Waits for another one to end."""
    with open_lock(sites / ".app-operator" / f"{site_name}.documents.lock") as file:
        if not _take(file, fcntl.LOCK_EX, wait_seconds):
            raise JobError("SiteBusy", f"another Job writes documents of {site_name}")
        yield


@contextmanager
def common_config_lock(sites: Path) -> Iterator[None]:
    """For Jobs that write the bench's common configuration. Waits for another one to end.

    Site code may hold the lock for ever, so it is waited for some seconds only.
    """
    with open_lock(sites / ".app-operator" / "common_site_config.lock") as file:
        if not _take(file, fcntl.LOCK_EX, 10):
            log("another program locks the common configuration; writing it anyway")
        yield


def _take(
    file: IO[bytes],
    operation: int,
    wait_seconds: float = 0,
    pause: Callable[[], None] = lambda: time.sleep(0.2),
) -> bool:
    """Takes a lock, at the latest after `wait_seconds`. Returns whether it did."""
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            lock(file, operation | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
        pause()
