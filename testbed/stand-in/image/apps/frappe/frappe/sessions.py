"""TEST CODE: the user of a request: by a session's cookie, by an API key, or Guest. Sessions live in the database and in redis_cache."""

import json
from urllib.parse import unquote

import frappe
from frappe.utils import now

# The column that this code knows: a database of the other side of 15.45 cannot be read (see patches/v15_45).
SEEN = "last_seen" if frappe.VERSION >= (15, 45) else "last_active"


def load_user(name):
    """The user's row; None for a disabled or unknown user."""
    rows = frappe.db.select("User", ["name", "enabled", "user_type", SEEN], {"name": name})
    if not rows or not rows[0].enabled:
        frappe.throw("User disabled or missing", frappe.AuthenticationError)
    return rows[0]


def resume(request):
    """Sets frappe.session for this request: one look into redis_cache and one into the database at least."""
    # Settings are read through the cache, as the framework does in every request.
    frappe.cache.get_value("system_settings", lambda: frappe.db.get_single_value("System Settings", "language") or "en")
    authorization = request.headers.get("Authorization", "")
    if authorization.lower().startswith("token "):
        return start(user_of_token(authorization.split(" ", 1)[1]), "token")
    sid = frappe.form_dict.get("sid") or unquote(request.cookies.get("sid", "Guest"))
    return start(user_of_session(sid), sid)


def start(name, sid):
    user = load_user(name)
    frappe.local.session = frappe._dict(user=user.name, sid=sid, user_type=user.user_type, data=frappe._dict())


def user_of_session(sid):
    if sid == "Guest":
        return "Guest"
    cached = frappe.cache.hget_value("session", sid)
    if cached:
        return cached
    rows = frappe.db.sql("SELECT `user` FROM `tabSessions` WHERE `sid` = %s", [sid])
    if not rows:
        return "Guest"
    frappe.cache.hset_value("session", sid, rows[0][0])
    return rows[0][0]


def user_of_token(token):
    from frappe.utils.password import get_decrypted_password

    key, _, secret = token.partition(":")
    rows = frappe.db.select("User", ["name"], {"api_key": key}) if key else []
    if not rows or get_decrypted_password("User", rows[0].name, "api_secret") != secret:
        frappe.throw("Invalid token", frappe.AuthenticationError)
    return rows[0].name


def login(user, password):
    """A new session's id; `user` may be the e-mail address. Kept although the request may fail later."""
    from frappe.utils.password import check_password

    rows = frappe.db.select("User", ["name"], {"email": user}) if "@" in user else []
    name = check_password(rows[0].name if rows else user, password)
    sid = frappe.generate_hash()
    start(name, sid)
    frappe.db.sql("INSERT INTO `tabSessions` VALUES (%s, %s, %s, %s)", [sid, name, json.dumps({"user": name}), now()])
    frappe.db.set_value("User", name, **{SEEN: now()})
    frappe.db.commit()
    frappe.cache.hset_value("session", sid, name)
    return sid


def clear_sessions(user, keep_current=False, force=False):
    """`keep_current` and `force` are about the asking user's own sessions, which no Job has."""
    sids = frappe.db.sql("SELECT `sid` FROM `tabSessions` WHERE `user` = %s", [user], pluck=True)
    frappe.db.sql("DELETE FROM `tabSessions` WHERE `user` = %s", [user])
    if sids:
        frappe.cache.hdel_value("session", *sids)
