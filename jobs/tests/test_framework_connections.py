import socket
import sys
from types import ModuleType

import pytest

import framework_connections


def is_open_by_ipv4(module: ModuleType, host: str, port: int) -> bool:
    """As the framework does it."""
    with module.socket.socket(module.socket.AF_INET, module.socket.SOCK_STREAM) as probe:
        probe.settimeout(5)
        try:
            probe.connect((host, port))
            probe.shutdown(module.socket.SHUT_RDWR)
            return True
        except OSError:
            return False


@pytest.mark.parametrize(("family", "host"), [("AF_INET6", "::1"), ("AF_INET", "127.0.0.1")])
def test_a_server_of_either_family_is_found(
    monkeypatch: pytest.MonkeyPatch, family: str, host: str
) -> None:
    module = ModuleType("frappe.utils.connections")
    module.socket = socket  # type: ignore[attr-defined]
    utils = ModuleType("frappe.utils")
    utils.connections = module  # type: ignore[attr-defined]
    for name, value in (
        ("frappe", ModuleType("frappe")),
        ("frappe.utils", utils),
        ("frappe.utils.connections", module),
    ):
        monkeypatch.setitem(sys.modules, name, value)
    with socket.create_server((host, 0), family=getattr(socket, family)) as server:
        port = server.getsockname()[1]
        assert is_open_by_ipv4(module, host, port) == (family == "AF_INET")
        framework_connections.check_both_families()
        assert is_open_by_ipv4(module, host, port)
    assert not is_open_by_ipv4(module, host, port)
