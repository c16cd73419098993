"""TEST CODE: faults that a test switches on by environment variables; without them nothing here does anything.

STANDIN_PAUSE             seconds between the tables of a new site, and after the first commit of an app's installation
SLOW_BACKUP               seconds between the dump of a backup and the rest of it
RESTLESS_BACKUP           seconds in which a child process writes files beside the dump, as a shell does that outlives its parent
"""

import os
import subprocess
import time


def pauses():
    return "STANDIN_PAUSE" in os.environ


def pause():
    time.sleep(float(os.environ.get("STANDIN_PAUSE", "0")))


def after_dump(path):
    if seconds := os.environ.get("RESTLESS_BACKUP"):
        write = 'until ((SECONDS >= $1)); do : > "$0/$((n++))" || break; done 2>/dev/null'
        subprocess.Popen(["bash", "-c", write, os.path.dirname(path), seconds], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(float(os.environ.get("SLOW_BACKUP", "0")))
