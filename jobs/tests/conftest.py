import os

import pytest


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test sees only the environment variables that it sets."""
    for name in list(os.environ):
        if name not in ("PATH", "HOME", "TMPDIR"):
            monkeypatch.delenv(name, raising=False)
