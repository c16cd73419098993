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


def slow_todo(description, seconds):
    """A job that leaves a trace only when it was allowed to finish."""
    import time

    from frappe import client

    time.sleep(float(seconds))
    client.insert({"doctype": "ToDo", "description": description})
