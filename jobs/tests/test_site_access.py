import json
from pathlib import Path
from typing import Any

import pytest

from site_access import MARKER, closed_reason, is_closed

UPGRADING = "is being upgraded or restored"


@pytest.mark.parametrize(
    ("marker", "image", "reason"),
    [
        ({}, "image:1", None),
        ({"code": {"image": "image:1"}}, "image:1", None),
        ({"code": {"image": "image:1"}}, "", None),
        ({"code": {"frappe": "15"}}, "image:1", None),
        ({"code": {"image": "image:2"}}, "image:1", "has data of image image:2, not of image:1"),
        ({"upgrade": {}, "code": {"image": "image:1"}}, "image:1", UPGRADING),
    ],
)
def test_reason(marker: dict[str, Any], image: str, reason: str | None) -> None:
    assert closed_reason(marker, image) == reason


def test_a_directory_without_a_readable_marker_is_open(tmp_path: Path) -> None:
    site = tmp_path / "shop"
    site.mkdir()
    assert not is_closed("shop", str(tmp_path), "image:1")
    (site / MARKER).write_text("{")
    assert not is_closed("shop", str(tmp_path), "image:1")
    (site / MARKER).write_text(json.dumps({"upgrade": {}}))
    assert is_closed("shop", str(tmp_path), "image:1")
    assert not is_closed("../shop", str(tmp_path / "shop"), "image:1")
