"""TEST CODE: file locks: a site's in its own folder (shared by all pods), the bench's in `config/` (each pod's own)."""

import os
from contextlib import contextmanager

from filelock import FileLock, Timeout

import frappe
from frappe.utils import get_bench_path


@contextmanager
def filelock(name, timeout=30, is_global=False):
    folder = os.path.join(get_bench_path(), "config") if is_global else os.path.abspath(frappe.get_site_path("locks"))
    path = os.path.join(folder, f"{name}.lock")
    try:
        with FileLock(path, timeout=timeout):
            yield
    except Timeout:
        raise frappe.LockTimeoutError(f"Failed to aquire lock: {name}. Lock may be held by another process.") from None
