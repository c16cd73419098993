"""Runs `bench ARGUMENT...` for RQ's workers so that stopping it loses no job:

    rq_worker.py worker ARGUMENT...

On SIGTERM, RQ ends at once unless its state is BUSY. It becomes BUSY only some milliseconds after
Redis has moved a job out of the queue. A job that was moved in that moment did not run, and RQ
reported it as failed minutes later. This module delays the stop while a job is being dequeued: the
job runs, and then the worker ends. Each dequeue command waits for at most a second, so an idle
worker ends within a second. It runs in the bench's directory. With an unknown version of RQ
nothing is delayed.
"""

import inspect
import os
import runpy
import sys
import time
from types import SimpleNamespace
from typing import Any

from database_tls import encrypt_framework
from print_patches import patch_print_programs

DEQUEUE_SECONDS = 1


def is_known_version(worker: Any, queue: Any) -> bool:
    """Whether the functions of RQ call each other as in 1.15 and 2.6."""
    calls = {
        worker.request_stop: {"_shutdown"},
        worker.work: {"_stop_requested", "dequeue_job_and_maintain_ttl", "execute_job"},
        worker.dequeue_job_and_maintain_ttl: {"dequeue_any"},
    }
    if not all(names.issubset(caller.__code__.co_names) for caller, names in calls.items()):
        return False
    return list(inspect.signature(queue.dequeue_any).parameters)[:2] == ["queues", "timeout"]


def delay_stop() -> None:
    """Makes RQ's worker delay a stop until it is BUSY. ImportError if that is not possible."""
    from rq import Queue, Worker
    from rq.exceptions import DequeueTimeout
    from rq.worker import StopRequested, WorkerStatus

    if not is_known_version(Worker, Queue):
        raise ImportError("unknown version of RQ")
    shutdown, execute = Worker._shutdown, Worker.execute_job
    dequeue = Queue.dequeue_any.__func__
    state = SimpleNamespace(is_dequeuing=False, stop_requested=False)

    def _shutdown(self: Any) -> None:
        # A signal handler, possibly during a Redis command: it must not send another one.
        if state.is_dequeuing and self.get_state() != WorkerStatus.BUSY:
            self._stop_requested = state.stop_requested = True
        else:
            shutdown(self)

    def dequeue_any(cls: Any, queues: Any, timeout: Any, *args: Any, **kwargs: Any) -> Any:
        end = None if timeout is None else time.monotonic() + timeout
        seconds = None if timeout is None else min(timeout, DEQUEUE_SECONDS)
        while True:
            failure: Exception | None = None
            state.is_dequeuing = True
            try:
                job = dequeue(cls, queues, seconds, *args, **kwargs)
                if job is not None:
                    return job
            except Exception as error:
                failure = error
            # In this order: a signal between the two lines ends the worker itself.
            state.is_dequeuing = False
            if state.stop_requested:
                raise StopRequested
            if failure is None:
                return None
            has_time = end is not None and time.monotonic() < end
            if not isinstance(failure, DequeueTimeout) or not has_time:
                raise failure

    def execute_job(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return execute(self, *args, **kwargs)
        finally:
            state.is_dequeuing = False

    Worker._shutdown, Worker.execute_job = _shutdown, execute_job
    Queue.dequeue_any = classmethod(dequeue_any)


def main() -> None:
    try:
        delay_stop()
    except (ImportError, AttributeError) as error:
        print(
            f"app-operator: a worker that is stopped can lose the job that it dequeues: {error}",
            flush=True,
        )
    # As `bench` starts it: `python -m`, in the directory of the sites.
    os.chdir("sites")
    sys.path[0] = os.getcwd()
    encrypt_framework()
    patch_print_programs()
    sys.argv.insert(1, "frappe")
    runpy.run_module("frappe.utils.bench_helper", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
