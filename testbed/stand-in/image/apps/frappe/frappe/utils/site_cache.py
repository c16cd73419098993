"""TEST CODE: from version-16 on a process reads a site's configuration at most once in 60 s."""

import sys
import time

import frappe

SECONDS = 60
_known = {}


def cached_site_config():
    """Only web processes live long enough to matter; a command always sees the file."""
    if "gunicorn" not in sys.modules or not frappe.local.site:
        return frappe.get_site_config()
    read, config = _known.get(frappe.local.site_path, (0.0, None))
    if config is None or time.monotonic() - read > SECONDS:
        config = frappe.get_site_config()
        _known[frappe.local.site_path] = (time.monotonic(), config)
    return config.copy()
