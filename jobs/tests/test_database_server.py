from types import SimpleNamespace
from typing import cast

import pytest

import database_server
import mariadb_server
from database_admin_client import AccessDenied, DatabaseNotFound
from job_result import JobError
from mariadb_server import MariaDB
from site_state import SiteSettings


@pytest.mark.parametrize(
    ("error", "reason", "waited"),
    [
        (ConnectionError("no route"), "DatabaseUnreachable", 120),
        (AccessDenied("wrong password"), "DatabaseAccessDenied", 30),
        (DatabaseNotFound("shop"), "DatabaseMissing", 30),
    ],
)
def test_refused_login_is_reported_sooner_than_an_unreachable_server(
    monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str, waited: float
) -> None:
    now = 1000.0

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    class Refusing(MariaDB):
        def check_login(self) -> None:
            raise error

    clock = SimpleNamespace(monotonic=lambda: now, sleep=sleep)
    monkeypatch.setattr(database_server, "time", clock)
    values = SimpleNamespace(wait_seconds=120, db_host="db", db_port=3306, db_user="shop")
    with pytest.raises(JobError) as caught:
        Refusing(cast(SiteSettings, values)).wait()
    assert (caught.value.reason, now - 1000) == (reason, waited)


@pytest.mark.parametrize(("driver", "fits"), [("pymysql", False), ("MySQLdb", True)])
def test_password_that_the_framework_cannot_send_is_refused(
    monkeypatch: pytest.MonkeyPatch, driver: str, fits: bool
) -> None:
    monkeypatch.setattr(mariadb_server, "mysql_driver", lambda: SimpleNamespace(__name__=driver))
    values = SimpleNamespace(db_user="shop", db_password="p\u00e4ss-\u20ac")
    server = MariaDB(cast(SiteSettings, values))
    if fits:
        server.check_password()
        return
    with pytest.raises(JobError, match=r"beyond ASCII: PyMySQL") as caught:
        server.check_password()
    assert "\u20ac" not in str(caught.value)
