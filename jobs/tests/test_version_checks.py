"""The checks before another major version, as far as they need no database."""

import sys
from pathlib import Path

import pytest

from image_patches import patches_in, record_patches, recorded_patches
from job_result import JobError
from site_migration import settle_seconds
from version_checks import (
    check_required_apps,
    check_server,
    check_versions_of_apps,
    is_met,
    required_apps,
    required_versions,
)


def an_app(bench: Path, name: str, pyproject: str | None = None, hooks: str = "") -> None:
    package = bench / "apps" / name / name
    package.mkdir(parents=True)
    (package / "hooks.py").write_text(hooks)
    if pyproject is not None:
        (package.parent / "pyproject.toml").write_text(pyproject)


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        (">=16.0.0-dev,<17.0.0", True),  # frappe/hrms
        (">=17.0.0-dev,<18.0.0", False),  # frappe/erpnext, develop
        (">=15.0.0,<16.0.0", False),
        (">=15.40.4,<16.0.0-dev", False),
        (">=15.0.0,<17.0.0", True),
        (">=15.0.0,<=16.0.0-dev", True),
        (">=16.0.0-dev <17.0.0", True),  # written without the comma
        (">=15.0.0 <16.0.0", False),
        ("<16.2.0", True),
        ("<16", False),
        ("~=15.0", False),
        ("~=16.1", True),
        ("^16.0.0-beta.1", True),
        ("==15.1.0", False),
        ("16.x", True),
        ("15.*", False),
        (">= 16.0", True),
        ("!=16.3.0", True),
        ("^15 || ^16", True),
        ("^14 || ^15", False),
        # Nothing can be read from these: they refuse nothing.
        ("", True),
        ("*", True),
        ("develop", True),
        (">=", True),
    ],
)
def test_the_versions_of_a_requirement(requirement: str, expected: bool) -> None:
    assert is_met(requirement, "16.4.1") is expected


def test_a_version_that_is_no_number_meets_each_requirement() -> None:
    assert is_met(">=15.0.0,<16.0.0", "unknown")


PYPROJECT = '[tool.bench.frappe-dependencies]\nfrappe = ">=15.0.0,<16.0.0"\n'
OLD_PYTHON = pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 has no tomllib")


@OLD_PYTHON
def test_an_app_for_another_major_version(tmp_path: Path) -> None:
    an_app(tmp_path, "hrms", PYPROJECT)
    an_app(tmp_path, "crm", "")
    check_versions_of_apps(tmp_path, {"frappe": "15.99.0", "hrms": "15.1.0"}, ["hrms"])
    with pytest.raises(JobError) as caught:
        check_versions_of_apps(
            tmp_path, {"frappe": "16.4.1", "hrms": "15.1.0", "crm": "1"}, ["crm", "hrms"]
        )
    assert caught.value.reason == "AppUnsuitable"
    assert str(caught.value) == (
        "apps of the image are made for another version: hrms 15.1.0 is made for frappe "
        ">=15.0.0,<16.0.0, not for 16.4.1; use an image whose apps fit together"
    )


@OLD_PYTHON
@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "no TOML",
        "[tool.bench]\nfrappe-dependencies = 1\n",
        "[tool.bench]\nfrappe-dependencies = []\n",
        'tool = "bench"\n',
        "[tool]\nbench = 1\n",
        "[tool.bench.frappe-dependencies]\nfrappe = 15\n",
        "[tool.bench.frappe-dependencies]\nfrappe = {}\n",
        '[tool.bench.frappe-dependencies]\nfrappe = ""\n',
        "[tool.bench.frappe-dependencies\n",
        "[tool.bench.dev-dependencies]\nfrappe = '<16'\n",
    ],
)
def test_a_file_without_requirements_refuses_nothing(tmp_path: Path, text: str | None) -> None:
    an_app(tmp_path, "crm", text)
    assert required_versions(tmp_path, "crm") in ({}, {"frappe": ""})
    check_versions_of_apps(tmp_path, {"frappe": "16.4.1", "crm": "1"}, ["crm"])


