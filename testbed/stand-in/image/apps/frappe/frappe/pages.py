"""TEST CODE: a few pages, with the links to hashed assets that a browser would follow."""

from html import escape

import frappe
import frappe.utils
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response

PAGES = {"": "Home", "login": "Login", "app": "Desk", "me": "My Account"}


def page(path):
    title = PAGES.get(path.strip("/"))
    if title is None:
        raise NotFound
    if path.strip("/") in ("app", "me") and frappe.session.user == "Guest":
        return Response(status=301, headers={"Location": "/login?redirect-to=" + path})
    bundles = frappe.utils.get_assets_json()
    return Response(
        f'<!DOCTYPE html><html><head><title>{title}</title><link rel="stylesheet" href="{bundles["website.bundle.css"]}">'
        f'<script src="{bundles["frappe-web.bundle.js"]}"></script></head>'
        f"<body data-user={escape(frappe.session.user)!r}>{title}</body></html>",
        content_type="text/html; charset=utf-8",
    )


def message(title):
    return f"<!DOCTYPE html><html><head><title>{title}</title></head><body><h1>{title}</h1></body></html>"
