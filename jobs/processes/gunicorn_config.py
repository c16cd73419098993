"""Where gunicorn listens: on all addresses of the pod, of both families.

An IPv6 socket takes connections of IPv4 too. A kernel without IPv6 cannot make one.
"""

import socket

from operator_constants import GUNICORN_PORT

bind = f"{'[::]' if socket.has_dualstack_ipv6() else '0.0.0.0'}:{GUNICORN_PORT}"
