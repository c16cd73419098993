"""TEST CODE: whether Redis and the database answer."""

import socket
from urllib.parse import urlparse

import frappe


def is_open(host, port):
    if frappe.VERSION < (16, 0):
        return is_open_on_ipv4(host, port)
    try:
        socket.create_connection((host, port), timeout=5).close()
        return True
    except OSError:
        return False


def is_open_on_ipv4(host, port):
    probe = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    probe.settimeout(5)
    try:
        probe.connect((host, port))
        return True
    except OSError:
        return False
    finally:
        probe.close()


def check_connection():
    cache = urlparse(frappe.conf.redis_cache)
    return {
        "redis_cache": is_open(cache.hostname, cache.port),
        frappe.conf.db_type: is_open(frappe.conf.db_host, int(frappe.conf.db_port)),
    }
