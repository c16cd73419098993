"""Lets `bench migrate` find servers that have an IPv6 address only.

Before a migration the framework connects to Redis and to the database by a socket of IPv4.
"""

import os
import socket
from types import SimpleNamespace
from typing import Any


class Socket(socket.socket):
    """A socket that connects to a host by either family."""

    def connect(self, address: Any) -> None:
        if self.family != socket.AF_INET:
            super().connect(address)
            return
        with socket.create_connection(address, self.gettimeout()) as connection:
            os.dup2(connection.fileno(), self.fileno(), inheritable=False)


def check_both_families() -> None:
    try:
        from frappe.utils import connections
    except ModuleNotFoundError:
        return  # a version without this check
    connections.socket = SimpleNamespace(**{**vars(socket), "socket": Socket})
