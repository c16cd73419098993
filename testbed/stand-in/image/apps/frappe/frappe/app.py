"""TEST CODE: the WSGI application: which site, in which state, and who answers."""

import json
import os
import sys
import traceback

import frappe
import frappe.utils.redis_wrapper
from frappe import api, files, pages, sessions
from frappe.utils import cint
from werkzeug.exceptions import HTTPException, NotFound
from werkzeug.wrappers import Request, Response

_site = None
_sites_path = os.environ.get("SITES_PATH", ".")

UNSAFE = ("POST", "PUT", "DELETE", "PATCH")

# Imported by gunicorn: from here on the cache is waited for.
frappe.utils.redis_wrapper.web_retries = 70


@Request.application
def application(request):
    try:
        init_request(request)
        response = handle(request)
        finish(request)
    except HTTPException as error:
        response = error.get_response(request.environ)
    except Exception as error:
        response = handle_exception(request, error)
    finally:
        destroy()
    return response


def init_request(request):
    frappe.destroy()  # a thread serves one site after the other
    site = _site or request.headers.get("X-Frappe-Site-Name") or request.host.split(":")[0]
    try:
        frappe.init(site, sites_path=_sites_path, force=True)
    except frappe.IncorrectSitePath as error:
        raise NotFound(str(error)) from None
    frappe.local.request = request
    if not frappe.conf.db_name:
        raise NotFound
    if frappe.conf.maintenance_mode and not frappe.conf.allow_reads_during_maintenance:
        raise frappe.SessionStopped("Session Stopped")
    frappe.connect(set_admin_as_user=False)
    if frappe.conf.maintenance_mode:
        frappe.flags.read_only = True
        frappe.db.begin(read_only=True)
    request.max_content_length = cint(frappe.conf.max_file_size) or 25 * 1024 * 1024
    frappe.local.form_dict = form_of(request)
    sessions.resume(request)


def form_of(request):
    if request.is_json and request.get_data():
        body = request.get_json()
        return frappe._dict(body if isinstance(body, dict) else {"data": body})
    return frappe._dict({**request.args.to_dict(), **request.form.to_dict()})


def handle(request):
    path = request.path
    if path.startswith("/api/"):
        return api.handle(request)
    if path.startswith("/private/files/"):
        return files.download_private_file(path)
    if path.startswith("/backups/"):
        return files.download_backup(path)
    if request.method in ("GET", "HEAD", "POST"):
        return pages.page(path)
    raise NotFound


def finish(request):
    if not frappe.db:
        return
    if request.method in UNSAFE and not frappe.flags.read_only:
        frappe.db.commit()
    else:
        frappe.db.rollback()


def destroy():
    try:
        frappe.destroy()
    except Exception:
        frappe.local.db = None


def handle_exception(request, error):
    """JSON for /api, a page for browsers; unexpected errors are written to standard error."""
    if frappe.db and frappe.db.is_read_only_error(error):
        error = frappe.InReadOnlyMode("Site is running in read only mode for maintenance or site update")
    status = getattr(error, "http_status_code", 500)
    if status >= 500 and not isinstance(error, frappe.SessionStopped | frappe.InReadOnlyMode):
        traceback.print_exception(error, file=sys.stderr)
    kind = type(error).__name__
    if request.path.startswith("/api/") and not request.headers.get("Accept", "").startswith("text"):
        body = {"exc_type": kind, "exception": f"frappe.exceptions.{kind}"}
        if status < 500:
            body["_server_messages"] = json.dumps([str(error)])
        return Response(json.dumps(body), status=status, content_type="application/json")
    title = {503: "Updating", 403: "Not Permitted", 401: "Session Expired", 404: "Not Found"}.get(status, "Server Error")
    return Response(pages.message(title), status=status, content_type="text/html; charset=utf-8")


if os.environ.get("STANDIN_STATES"):
    from frappe.tests.states import application  # noqa: F811
