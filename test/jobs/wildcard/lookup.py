"""Looks names up with the C library, as pods do, where the node's search domain has a wildcard.

    unshare --net --mount python3 lookup.py NDOTS NAME...

Prints the address of each name.
"""

import socket
import subprocess
import sys
import tempfile
import threading

WILDCARD = ".wild.example.com"
SEARCH = f"shop.svc.cluster.local svc.cluster.local cluster.local {WILDCARD[1:]}"
ADDRESSES = {
    "demo-bench-redis.shop.svc.cluster.local": "10.96.0.5",
    "mariadb.databases.svc.cluster.local": "10.96.0.6",
    "db.example.com": "198.51.100.7",
}


def answer(query: bytes) -> bytes:
    labels, at = [], 12
    while length := query[at]:
        labels.append(query[at + 1 : at + 1 + length].decode())
        at += length + 1
    name = ".".join(labels).lower()
    address = "203.0.113.9" if name.endswith(WILDCARD) else ADDRESSES.get(name)
    question = query[12 : at + 5]
    is_found = address is not None and query[at + 1 : at + 3] == b"\0\1"
    flags = b"\x81\x80" if address else b"\x81\x83"
    head = query[:2] + flags + b"\0\1" + (b"\0\1" if is_found else b"\0\0") + bytes(4)
    record = b"\xc0\x0c\0\1\0\1\0\0\0\1\0\4" + socket.inet_aton(address or "0.0.0.0")
    return head + question + (record if is_found else b"")


def serve(server: socket.socket) -> None:
    while True:
        query, client = server.recvfrom(512)
        server.sendto(answer(query), client)


def main() -> None:
    ndots, *names = sys.argv[1:]
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with tempfile.NamedTemporaryFile("w") as resolv:
        resolv.write(f"search {SEARCH}\nnameserver 127.0.0.1\noptions ndots:{ndots}\n")
        resolv.flush()
        subprocess.run(["mount", "--bind", resolv.name, "/etc/resolv.conf"], check=True)
        server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        server.bind(("127.0.0.1", 53))
        threading.Thread(target=serve, args=(server,), daemon=True).start()
        for name in names:
            print(socket.getaddrinfo(name, 80, socket.AF_INET, socket.SOCK_STREAM)[0][4][0])


if __name__ == "__main__":
    main()
