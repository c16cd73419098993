"""TEST CODE: files of a site. Private ones are nginx's to send: the answer only says which."""

import mimetypes
import os
from urllib.parse import quote

import frappe
from frappe.utils import now
from werkzeug.exceptions import Forbidden, NotFound
from werkzeug.utils import secure_filename
from werkzeug.wrappers import Response

DENIED = "You don't have permission to access this file"


@frappe.whitelist()
def upload_file(is_private=0, **_):
    """Multipart, field `file`. `is_private` 1 keeps it from everybody who is not logged in."""
    sent = frappe.request.files.get("file")
    if sent is None:
        frappe.throw("There is no file in the request")
    private = str(is_private) == "1"
    name = secure_filename(sent.filename or "")
    if not name:
        frappe.throw("The file has no name")
    folder = frappe.get_site_path("private" if private else "public", "files")
    content = sent.stream.read()
    with open(os.path.join(folder, name), "wb") as file:
        file.write(content)
    url = f"/private/files/{name}" if private else f"/files/{name}"
    row = {"name": frappe.generate_hash(10), "file_name": name, "file_url": url, "file_size": len(content)}
    frappe.db.insert("File", **row, is_private=int(private), owner=frappe.session.user, creation=now(), modified=now())
    return row


def download_private_file(path):
    if frappe.session.user == "Guest" or not frappe.db.select("File", ["name"], {"file_url": path}):
        raise Forbidden(DENIED)
    return send(path.split("/private/", 1)[1])


def download_backup(path):
    if frappe.session.user_type != "System User":
        raise Forbidden("You need to be logged in and have System Manager Role to be able to access backups.")
    return send(path.strip("/"))


def send(path):
    path = os.path.normpath(os.path.join("private", path))
    if not path.startswith("private/"):
        raise NotFound
    mimetype = mimetypes.guess_type(path)[0] or "application/octet-stream"
    if frappe.request.headers.get("X-Use-X-Accel-Redirect"):
        return Response(headers={"X-Accel-Redirect": quote("/protected/" + path)}, mimetype=mimetype)
    try:
        file = open(frappe.get_site_path(path), "rb")  # noqa: SIM115  the response closes it
    except OSError:
        raise NotFound from None
    return Response(file, mimetype=mimetype, direct_passthrough=True)
