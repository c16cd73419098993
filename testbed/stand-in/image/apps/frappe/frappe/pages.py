"""TEST CODE: a few pages, with the links to hashed assets that a browser would follow."""

import json
from html import escape
from urllib.parse import urlencode, urljoin

import frappe
import frappe.utils
from frappe.boot import get_bootinfo
from frappe.utils.password import get_decrypted_password
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response

DESK = "desk" if frappe.VERSION >= (16, 0) else "app"
PAGES = {"": "Home", "login": "Login", DESK: "Desk", "me": "My Account"}


def page(path):
    name = path.strip("/")
    if name == "app" and DESK != "app":
        return Response(status=301, headers={"Location": f"/{DESK}"})
    title = PAGES.get(name)
    if title is None:
        raise NotFound
    if name in (DESK, "me") and frappe.session.user == "Guest":
        return Response(status=301, headers={"Location": "/login?redirect-to=" + path})
    bundles = frappe.utils.get_assets_json()
    return Response(
        f'<!DOCTYPE html><html><head><title>{title}</title><link rel="stylesheet" href="{bundles["website.bundle.css"]}">'
        f'<script src="{bundles["frappe-web.bundle.js"]}"></script></head>'
        f"<body data-user={escape(frappe.session.user)!r}>{title}{content_of(name)}</body></html>",
        content_type="text/html; charset=utf-8",
    )


def content_of(name):
    if name == "login":
        return "".join(map(button, frappe.db.select("Social Login Key", LOGIN_FIELDS, {"enable_social_login": 1})))
    return boot_script() if name == DESK else ""


def boot_script():
    """The desk's own data: an object from version-16 on, and before a text with it."""
    boot = json.dumps(get_bootinfo(), default=str).replace("</", "<\\/")
    value = boot if frappe.VERSION >= (16, 0) else f"JSON.parse({json.dumps(boot)})"
    return f'<script>\nfrappe.boot = {value};\nfrappe.csrf_token = "{frappe.session.sid}";\n</script>'


LOGIN_FIELDS = ["name", "provider_name", "client_id", "base_url", "authorize_url", "redirect_url", "auth_url_data"]


def button(key):
    """Of an identity provider that has all that a login needs."""
    if not (key.client_id and key.base_url and get_decrypted_password("Social Login Key", key.name, "client_secret")):
        return ""
    back = urljoin(frappe.request.host_url, key.redirect_url)
    query = {"client_id": key.client_id, "redirect_uri": back, **json.loads(key.auth_url_data or "{}")}
    absolute = key.authorize_url.startswith(("http://", "https://"))
    address = key.authorize_url if absolute else key.base_url.rstrip("/") + "/" + key.authorize_url.lstrip("/")
    link = escape(f"{address}?{urlencode(query)}")
    return f'<a href="{link}" class="btn btn-{key.name}">Login with {escape(key.provider_name)}</a>'


def message(title):
    return f"<!DOCTYPE html><html><head><title>{title}</title></head><body><h1>{title}</h1></body></html>"
