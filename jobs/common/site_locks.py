"""Locks on the bench's volume. The kernel releases a lock when its process ends.

A lock is needed because a Job's pod can be replaced before the previous pod has terminated.
"""

import fcntl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from job_environment import SiteLocation
from job_result import JobError, log
from volume_files import open_lock


@contextmanager
def exclusive_site_lock(location: SiteLocation) -> Iterator[None]:
    """For Jobs that create, change, upgrade, restore or drop the site."""
    with open_lock(location.workspace / f"{location.site_name}.lock") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise JobError("SiteBusy", f"another Job works on {location.site_name}") from None
        yield


@contextmanager
def shared_site_lock(sites: Path, site_name: str) -> Iterator[None]:
    """For Jobs that work in the site: no Job with the exclusive lock starts meanwhile."""
    with open_lock(sites / ".app-operator" / f"{site_name}.lock") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise JobError(
                "SiteClosed", f"another Job changes {site_name}: nothing was done"
            ) from None
        yield


@contextmanager
def backup_lock(workspace: Path, site_name: str, wait_seconds: float) -> Iterator[None]:
    """Only one backup of a site runs at a time. Waits for another one to end."""
    problem = JobError("BackupRunning", f"another backup of {site_name} runs")
    with open_lock(workspace / f"{site_name}.backup.lock") as file:

        def pause() -> None:
            log(f"waiting: another backup of {site_name} runs")
            time.sleep(min(5, wait_seconds))

        _wait_for_lock(file, time.monotonic() + wait_seconds, problem, pause)
        yield


@contextmanager
def documents_lock(sites: Path, site_name: str, wait_seconds: float) -> Iterator[None]:
    """Only one Job writes documents of a site at a time. Waits for another one to end."""
    problem = JobError("SiteBusy", f"another Job writes documents of {site_name}")
    with open_lock(sites / ".app-operator" / f"{site_name}.documents.lock") as file:
        deadline = time.monotonic() + wait_seconds
        _wait_for_lock(file, deadline, problem, lambda: time.sleep(0.2))
        yield


@contextmanager
def common_config_lock(sites: Path) -> Iterator[None]:
    """For Jobs that write the bench's common configuration. Waits for another one to end.

    Site code may hold the lock for ever, so it is waited for some seconds only.
    """
    deadline = time.monotonic() + 10
    with open_lock(sites / ".app-operator" / "common_site_config.lock") as file:
        while not _is_locked(file):
            if time.monotonic() >= deadline:
                log("another program locks the common configuration; writing it anyway")
                break
            time.sleep(0.2)
        yield


def _is_locked(file: IO[bytes]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False


def _wait_for_lock(
    file: IO[bytes], deadline: float, problem: JobError, pause: Callable[[], None]
) -> None:
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise problem from None
        pause()
