"""TEST CODE: events for browsers, by Redis to the realtime server."""

import json

import frappe
import redis
from frappe.utils.background_jobs import get_redis_conn


def publish_realtime(event, message=None, room=None, user=None, **_):
    room = room or (f"user:{user}" if user else "all")
    text = json.dumps({"event": event, "message": message or {}, "room": room, "namespace": frappe.local.site})
    try:
        get_redis_conn().publish("events", text)
    except redis.exceptions.ConnectionError:
        pass


@frappe.whitelist(allow_guest=True)
def get_user_info():
    """Called by the realtime server for each new socket, at the address of the browser."""
    return {"user": frappe.session.user, "user_type": frappe.session.user_type}
