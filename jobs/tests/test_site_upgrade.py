from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from site_upgrade import Upgrade


class Queues:
    """Records how long an upgrade waits for the running jobs."""

    errors = OSError

    def __init__(self) -> None:
        self.waits: list[float] = []

    def set_aside(self) -> None:
        pass

    def wait_until_idle(self, seconds: float) -> None:
        self.waits.append(seconds)


class Database:
    def wait_until_unused(self, seconds: float) -> None:
        pass


@pytest.mark.parametrize(("value", "seconds"), [(None, 1620), ("3720", 3720), ("86520", 86520)])
def test_waits_for_running_jobs_as_long_as_the_environment_says(
    monkeypatch: pytest.MonkeyPatch, value: str | None, seconds: int
) -> None:
    if value is not None:
        monkeypatch.setenv("JOBS_WAIT_SECONDS", value)
    queues = Queues()
    parts: dict[str, Any] = {"location": SimpleNamespace(site=Path("site")), "database": Database()}
    upgrade = Upgrade(**parts)
    monkeypatch.setattr(upgrade, "close_in_configuration", lambda: queues)
    upgrade.drain(0)
    assert queues.waits == [seconds]
