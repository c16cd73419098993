"""TEST CODE: a few pages, with the links to hashed assets that a browser would follow."""

import json
import os
from html import escape

import frappe
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response

PAGES = {"": "Home", "login": "Login", "app": "Desk", "me": "My Account"}


def assets():
    """Of `sites/assets/assets.json`, kept in redis_cache under one key for all sites until somebody deletes it."""

    def read():
        with open(os.path.join(frappe.local.sites_path, "assets", "assets.json")) as file:
            return json.load(file)

    cached = frappe.cache.get_value("assets_json", shared=True)
    if cached is None:
        import pickle

        cached = read()
        frappe.cache.set("assets_json", pickle.dumps(cached))
    return cached


def page(path):
    title = PAGES.get(path.strip("/"))
    if title is None:
        raise NotFound
    if path.strip("/") in ("app", "me") and frappe.session.user == "Guest":
        return Response(status=301, headers={"Location": "/login?redirect-to=" + path})
    bundles = assets()
    return Response(
        f'<!DOCTYPE html><html><head><title>{title}</title><link rel="stylesheet" href="{bundles["website.bundle.css"]}">'
        f'<script src="{bundles["frappe-web.bundle.js"]}"></script></head>'
        f"<body data-user={escape(frappe.session.user)!r}>{title}</body></html>",
        content_type="text/html; charset=utf-8",
    )


def message(title):
    return f"<!DOCTYPE html><html><head><title>{title}</title></head><body><h1>{title}</h1></body></html>"
