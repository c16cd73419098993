"""TEST CODE: with STANDIN_STATES set, the answers of sites in certain states, without a database.

Each as the real 15.44.2 answered by hand: an unknown site 404, maintenance 503 with SessionStopped, database down 500, too busy 503
without it.
"""

import json

import frappe.app
from frappe.utils import get_assets_json

SITES = {"up.example.com": 200, "down.example.com": 500, "paused.example.com": 503, "busy.example.com": 429}


def application(environ, start_response):
    site = frappe.app._site or environ.get("HTTP_X_FRAPPE_SITE_NAME") or environ["HTTP_HOST"].split(":")[0]
    state = SITES.get(site, 404)
    if state == 503:
        start_response("503 SERVICE UNAVAILABLE", [("Content-Type", "application/json")])
        return [b'{"exc_type":', b'"SessionStopped"}']
    if state == 429:
        start_response("503 SERVICE UNAVAILABLE", [("Content-Type", "application/json")])
        return [b'{"exc_type":"QueueOverloaded"}']
    if state != 200:
        start_response(f"{state} NO", [("Content-Type", "text/plain")])
        return [b"no"]
    if environ["PATH_INFO"] == "/bundles":
        start_response("200 OK", [("Content-Type", "application/json")])
        return [json.dumps(get_assets_json()).encode()]
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    start_response("200 OK", [("Content-Type", "text/plain"), ("Set-Cookie", "sid=1"), ("X-Site", site)])
    return (part for part in (b"framework ", environ["REQUEST_METHOD"].encode(), b" ", environ["PATH_INFO"].encode(), b" ", body))
