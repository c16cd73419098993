"""TEST CODE: two backups that are started with one MEETING, a folder, choose the same name, and write to it at the same time."""

import os
import sys
import time
from datetime import datetime, timezone

if "MEETING" in os.environ and sys.orig_argv[-1].endswith("site_backup.py"):
    sys.path.insert(0, os.path.dirname(sys.orig_argv[-1]))
    import backup_store
    import stored_backup

    sys.path.pop(0)
    meeting, name_of, moments = os.environ["MEETING"], stored_backup.name_of, []

    def same_name(moment):
        now = abs((datetime.now(timezone.utc) - moment).total_seconds()) < 60
        if moments or not now:
            return name_of(moment)
        moments.append(moment)
        return "20250131T020007Z"

    def together(function):
        def call(*args):
            open(os.path.join(meeting, str(os.getpid())), "w").close()
            while len(os.listdir(meeting)) < 2:
                time.sleep(0.01)
            return function(*args)

        return call

    stored_backup.name_of = same_name
    for store in (backup_store.VolumeStore, backup_store.S3Store):
        store.put = together(store.put)
