"""The framework's WSGI application behind probes that can pass. Mounted as /wsgi/app_operator_wsgi.py.

    gunicorn --pythonpath=/wsgi ... app_operator_wsgi:application

The framework picks the site by Host, and the kubelet's Host is the pod's IP: it always gets 404. So
- a kubelet's `GET /api/method/ping` that names no site is answered here: the process is up, the code loaded;
- a kubelet's ping that names a site (X-Frappe-Site-Name) goes through the framework, and its 503 of maintenance
  counts as ready, so that visitors get the framework's own page and not a proxy's error;
- SITE_NAME pins every request to that site, whatever Host or header it carries;
- a site that is closed for an upgrade, or whose data is of another image than this one (IMAGE), shows a page that says so;
- `/assets` that the proxy does not have are those of this image: while a bench is upgraded its proxy may be of another one;
- anything else passes through untouched.

A client that poses as a kubelet learns nothing but "pong".
"""

import json
import mimetypes
import os
import sys

import frappe.app
from site_gate import closed

PING = "/api/method/ping"
PONG = b'{"message":"pong"}'
# {"exc_type": "SessionStopped"} is what the framework's own clients know.
CLOSED_JSON = b'{"exc_type":"SessionStopped","message":"The site is being updated."}'
CLOSED_PAGE = b"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Updating</title>
<meta http-equiv="refresh" content="15"><meta name="viewport" content="width=device-width">
<style>body{font:1.1em sans-serif;margin:20vh auto;max-width:30em;text-align:center}</style></head>
<body><h1>Updating</h1><p>This site is being updated and will be back in a few minutes.</p></body></html>
"""

if os.environ.get("SITE_NAME"):
    frappe.app._site = os.environ["SITE_NAME"]

framework = frappe.app.application


def own_assets_json():
    """The bundles of this image: the cache's list is shared with processes of another one while a bench is upgraded."""
    manifest = {}
    for name in ("assets.json", "assets-rtl.json"):
        try:
            with open(os.path.join("assets", name)) as file:
                manifest.update(json.load(file))
        except OSError:
            pass  # the second is not in every image
    return manifest


def use_own_assets():
    manifest = own_assets_json()
    if not manifest:
        return
    for module in list(sys.modules.values()):
        if module.__name__.startswith("frappe.") and hasattr(module, "get_assets_json"):
            module.get_assets_json = lambda: manifest


use_own_assets()


def site_of(environ):
    """The site that a request is for, as the framework finds it."""
    return getattr(frappe.app, "_site", None) or environ.get("HTTP_X_FRAPPE_SITE_NAME") or environ.get("HTTP_HOST", "").split(":")[0]


def asset(environ, start_response):
    """A file below assets/; None where there is none. Only names go in, so `..` does not."""
    parts = environ["PATH_INFO"].split("/")[1:]
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        return None
    path = os.path.join(*parts)
    if not os.path.isfile(path):
        return None
    kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
    file = open(path, "rb")
    start_response("200 OK", [("Content-Type", kind), ("Content-Length", str(os.fstat(file.fileno()).st_size))])
    if environ["REQUEST_METHOD"] == "HEAD":
        file.close()
        return []
    return environ["wsgi.file_wrapper"](file) if "wsgi.file_wrapper" in environ else iter(lambda: file.read(65536), b"")


def closed_page(environ, start_response):
    machine = environ["PATH_INFO"].startswith("/api/") or "json" in environ.get("HTTP_ACCEPT", "")
    kind, body = ("application/json", CLOSED_JSON) if machine else ("text/html; charset=utf-8", CLOSED_PAGE)
    headers = [("Content-Type", kind), ("Content-Length", str(len(body))), ("Retry-After", "15"), ("Cache-Control", "no-store")]
    start_response("503 SERVICE UNAVAILABLE", headers)
    return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]


def pong(start_response):
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(PONG)))])
    return [PONG]


def readiness(environ, start_response):
    """Runs the framework's ping; only its answer of maintenance is turned into a pong."""
    answer = {}

    def remember(status, headers, exc_info=None):
        answer["args"] = (status, headers, exc_info) if exc_info else (status, headers)
        return lambda data: None

    body = framework(environ, remember)
    try:
        content = b"".join(body)
    finally:
        if hasattr(body, "close"):
            body.close()
    status = answer["args"][0]
    if status.startswith("503") and b"SessionStopped" in content:
        return pong(start_response)
    start_response(*answer["args"])
    return [content]


def application(environ, start_response):
    from_kubelet = environ.get("HTTP_USER_AGENT", "").startswith("kube-probe/")
    if from_kubelet and environ.get("PATH_INFO") == PING and environ.get("REQUEST_METHOD") == "GET":
        if environ.get("HTTP_X_FRAPPE_SITE_NAME") and not closed(site_of(environ)):
            return readiness(environ, start_response)
        return pong(start_response)
    if environ.get("PATH_INFO", "").startswith("/assets/") and environ.get("REQUEST_METHOD") in ("GET", "HEAD"):
        found = asset(environ, start_response)
        if found is not None:
            return found
    if closed(site_of(environ)):
        return closed_page(environ, start_response)
    return framework(environ, start_response)
