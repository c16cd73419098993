"""TEST CODE: jobs in the real RQ: names of queues and jobs, timeouts and what a worker does as in the framework."""

import os
import time
from uuid import uuid4

import frappe
import redis
from frappe.utils import get_bench_id
from rq import Queue, Worker
from rq.exceptions import NoSuchJobError
from rq.job import Job, JobStatus

FAILURE_SECONDS, RESULT_SECONDS = 7 * 24 * 3600, 600
_connection = None


def get_redis_conn(username=None, password=None):
    """One connection a process, as in the framework: a site cannot have a separate queue server."""
    global _connection
    if _connection is None:
        options = {"username": username, "password": password} if username else {}
        _connection = redis.from_url(frappe.get_conf().redis_queue, **options)
        _connection.ping()
    return _connection


def get_queues_timeout():
    workers = frappe.get_conf().get("workers") or {}
    custom = {name: config.get("timeout", 300) for name, config in workers.items()}
    return {"short": 300, "default": 300, "long": 1500, **custom}


def generate_qname(queue):
    """`bench_id` of the site's configuration wins over the bench's, so a site can have separate queues."""
    return f"{get_bench_id()}:{queue}"


def get_queue_list(queues=None):
    known = list(get_queues_timeout())
    for queue in queues or []:
        if queue not in known:
            frappe.throw(f"Queue should be one of {', '.join(known)}")
    return list(queues or known)


def get_queue(queue):
    get_queue_list([queue])
    return Queue(generate_qname(queue), connection=get_redis_conn())


# RQ 2.6 refuses ids with a colon.
SEPARATOR = "||" if frappe.VERSION >= (16, 0) else "::"


def create_job_id(job_id=None):
    job_id = str(job_id or uuid4())
    if frappe.VERSION >= (16, 0):
        job_id = job_id.replace(":", "|")
    return f"{frappe.local.site}{SEPARATOR}{job_id}"


def enqueue(method, queue="default", timeout=None, job_id=None, deduplicate=False, enqueue_after_commit=False, at_front=False, now=False, **kwargs):
    if now:
        return frappe.call(method, **kwargs)
    full_id = create_job_id(job_id)
    if deduplicate and (known := find_job(full_id)):
        if known.get_status() in (JobStatus.QUEUED, JobStatus.STARTED):
            return None
        known.delete()
    job = {
        "site": frappe.local.site, "user": frappe.session.user, "method": method, "event": None, "job_name": str(method),
        "is_async": True, "kwargs": kwargs,
    }  # fmt: skip

    def put():
        return get_queue(queue).enqueue_call(
            execute_job, timeout=timeout or get_queues_timeout()[queue], kwargs=job, at_front=at_front,
            failure_ttl=FAILURE_SECONDS, result_ttl=RESULT_SECONDS, job_id=full_id,
        )  # fmt: skip

    if enqueue_after_commit:
        frappe.db.after_commit.append(put)
        return None
    return put()


def find_job(full_id):
    try:
        return Job.fetch(full_id, connection=get_redis_conn())
    except NoSuchJobError:
        return None


def execute_job(site, method, event=None, job_name=None, kwargs=None, user=None, is_async=True):
    """In the work horse: the job in its site's transaction."""
    frappe.init(site)
    frappe.connect()
    try:
        frappe.set_user(user or "Administrator")
        result = frappe.get_attr(method)(**(kwargs or {}))
        frappe.db.commit()
        return result
    except Exception:
        frappe.db.rollback()
        frappe.log_error(title=str(method))
        frappe.db.commit()
        raise
    finally:
        frappe.destroy()


def start_worker(queue=None, quiet=False, rq_username=None, rq_password=None, burst=False, strategy=None):
    with frappe.init_site():  # the common configuration names the queue server and the queues' prefix
        connection = get_redis_conn(rq_username, rq_password)
        names = [part.strip() for part in queue.split(",")] if queue else None
        queues = [generate_qname(name) for name in get_queue_list(names)]
    options = {"dequeue_strategy": strategy} if strategy else {}
    Worker(queues, connection=connection).work(
        logging_level="WARNING" if quiet else "INFO", burst=burst, date_format="%Y-%m-%d %H:%M:%S",
        log_format="%(asctime)s,%(msecs)03d %(message)s", **options,
    )  # fmt: skip


def pending_jobs(site):
    """Ids of the site's jobs that wait or run."""
    found = []
    for name in get_queue_list():
        queue = get_queue(name)
        ids = [*queue.job_ids, *queue.started_job_registry.get_job_ids()]
        found += [job_id for job_id in ids if job_id.startswith(f"{site}{SEPARATOR}")]
    return found


def test_job(s):
    """Sleeps; the framework has the same function for trying workers."""
    print(f"sleeping for {s} s in {os.getpid()}", flush=True)
    time.sleep(float(s))
