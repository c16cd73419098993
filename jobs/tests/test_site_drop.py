"""Databases that site_drop.py drops. See test/jobs/site-drop.test.ts for tests on real servers."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

import recorded_server
import site_drop
from database_admin_client import AccessDenied
from job_result import JobError
from mariadb_server import MariaDB
from site_records import read_marker
from site_state import SiteSettings

NAME = "shop.example.com"
RECORD = {"dbName": "shop", "dbHost": "old", "dbPort": 3306}
ENVIRONMENT = {
    "SITE_NAME": NAME,
    "SITE_OWNER": "team/shop",
    "DB_TYPE": "mariadb",
    "DB_HOST": "new",
    "DB_NAME": "shop",
    "DB_ADMIN_SOCKET": "socket",
}


class Double(MariaDB):
    accepts: ClassVar[Callable[[str], bool]]
    dropped: ClassVar[list[dict[str, Any]]]

    def wait(self) -> None:
        pass

    def open(self, user: str, password: str, database: str | None) -> Any:
        if not type(self).accepts(password):
            raise AccessDenied(user)
        return SimpleNamespace(close=lambda: None)

    def drop(self) -> None:
        type(self).dropped.append(read_marker(self.settings.site))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in {**ENVIRONMENT, "BENCH_DIR": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(recorded_server, "database_server", Double)
    Double.dropped = []
    Double.accepts = staticmethod(lambda password: password == "own")
    site = tmp_path / "sites" / NAME
    (site / "locks").mkdir(parents=True)
    write(site, {"owner": "team/shop", "state": "complete", **RECORD}, {"db_password": "own"})
    return site


def write(site: Path, marker: dict[str, Any], config: dict[str, Any]) -> None:
    (site / ".app-operator.json").write_text(json.dumps(marker))
    (site / "site_config.json").write_text(json.dumps({"db_name": "shop", **config}))


def refusal() -> str:
    with pytest.raises(JobError) as caught:
        site_drop.drop_database(SiteSettings())
    assert caught.value.reason == "DatabaseServerMismatch"
    assert Double.dropped == []
    return str(caught.value)


def test_records_the_server_before_it_drops_the_database_there(site: Path) -> None:
    assert site_drop.drop_database(SiteSettings())
    assert [marker["dbHost"] for marker in Double.dropped] == ["new"]
    assert Double.dropped[0]["owner"] == "team/shop"
    # The user is dropped: a repeated Job can check no password.
    Double.accepts = staticmethod(lambda password: False)
    assert site_drop.drop_database(SiteSettings())


def test_checks_no_password_on_the_recorded_server(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DB_HOST", "old")
    Double.accepts = staticmethod(lambda password: False)
    assert site_drop.drop_database(SiteSettings())


def test_a_server_that_accepts_any_password_proves_nothing(site: Path) -> None:
    Double.accepts = staticmethod(lambda password: True)
    assert "new:3306 accepts any password for shop" in refusal()


@pytest.mark.parametrize("config", [{}, {"db_password": ""}, {"db_password": "other"}])
def test_without_the_password_nothing_is_dropped(site: Path, config: dict[str, Any]) -> None:
    write(site, {"owner": "team/shop", "state": "complete", **RECORD}, config)
    Double.accepts = staticmethod(lambda password: password in ("own", ""))
    assert "is on old:3306, and new:3306 refuses the site's password for shop" in refusal()


@pytest.mark.parametrize("port", [3306, "3306", None])
def test_the_configuration_names_the_server_if_the_marker_of_an_earlier_release_does_not(
    site: Path, port: object
) -> None:
    config = {"db_host": "old", "db_port": port, "db_password": "other"}
    write(site, {"owner": "team/shop", "state": "complete"}, config)
    refusal()
    write(site, {"owner": "team/shop", "state": "complete"}, {**config, "db_host": "new"})
    assert site_drop.drop_database(SiteSettings())


def test_a_site_that_records_no_server_is_dropped(site: Path) -> None:
    write(site, {"owner": "team/shop", "state": "complete"}, {})
    assert site_drop.drop_database(SiteSettings())


RECORDED_SERVER = {"DB_RECORDED_HOST": "old", "DB_RECORDED_PORT": "3307", "WAS_READY": "1"}


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in RECORDED_SERVER.items():
        monkeypatch.setenv(name, value)


def remove(site: Path) -> None:
    for name in (".app-operator.json", "site_config.json"):
        (site / name).unlink()
    (site / "locks").rmdir()
    site.rmdir()


@pytest.mark.usefixtures("recorded")
def test_without_files_only_the_database_of_the_server_in_the_status_is_dropped(site: Path) -> None:
    remove(site)
    assert "is on old:3307 according to the status" in refusal()


@pytest.mark.usefixtures("recorded")
def test_files_without_a_server_do_not_override_the_status(site: Path) -> None:
    write(site, {"owner": "team/shop", "state": "complete"}, {"db_password": "own"})
    refusal()


@pytest.mark.usefixtures("recorded")
def test_files_with_a_server_override_the_status(site: Path) -> None:
    assert site_drop.drop_database(SiteSettings())


def test_without_files_and_without_another_server_in_the_status_the_database_is_dropped(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove(site)
    monkeypatch.setenv("WAS_READY", "1")
    assert site_drop.drop_database(SiteSettings())


@pytest.mark.usefixtures("recorded")
def test_a_site_that_was_never_ready_has_no_database_to_refuse(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove(site)
    monkeypatch.delenv("WAS_READY")
    assert not site_drop.drop_database(SiteSettings())
