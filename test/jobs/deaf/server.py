"""A web server that never answers the first connection made to it, as behind a Service whose node has lost track of one.

    server.py PORT

A filter on its socket drops the packets of that connection's port, every one of them; those of other ports pass.
Answers with the method and the body.
"""

import ctypes
import http.server
import socket
import struct
import sys
import threading
import time

SO_ATTACH_FILTER = 26
SYN_SENT = "02"
PORT = int(sys.argv[1])


def attach(listener, *instructions):
    """A classic BPF program, which sees segments from the TCP header on."""
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in instructions)
    buffer = ctypes.create_string_buffer(code)
    program = struct.pack("HL", len(instructions), ctypes.addressof(buffer))
    listener.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)


DROP = (0x06, 0, 0, 0)
ACCEPT = (0x06, 0, 0, 0x40000)
LOAD_SOURCE_PORT = (0x28, 0, 0, 0)


def connecting():
    """Source ports of connections to us that are not answered."""
    with open("/proc/net/tcp") as table:
        rows = [line.split() for line in table][1:]
    return [int(row[1].split(":")[1], 16) for row in rows if row[3] == SYN_SENT and int(row[2].split(":")[1], 16) == PORT]


def ignore_first(listener):
    while not (first := connecting()):
        time.sleep(0.02)
    attach(listener, LOAD_SOURCE_PORT, (0x15, 0, 1, first[0]), DROP, ACCEPT)
    print("ignores", first[0], flush=True)


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        answer = self.command.encode() + b" " + body
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_POST = answer


server = http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Handler)
attach(server.socket, DROP)
threading.Thread(target=ignore_first, args=(server.socket,), daemon=True).start()
print("listens", flush=True)
server.serve_forever()
