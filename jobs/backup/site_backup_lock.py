"""Two backups of one site never run at once: the lock is on the bench's volume, and ends with whoever holds it."""

import fcntl
import time
from contextlib import contextmanager

from site_common import Refused, say


@contextmanager
def only_backup(settings):
    settings.workspace.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + settings.wait_seconds
    with open(settings.workspace / f"{settings.site_name}.backup.lock", "w") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise Refused("BackupRunning", f"another backup of {settings.site_name} runs") from None
            say(f"waiting: another backup of {settings.site_name} runs")
            time.sleep(min(5, settings.wait_seconds))
        yield
