"""The framework's WSGI application behind probes that can pass. Mounted as /wsgi/app_operator_wsgi.py.

    gunicorn --pythonpath=/wsgi ... app_operator_wsgi:application

The framework picks the site by Host, and the kubelet's Host is the pod's IP: it always gets 404. So
- a kubelet's `GET /api/method/ping` that names no site is answered here: the process is up, the code loaded;
- a kubelet's ping that names a site (X-Frappe-Site-Name) goes through the framework, and its 503 of maintenance
  counts as ready, so that visitors get the framework's own page and not a proxy's error;
- SITE_NAME pins every request to that site, whatever Host or header it carries;
- anything else passes through untouched.

A client that poses as a kubelet learns nothing but "pong".
"""

import os

import frappe.app

PING = "/api/method/ping"
PONG = b'{"message":"pong"}'

if os.environ.get("SITE_NAME"):
    frappe.app._site = os.environ["SITE_NAME"]

framework = frappe.app.application


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
        if environ.get("HTTP_X_FRAPPE_SITE_NAME"):
            return readiness(environ, start_response)
        return pong(start_response)
    return framework(environ, start_response)
