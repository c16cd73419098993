"""TEST CODE: whether Redis and the database answer. It asks by IPv4 only, as the framework does."""

import socket
from urllib.parse import urlparse

import frappe


def is_open(host, port):
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
