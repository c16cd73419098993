"""TEST CODE: events for browsers, by Redis to the realtime server."""

import json

import frappe
import redis
from frappe.utils.background_jobs import get_redis_conn

# From 16.10 on the answer is empty without this secret.
SOCKETIO_SECRET_KEY = "socketio_auth_secret"


def publish_realtime(event, message=None, room=None, user=None, task_id=None, **_):
    if not room:
        room = f"task_progress:{task_id}" if task_id else f"user:{user}" if user else "all"
    text = json.dumps({"event": event, "message": message or {}, "room": room, "namespace": frappe.local.site})
    try:
        get_redis_conn().publish("events", text)
    except redis.exceptions.ConnectionError:
        pass


def get_socketio_secret():
    """Made by the first call, and kept in redis_queue."""
    connection = get_redis_conn()
    connection.set(SOCKETIO_SECRET_KEY, frappe.generate_hash(), nx=True)
    return connection.get(SOCKETIO_SECRET_KEY).decode()


@frappe.whitelist(allow_guest=True)
def get_user_info():
    """Called by the realtime server for each new socket, at the address of the browser."""
    if frappe.VERSION >= (16, 10):
        secret = get_socketio_secret()
        if frappe.request.headers.get("X-Frappe-Socket-Secret") != secret:
            return {}
    user = {"user": frappe.session.user, "user_type": frappe.session.user_type}
    if frappe.VERSION >= (16, 0):
        user["installed_apps"] = frappe.get_installed_apps()
    return user


@frappe.whitelist(allow_guest=True)
def can_subscribe_doctype(doctype):
    return is_readable(doctype)


@frappe.whitelist(allow_guest=True)
def has_permission(doctype, name=""):
    return is_readable(doctype)


def is_readable(doctype):
    if frappe.session.user == "Guest":
        frappe.throw("Not permitted", frappe.PermissionError)
    return True
