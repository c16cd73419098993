"""TEST CODE: PDFs of documents, by the programs of the framework: wkhtmltopdf, and Chromium from version-16 on."""

import os
import re
import subprocess
import tempfile

import frappe
import pdfkit
from frappe import client
from werkzeug.wrappers import Response


@frappe.whitelist()
def download_pdf(doctype, name, pdf_generator="wkhtmltopdf"):
    pdf = get_pdf(print_page(doctype, name), pdf_generator)
    return Response(pdf, content_type="application/pdf", headers={"Content-Disposition": f'inline; filename="{name}.pdf"'})


def print_page(doctype, name):
    """A page whose links have the public address of the site, as those of the framework."""
    base = frappe.conf.host_name or f"https://{frappe.local.site}"
    body = re.sub(r'(src|href)="/', rf'\1="{base}/', client.get(doctype, name)["description"])
    return f"<!DOCTYPE html><html><head><meta charset='utf-8'></head><body>{body}</body></html>"


def get_pdf(html, pdf_generator="wkhtmltopdf"):
    return by_chromium(html) if pdf_generator == "chrome" else by_wkhtmltopdf(html)


def by_wkhtmltopdf(html):
    # Without an output path, pdfkit returns the content.
    return pdfkit.from_string(html, options={"quiet": "", "encoding": "UTF-8", "disable-javascript": ""})


def by_chromium(html):
    from frappe.utils import print_utils

    program = print_utils.find_or_download_chromium_executable()
    with tempfile.TemporaryDirectory() as folder:
        page, pdf = os.path.join(folder, "page.html"), os.path.join(folder, "page.pdf")
        with open(page, "w", encoding="utf-8") as file:
            file.write(html)
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-pdf-header-footer"]
        subprocess.run([program, *flags, f"--print-to-pdf={pdf}", f"file://{page}"], check=True, capture_output=True, timeout=60)
        with open(pdf, "rb") as file:
            return file.read()
