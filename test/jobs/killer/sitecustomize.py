"""TEST CODE: kills site_init.py or site_backup.py at the KILL_AT-th rename, removal or start of a program."""

import os
import subprocess
import sys

if "KILL_AT" in os.environ and sys.orig_argv[-1].endswith(("site_init.py", "site_backup.py")):
    left = [int(os.environ["KILL_AT"])]

    def deadly(function):
        def call(*args, **kwargs):
            left[0] -= 1
            if left[0] == 0:
                os.killpg(os.getpgid(0), 9)
            return function(*args, **kwargs)

        return call

    unlink_any = os.unlink
    os.replace, os.rename, unlink = map(deadly, (os.replace, os.rename, os.unlink))
    if sys.orig_argv[-1].endswith("site_init.py"):
        os.rmdir = deadly(os.rmdir)

    def unlink_owner(path, *args, **kwargs):
        """The file with the owner is the last one of a backup."""
        return (unlink if path == "started.json" else unlink_any)(path, *args, **kwargs)

    os.unlink = unlink_owner

    class Popen(subprocess.Popen):
        def __init__(self, *args, **kwargs):
            deadly(lambda: None)()
            super().__init__(*args, **kwargs)

    subprocess.Popen = Popen
