"""gunicorn's threaded worker, which answers every accepted connection before it ends.

    gunicorn --pythonpath=... --worker-class=gunicorn_worker.Worker ...

gunicorn 21 to 23 wait for the first bytes of a connection. A worker that ends (`--max-requests`,
SIGTERM) closes these connections, although their clients may have sent a request. Before and after
these versions an accepted connection is passed to a thread at once, and the worker waits for its
threads. This worker always does so: the proxy sends its request as soon as it is connected. With
any version, a connection without data is closed after a minute, because silent clients could occupy
all threads.
"""

import errno
import inspect
import socket
import struct
from typing import Any

from gunicorn.workers import gthread

WAITS_FOR_DATA = (
    "on_client_socket_readable" in vars(gthread.ThreadWorker)
    and "server" in inspect.signature(gthread.ThreadWorker.accept).parameters
)
NO_CONNECTION = (errno.EAGAIN, errno.EWOULDBLOCK, errno.ECONNABORTED)

# A timeout of the kernel (struct timeval: seconds, microseconds): gunicorn resets Python's timeout.
RECEIVE_TIMEOUT = struct.pack("ll", 60, 0)


class Worker(gthread.ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    def enqueue_req(self, conn: Any) -> None:
        conn.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, RECEIVE_TIMEOUT)
        super().enqueue_req(conn)

    if WAITS_FOR_DATA:

        def accept(self, server: Any, listener: Any) -> None:
            try:
                connection, client = listener.accept()
            except OSError as error:
                if error.errno in NO_CONNECTION:
                    return
                raise
            self.nr_conns += 1
            self.enqueue_req(gthread.TConn(self.cfg, connection, client, server))
