"""The framework's WSGI application, with probes that can succeed.

    gunicorn ... app_operator_wsgi:application

The framework selects the site by Host. The kubelet's Host is the pod's IP, so its probes always get
404. Therefore:
- a kubelet's `GET /api/method/ping` without a site is answered here: the code is loaded;
- a kubelet's ping with a site (X-Frappe-Site-Name) is handled by the framework. Its 503 during
  maintenance counts as ready, so that visitors get the framework's page, not a proxy's error;
- with SITE_NAME, every request is for that site, whatever Host or header it has;
- a site that is closed for an upgrade, or has data of another image, shows a page that says so;
- `/assets` that the proxy does not have are served from this image: during an upgrade of a bench
  the proxy may have another image;
- all other requests are passed to the framework unchanged.

A client that imitates the kubelet learns only "pong".
"""

import json
import mimetypes
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any

import frappe.app

from database_tls import encrypt_framework
from print_patches import patch_print_programs
from site_access import is_closed

Environ = dict[str, Any]
StartResponse = Callable[..., Any]

PING = "/api/method/ping"
PONG = b'{"message":"pong"}'
# The framework's own clients handle this exc_type.
CLOSED_JSON = b'{"exc_type":"SessionStopped","message":"The site is being updated."}'
CLOSED_PAGE = b"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Updating</title>
<meta http-equiv="refresh" content="15"><meta name="viewport" content="width=device-width">
<style>body{font:1.1em sans-serif;margin:20vh auto;max-width:30em;text-align:center}</style></head>
<body><h1>Updating</h1>
<p>This site is being updated and will be back in a few minutes.</p></body></html>
"""

if os.environ.get("SITE_NAME"):
    frappe.app._site = os.environ["SITE_NAME"]

encrypt_framework()
patch_print_programs()
framework = frappe.app.application


def read_asset_manifest() -> dict[str, str]:
    """The bundles of this image."""
    manifest: dict[str, str] = {}
    for name in ("assets.json", "assets-rtl.json"):
        try:
            with open(os.path.join("assets", name)) as file:
                manifest.update(json.load(file))
        except OSError:
            pass  # not every image has the second file
    return manifest


def use_asset_manifest() -> None:
    """Replaces the framework's manifest from the cache, which other images may share."""
    manifest = read_asset_manifest()
    if not manifest:
        return
    modules: list[Any] = list(sys.modules.values())
    for module in modules:
        if module.__name__.startswith("frappe.") and hasattr(module, "get_assets_json"):
            module.get_assets_json = lambda: manifest


use_asset_manifest()


def site_of(environ: Environ) -> str:
    """The site of a request, as the framework selects it."""
    pinned: str | None = getattr(frappe.app, "_site", None)
    host = environ.get("HTTP_HOST", "").split(":")[0]
    return pinned or environ.get("HTTP_X_FRAPPE_SITE_NAME") or host


def serve_asset(environ: Environ, start_response: StartResponse) -> Iterable[bytes] | None:
    """A file below assets/; None if it does not exist."""
    parts = environ["PATH_INFO"].split("/")[1:]
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        return None
    path = os.path.join(*parts)
    if not os.path.isfile(path):
        return None
    content_type = mimetypes.guess_type(path)[0] or "application/octet-stream"
    file = open(path, "rb")  # noqa: SIM115  the server closes it after the response
    size = os.fstat(file.fileno()).st_size
    start_response("200 OK", [("Content-Type", content_type), ("Content-Length", str(size))])
    if environ["REQUEST_METHOD"] == "HEAD":
        file.close()
        return []
    if "wsgi.file_wrapper" in environ:
        wrapped: Iterable[bytes] = environ["wsgi.file_wrapper"](file)
        return wrapped
    return iter(lambda: file.read(65536), b"")


def closed_page(environ: Environ, start_response: StartResponse) -> list[bytes]:
    accepts_json = "json" in environ.get("HTTP_ACCEPT", "")
    if environ["PATH_INFO"].startswith("/api/") or accepts_json:
        content_type, body = "application/json", CLOSED_JSON
    else:
        content_type, body = "text/html; charset=utf-8", CLOSED_PAGE
    headers = [
        ("Content-Type", content_type),
        ("Content-Length", str(len(body))),
        ("Retry-After", "15"),
        ("Cache-Control", "no-store"),
    ]
    start_response("503 SERVICE UNAVAILABLE", headers)
    return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]


def pong(start_response: StartResponse) -> list[bytes]:
    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(PONG)))]
    start_response("200 OK", headers)
    return [PONG]


def readiness(environ: Environ, start_response: StartResponse) -> list[bytes]:
    """Runs the framework's ping. Its answer during maintenance becomes a pong."""
    answer: dict[str, Any] = {}

    def remember(status: str, headers: Any, exc_info: Any = None) -> Callable[[bytes], None]:
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


def is_probe(environ: Environ) -> bool:
    from_kubelet = environ.get("HTTP_USER_AGENT", "").startswith("kube-probe/")
    is_ping = environ.get("PATH_INFO") == PING and environ.get("REQUEST_METHOD") == "GET"
    return from_kubelet and is_ping


def is_asset(environ: Environ) -> bool:
    is_read = environ.get("REQUEST_METHOD") in ("GET", "HEAD")
    return is_read and environ.get("PATH_INFO", "").startswith("/assets/")


def application(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    if is_probe(environ):
        if environ.get("HTTP_X_FRAPPE_SITE_NAME") and not is_closed(site_of(environ)):
            return readiness(environ, start_response)
        return pong(start_response)
    if is_asset(environ):
        found = serve_asset(environ, start_response)
        if found is not None:
            return found
    if is_closed(site_of(environ)):
        return closed_page(environ, start_response)
    response: Iterable[bytes] = framework(environ, start_response)
    return response