@pytest.mark.parametrize(
    ("hooks", "expected"),
    [
        ('required_apps = ["erpnext"]', ["erpnext"]),
        ('required_apps = ["frappe/erpnext", "https://x.io/a/crm.git@main"]', ["erpnext", "crm"]),
        ('required_apps = ("erpnext",)', ["erpnext"]),
        ("required_apps = []", []),
        ("# required_apps = ['erpnext']", []),
        ("required_apps = apps()", []),
        ("required_apps = 'erpnext'", []),
        ("required_apps = [1]", []),
        ("required_apps: list = []", []),
        ("import missing\nrequired_apps = ['erpnext']", ["erpnext"]),
        ("no Python", []),
        ("\0", []),
    ],
)
def test_the_apps_that_an_app_requires(tmp_path: Path, hooks: str, expected: list[str]) -> None:
    an_app(tmp_path, "hrms", hooks=hooks)
    assert required_apps(tmp_path, "hrms") == expected


def test_a_required_app_that_the_image_does_not_hold(tmp_path: Path) -> None:
    an_app(tmp_path, "hrms", hooks='required_apps = ["frappe/erpnext"]')
    check_required_apps(tmp_path, {"frappe": "16", "hrms": "16", "erpnext": "16"}, ["hrms"])
    with pytest.raises(JobError) as caught:
        check_required_apps(tmp_path, {"frappe": "16", "hrms": "16"}, ["hrms"])
    assert caught.value.reason == "AppNotInImage"
    assert "that the image does not hold: erpnext" in str(caught.value)


@pytest.mark.parametrize(
    "version",
    [
        "10.6.0-MariaDB",
        "10.11.6-MariaDB-0+deb12u1",
        "11.8.2-MariaDB-ubu2404",
        "5.5.5-10.6.18-MariaDB-log",
        "8.0.36",
        "PostgreSQL 15.17 (Debian 15.17-1)",
        "",
    ],
)
def test_a_server_that_is_supported_or_not_known(version: str) -> None:
    check_server("db:3306", version, "16.4.1")


@pytest.mark.parametrize(
    "version", ["10.5.27-MariaDB", "10.3.39-MariaDB-log", "5.5.5-10.5.9-MariaDB", "5.5.68-MariaDB"]
)
def test_a_server_that_is_too_old(version: str) -> None:
    with pytest.raises(JobError) as caught:
        check_server("db:3306", version, "16.4.1")
    assert caught.value.reason == "DatabaseUnsupported"
    assert str(caught.value) == (
        f"db:3306: version-16 needs MariaDB 10.6 or later: {version}; upgrade the database server"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.b\n# c\n\nd.e #1\n", ["a.b", "d.e #1"]),
        (
            "[pre_model_sync]\na.b #1\nexecute:f('x: y')\n# c\n\n[post_model_sync]\nfinally:d.e\n",
            ["a.b #1", "execute:f('x: y')", "finally:d.e"],
        ),
        ("[pre_model_sync]\na.b\na.b\n", ["a.b"]),
        ("[pre_model_sync]\n", []),
        ("", []),
        ("[pre_model_sync\na.b\n", ["[pre_model_sync", "a.b"]),
    ],
)
def test_the_patches_of_a_file(text: str, expected: list[str]) -> None:
    assert patches_in(text) == expected


@pytest.mark.parametrize("text", ["", "[]", "no JSON", '{"patches": 1}', "{}"])
def test_a_record_of_patches_that_cannot_be_read(tmp_path: Path, text: str) -> None:
    assert recorded_patches(tmp_path) is None
    (tmp_path / ".app-operator-patches.json").write_text(text)
    assert recorded_patches(tmp_path) is None


def test_the_record_of_patches(tmp_path: Path) -> None:
    site = tmp_path / "sites" / "shop"
    site.mkdir(parents=True)
    an_app(tmp_path, "crm")
    (tmp_path / "apps/crm/crm/patches.txt").write_text("[post_model_sync]\nfinally:crm.b\ncrm.a\n")
    record_patches(tmp_path, site, ["crm", "none"])
    assert recorded_patches(site) == ["crm.a", "crm.b"]


@pytest.mark.parametrize(
    ("version", "seconds"), [("15.44.2", 2), ("16.4.1", 65), ("17.0.0-dev", 65), ("x", 2)]
)
def test_a_web_process_of_version_16_keeps_the_configuration_a_minute(
    version: str, seconds: int
) -> None:
    assert settle_seconds({"frappe": version}) == seconds
