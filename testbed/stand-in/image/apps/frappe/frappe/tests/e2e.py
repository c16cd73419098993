"""TEST CODE: methods for the end-to-end tests; the official image has none of them."""

import frappe
from frappe.utils import background_jobs


@frappe.whitelist()
def enqueue(method, queue="default", **kwargs):
    """Puts a job into a queue by HTTP; returns its id."""
    return background_jobs.enqueue(method, queue=queue, **kwargs).id


@frappe.whitelist()
def job_status(job_id):
    job = background_jobs.find_job(job_id)
    return job and job.get_status()


@frappe.whitelist()
def configured(key):
    """A key of the configuration, as this process of the framework reads it."""
    return frappe.conf.get(key)


@frappe.whitelist(allow_guest=True)
def client_address():
    """The address that the proxy names as the client's."""
    return frappe.request.headers.get("X-Forwarded-For")


@frappe.whitelist(allow_guest=True)
def sleep(seconds):
    """A slow request, for rollouts under load."""
    import time

    time.sleep(min(float(seconds), 60))
    return frappe.__version__


def print_todo(name, pdf_generator="wkhtmltopdf"):
    """A job that leaves a PDF as a private file."""
    from frappe.utils.print_format import get_pdf, print_page

    with open(frappe.get_site_path("private", "files", f"{name}.pdf"), "wb") as file:
        file.write(get_pdf(print_page("ToDo", name), pdf_generator))
    url = f"/private/files/{name}.pdf"
    frappe.db.insert("File", name=frappe.generate_hash(10), file_name=f"{name}.pdf", file_url=url, is_private=1)


def publish(text):
    """A job that sends an event."""
    frappe.publish_realtime("news", {"text": text})


def slow_todo(description, seconds):
    """A job that leaves a trace only when it was allowed to finish."""
    import time

    from frappe import client

    time.sleep(float(seconds))
    client.insert({"doctype": "ToDo", "description": description})
