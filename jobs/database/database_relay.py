"""Passes the connections of MariaDB's client programs on, but no clear text.

Without --ssl-verify-server-cert, which also checks the host name, these programs log in to a server
that offers no TLS as if TLS had not been wanted. The relay reads the server's first packet and the
client's answer. Unless the one offers TLS and the other asks for it, it ends the connection. It
cannot read what follows.
"""

import os
import socket
import threading
from contextlib import suppress

CLIENT_SSL = 0x800
HEADER_BYTES = 4
CONNECT_SECONDS = 10
CHUNK = 64 << 10


# By process, because threads do not survive a fork, and by server.
_relays: dict[tuple[int, str, int], tuple[str, int]] = {}


def start_relay(host: str, port: int) -> tuple[str, int]:
    """The address of a relay to a server, which runs until this process ends."""
    key = (os.getpid(), host, port)
    if key not in _relays:
        _relays[key] = listen(host, port)
    return _relays[key]


def listen(host: str, port: int) -> tuple[str, int]:
    listener = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        while True:
            client, _ = listener.accept()
            threading.Thread(target=serve, args=(client, host, port), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    address: tuple[str, int] = listener.getsockname()
    return address


def serve(client: socket.socket, host: str, port: int) -> None:
    with client, suppress(OSError):
        server = socket.create_connection((host, port), CONNECT_SECONDS)
        with server:
            greeting = read_packet(server)
            if not offers_tls(greeting):
                return
            client.sendall(greeting)
            answer = read_packet(client)
            if not asks_for_tls(answer):
                return
            server.sendall(answer)
            for one in (client, server):
                one.settimeout(None)
            back = threading.Thread(target=copy, args=(server, client), daemon=True)
            back.start()
            copy(client, server)
            back.join()


def copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(CHUNK):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def read_packet(source: socket.socket) -> bytes:
    source.settimeout(CONNECT_SECONDS)
    header = read_bytes(source, HEADER_BYTES)
    return header + read_bytes(source, int.from_bytes(header[:3], "little"))


def read_bytes(source: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = source.recv(size - len(data))
        if not part:
            raise ConnectionError("the connection has ended")
        data += part
    return data


def offers_tls(greeting: bytes) -> bool:
    """Whether a server's first packet has the flag: it follows the version, an id and a nonce."""
    payload = greeting[HEADER_BYTES:]
    end = payload.find(b"\0")
    if payload[:1] != b"\x0a" or end < 0:
        return False
    flags = payload[end + 1 + 4 + 8 + 1 :][:2]
    return bool(int.from_bytes(flags, "little") & CLIENT_SSL)


def asks_for_tls(answer: bytes) -> bool:
    """Whether a client's first packet is a request for TLS: 32 bytes, and no login."""
    payload = answer[HEADER_BYTES:]
    return len(payload) == 32 and bool(int.from_bytes(payload[:2], "little") & CLIENT_SSL)
