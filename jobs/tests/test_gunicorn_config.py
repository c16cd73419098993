import runpy
import socket
from pathlib import Path

import pytest

CONFIG = Path(__file__).parents[1] / "processes/gunicorn_config.py"


@pytest.mark.parametrize(("has_ipv6", "bind"), [(True, "[::]:8000"), (False, "0.0.0.0:8000")])
def test_the_address_is_of_each_family_that_the_kernel_has(
    monkeypatch: pytest.MonkeyPatch, has_ipv6: bool, bind: str
) -> None:
    monkeypatch.setattr(socket, "has_dualstack_ipv6", lambda: has_ipv6)
    assert runpy.run_path(str(CONFIG))["bind"] == bind
