import threading
from pathlib import Path

from bench_metrics import Collector, Databases, Queues, escape


def test_the_site_of_a_queue() -> None:
    queues = Queues("team.b")
    assert queues.site_of("team.b:short") == ""
    assert queues.site_of("team.b.shop:short") == "shop"
    assert queues.site_of("team.b.closed.shop:short") is None
    assert queues.site_of("team.other:short") is None


def test_the_servers_of_valid_configurations() -> None:
    common = {"db_host": "db", "db_type": "mariadb"}
    site = {"db_name": "a", "db_password": "x"}
    servers = Databases.servers(
        common,
        [
            site,
            {**site, "db_name": "b", "db_user": "u"},
            {**site, "db_type": "postgres", "db_host": "pg", "db_port": "5433"},
            {**site, "db_port": "no number"},
            {**site, "db_type": "sqlite"},
            {"db_name": "without password"},
        ],
    )
    assert {key: [login["user"] for login in logins] for key, logins in servers.items()} == {
        ("mariadb", "db", 3306): ["a", "u"],
        ("postgres", "pg", 5433): ["a"],
    }


def test_the_last_login_that_succeeded_is_tried_first() -> None:
    databases = Databases()
    server = ("mariadb", "db", 3306)
    logins = [{"name": str(number)} for number in range(9)]
    databases.last_login[server] = "7"
    chosen = databases.choose(server, logins)
    assert chosen[0] == {"name": "7"}
    assert len(chosen) == 3


def test_renders_the_samples_of_a_series_together(tmp_path: Path) -> None:
    collector = Collector(tmp_path, "team", 'b"', 5)
    text = collector.render(
        [("redis_up", {"server": "queue"}, 1), ("app_workers", {"site": "", "queue": "long"}, 2)]
    )
    assert text.splitlines() == [
        "# HELP app_workers Workers that listen to a queue.",
        "# TYPE app_workers gauge",
        'app_workers{namespace="team",bench="b\\"",site="",queue="long"} 2',
        "# HELP redis_up Whether the queues' Redis answers.",
        "# TYPE redis_up gauge",
        'redis_up{namespace="team",bench="b\\"",server="queue"} 1',
    ]
    assert threading.active_count() == 1


def test_escapes_label_values() -> None:
    assert escape('a\\b"c\nd') == 'a\\\\b\\"c\\nd'
