"""gunicorn's threaded worker, which answers every connection that it has taken before it ends.

    gunicorn --pythonpath=... --worker-class=gunicorn_worker.Worker ...

gunicorn 21 to 23 wait for the first bytes of a connection, and a worker that ends (`--max-requests`, SIGTERM) closes
those that it waits for: their client has sent its request, and is told nothing. Before and after those versions a
connection goes to a thread as soon as it is taken, and the worker waits for its threads. So it does here: the proxy in
front sends its request as soon as it is connected. Whoever says nothing for a minute is given up, with any version: a
thread would wait for ever, and some silent connections would hold them all.
"""

import errno
import inspect
import socket
import struct

from gunicorn.workers import gthread

WAITS = "on_client_socket_readable" in vars(gthread.ThreadWorker) and "server" in inspect.signature(gthread.ThreadWorker.accept).parameters
NOT_THERE = (errno.EAGAIN, errno.EWOULDBLOCK, errno.ECONNABORTED)

# The kernel's own, as a struct timeval of seconds and microseconds: gunicorn takes away a timeout of Python's.
SILENCE = struct.pack("ll", 60, 0)


class Worker(gthread.ThreadWorker):
    def enqueue_req(self, conn):
        conn.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, SILENCE)
        super().enqueue_req(conn)

    if WAITS:

        def accept(self, server, listener):
            try:
                connection, client = listener.accept()
            except OSError as error:
                if error.errno in NOT_THERE:
                    return
                raise
            self.nr_conns += 1
            self.enqueue_req(gthread.TConn(self.cfg, connection, client, server))
