"""`bench ARGUMENT...` for RQ's workers, with a stop that loses no job:  rq_worker.py worker ARGUMENT...

RQ ends at once at SIGTERM unless it is BUSY, and it is BUSY only some milliseconds after Redis has moved a job out of
the queue for it: a job of that moment stayed aside, and was called failed minutes later without having run. Here a
stop waits while a job is taken: the job runs, and then the worker ends. Redis is asked for a second at a time, so a
worker without a job waits no longer. Runs in the bench's directory; with an RQ that is not known it is `bench`.
"""

import inspect
import os
import runpy
import sys
import time
from types import SimpleNamespace

WAIT_SECONDS = 1


def is_known(worker, queue):
    """Whether the parts of RQ call each other as in 1.15 and 2.6."""
    uses = {
        worker.request_stop: {"_shutdown"},
        worker.work: {"_stop_requested", "dequeue_job_and_maintain_ttl", "execute_job"},
        worker.dequeue_job_and_maintain_ttl: {"dequeue_any"},
    }
    if not all(names.issubset(function.__code__.co_names) for function, names in uses.items()):
        return False
    return list(inspect.signature(queue.dequeue_any).parameters)[:2] == ["queues", "timeout"]


def defer_stop():
    """RQ's worker keeps a stop in mind from asking for a job until it is BUSY with it. ImportError where it cannot."""
    from rq import Queue, Worker
    from rq.exceptions import DequeueTimeout
    from rq.worker import StopRequested, WorkerStatus

    if not is_known(Worker, Queue):
        raise ImportError("this RQ is not known")
    shutdown, execute, dequeue = Worker._shutdown, Worker.execute_job, Queue.dequeue_any.__func__
    state = SimpleNamespace(takes=False, stops=False)

    def _shutdown(self):
        # Runs in the signal's handler, in the midst of a command to Redis: nothing is asked of Redis here.
        if state.takes and self.get_state() != WorkerStatus.BUSY:
            self._stop_requested = state.stops = True
        else:
            shutdown(self)

    def dequeue_any(cls, queues, timeout, *args, **kwargs):
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            state.takes = True
            try:
                taken = dequeue(cls, queues, None if timeout is None else min(timeout, WAIT_SECONDS), *args, **kwargs)
                if taken is not None:
                    return taken
                failure = None
            except Exception as error:
                failure = error
            # In this order: a signal between the two ends the worker by itself.
            state.takes = False
            if state.stops:
                raise StopRequested
            if failure is None:
                return None
            if not isinstance(failure, DequeueTimeout) or time.monotonic() >= end:
                raise failure

    def execute_job(self, *args, **kwargs):
        try:
            return execute(self, *args, **kwargs)
        finally:
            state.takes = False

    Worker._shutdown, Worker.execute_job, Queue.dequeue_any = _shutdown, execute_job, classmethod(dequeue_any)


def main():
    try:
        defer_stop()
    except (ImportError, AttributeError) as error:
        print(f"app-operator: a worker that is stopped can lose the job that it takes: {error}", flush=True)
        os.execvp("bench", ["bench", *sys.argv[1:]])
    # As `bench` starts it: `python -m`, in the folder of the sites.
    os.chdir("sites")
    sys.path[0] = os.getcwd()
    sys.argv.insert(1, "frappe")
    runpy.run_module("frappe.utils.bench_helper", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
