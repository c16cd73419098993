"""TEST CODE: /api/method/<function> and /api/resource/<DocType>[/<name>]."""

import json

import frappe
from frappe import client, pages, sessions
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response

SHORT_NAMES = {"ping": "frappe.ping", "version": "frappe.api.version", "upload_file": "frappe.files.upload_file"}


def answer(value, key="message", status=200):
    return Response(json.dumps({key: value} if key else value, default=str, separators=(",", ":")), status=status, content_type="application/json")


@frappe.whitelist(allow_guest=True)
def version():
    return frappe.__version__


def handle(request):
    parts = request.path.removeprefix("/api/").removeprefix("v1/").strip("/").split("/", 2)
    if parts[0] == "method" and len(parts) == 2:
        return handle_method(parts[1])
    if parts[0] == "resource" and len(parts) >= 2:
        return handle_resource(request, *parts[1:])
    raise NotFound


def handle_method(name):
    if name == "login":
        return login()
    if name == "logout":
        sessions.clear_sessions(frappe.session.user)
        return answer("Logged Out")
    path = SHORT_NAMES.get(name, name)
    try:
        function = frappe.get_attr(path)
    except (AttributeError, ModuleNotFoundError, ValueError, frappe.AppNotInstalledError):
        frappe.throw(f"Failed to get method for command {name}", frappe.ValidationError)
    if function not in frappe.whitelisted:
        frappe.throw(f"Function {path} is not whitelisted.", frappe.PermissionError)
    if frappe.session.user == "Guest" and function not in frappe.guest_methods:
        frappe.throw(f"Login to access {path}", frappe.PermissionError)
    arguments = {key: value for key, value in frappe.form_dict.items() if key not in ("cmd", "sid", "csrf_token")}
    value = function(**arguments)
    return value if isinstance(value, Response) else answer(value)


def login():
    form = frappe.form_dict
    sid = sessions.login(form.usr or "", form.pwd or "")
    response = answer({"message": "Logged In", "home_page": f"/{pages.DESK}"}, key=None)
    user = frappe.session.user
    for name, value in (("sid", sid), ("user_id", user), ("full_name", user), ("system_user", "yes")):
        response.set_cookie(name, value, httponly=name == "sid", samesite="Lax")
    return response


def handle_resource(request, doctype, name=None):
    if frappe.session.user == "Guest":
        frappe.throw("Login to access", frappe.PermissionError)
    form = frappe.form_dict
    if request.method == "GET" and name is None:
        fields, filters = json.loads(form.fields or '["name"]'), json.loads(form.filters or "{}")
        limit = form.limit_page_length or form.limit or 20
        return answer(client.get_list(doctype, fields, filters, limit), "data")
    if request.method == "GET":
        return answer(client.get(doctype, name), "data")
    if request.method == "POST":
        return answer(client.insert({**form, "doctype": doctype}), "data")
    if request.method == "PUT":
        return answer(client.update(doctype, name, form), "data")
    if request.method == "DELETE":
        client.delete(doctype, name)
        return answer("ok", status=202)
    raise NotFound


