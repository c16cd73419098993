"""TEST CODE: does with the real store what the JSON array in argv says, and prints what came of it as JSON.

Every host name that ends with `.test` is this machine.
"""

import hashlib
import json
import random
import resource
import socket
import sys

import stored_backup
from backup_store import open_store
from job_result import JobError

resolve = socket.getaddrinfo
socket.getaddrinfo = lambda host, *rest, **more: resolve("127.0.0.1" if host.endswith(".test") else host, *rest, **more)


class Content:
    """`size` bytes that are always the same."""

    def __init__(self, size):
        self.left, self.random = size, random.Random(size)

    def read(self, amount):
        data = self.random.randbytes(min(amount, self.left))
        self.left -= len(data)
        return data


def read(store, path):
    digest, size = hashlib.sha256(), 0
    with store.open(path) as file:
        while data := file.read(100_000):
            digest.update(data)
            size += len(data)
    return [size, digest.hexdigest()]


ACTIONS = {
    "write": lambda store, path, size: store.write(path, Content(size), size),
    "read": read,
    "folders": lambda store: store.folders(),
    "files": lambda store, folder: store.files(folder),
    "delete": lambda store, folder: store.delete(folder, ("manifest.json",)),
    "backups": lambda store: [manifest["name"] for manifest in stored_backup.stored_backups(store)],
    "memory": lambda store: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
}

try:
    store = open_store()
    print(json.dumps([ACTIONS[name](store, *arguments) for name, *arguments in json.loads(sys.argv[1])]))
except JobError as error:
    print(json.dumps({"reason": error.reason, "message": str(error)}))
