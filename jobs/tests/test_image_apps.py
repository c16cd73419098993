from pathlib import Path

import pytest

from image_apps import (
    apps_of_image,
    check_restorable,
    check_upgradable,
    fingerprint,
    version_number,
)
from job_result import JobError


def test_version_number() -> None:
    assert version_number("15.44.2+c0ffee") == (15, 44, 2)
    assert version_number("unknown") == ()


def test_lists_apps_with_their_versions(tmp_path: Path) -> None:
    for app, text in (("frappe", '__version__ = "15.1.0"\n'), ("crm", "")):
        package = tmp_path / "apps" / app / app
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(text)
    (tmp_path / "apps" / "not-an-app").mkdir()
    assert apps_of_image(tmp_path) == {"crm": "unknown", "frappe": "15.1.0"}


def test_the_fingerprint_changes_with_patches(tmp_path: Path) -> None:
    package = tmp_path / "apps" / "crm" / "crm"
    package.mkdir(parents=True)
    before = fingerprint(tmp_path, "crm")
    (package / "patches.txt").write_text("crm.patches.one\n")
    assert fingerprint(tmp_path, "crm") != before


def test_a_backup_of_the_same_or_older_code_can_be_restored() -> None:
    check_restorable({"frappe": "15.2.0"}, "s3://b/x", {"frappe": "15.1.0"})
    with pytest.raises(JobError, match=r"frappe 15\.3\.0 \(image: 15\.2\.0\)"):
        check_restorable({"frappe": "15.2.0"}, "s3://b/x", {"frappe": "15.3.0"})
    with pytest.raises(JobError, match="of a site with crm"):
        check_restorable({"frappe": "15.2.0"}, "s3://b/x", {"crm": "1"})


def test_data_of_newer_code_cannot_be_upgraded() -> None:
    code = {"frappe": "15.2.0+abc", "image": "image:1"}
    check_upgradable({"frappe": "15.2.0"}, "shop", code)
    with pytest.raises(JobError, match=r"frappe 15\.1\.0 for data of 15\.2\.0") as caught:
        check_upgradable({"frappe": "15.1.0"}, "shop", code)
    assert caught.value.reason == "Downgrade"
