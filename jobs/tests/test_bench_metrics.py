import os
import threading
import time
from pathlib import Path

import pytest

import bench_metrics
from bench_metrics import Collector, Databases, Names, Queues, escape, site_configs


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


def write_site(sites: Path, name: str, text: str) -> None:
    (sites / name).mkdir(parents=True)
    (sites / name / "site_config.json").write_text(text)


def test_reads_no_fifo_no_link_and_no_deep_or_large_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCH_DIR", str(tmp_path))
    sites = tmp_path / "sites"
    write_site(sites, "a", '{"db_name": "a"}')
    write_site(sites, "deep", "[" * 200_000)
    write_site(sites, "large", f'{{"x": "{"y" * (5 << 20)}"}}')
    (sites / "fifo").mkdir()
    os.mkfifo(sites / "fifo" / "site_config.json")
    (sites / "link").mkdir()
    (sites / "link" / "site_config.json").symlink_to(sites / "a" / "site_config.json")
    (sites / "link-to-a").symlink_to(sites / "a")
    write_site(sites, "z", '{"db_name": "z"}')
    assert [config["db_name"] for config in site_configs(sites)] == ["a", "z"]


def test_reads_a_greatest_number_of_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_DIR", str(tmp_path))
    monkeypatch.setattr(bench_metrics, "MOST_BYTES", 40)
    for name in ("a", "b", "c"):
        write_site(tmp_path / "sites", name, '{"db_name": "x"}')
    assert len(site_configs(tmp_path / "sites")) == 2


def test_a_greatest_number_of_names_has_series(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    names = Names("servers", 3)
    assert names.admit(["main", "a"]) == {"main", "a"}
    # Those that are gone count too: Prometheus keeps their series.
    assert names.admit(["main", "b", "c", "d"]) == {"main", "b"}
    assert names.sample() == ("app_metrics_omitted", {"of": "servers"}, 2)
    now = 3_700.0
    assert names.admit(["main", "c", "d"]) == {"main", "c", "d"}
    assert names.sample()[2] == 0


def test_the_servers_of_most_sites_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_metrics, "MOST_SERVERS", 2)
    sites = [{"db_name": "x", "db_password": "p", "db_host": f"h{n}"} for n in range(9)]
    main = [{"db_name": "x", "db_password": "p"}] * 2
    admitted = Databases().admitted({"db_host": "main"}, [*sites, *main])
    assert list(admitted) == [("mariadb", "main", 3306), ("mariadb", "h0", 3306)]


def test_a_server_without_a_host_name_is_none() -> None:
    hosts = ["a b", 'x"', "x" * 300, "é.example"]
    configs = [{"db_name": "x", "db_password": "p", "db_host": host} for host in hosts]
    assert Databases.servers({}, configs) == {}


def test_a_collection_that_hangs_blocks_no_other_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_metrics, "COLLECT_SECONDS", -0.9)
    collector = Collector(tmp_path, "team", "b", 0)
    release = threading.Event()
    collects = 0

    def collect() -> list[bench_metrics.Sample]:
        nonlocal collects
        collects += 1
        release.wait(10)
        return []

    monkeypatch.setattr(collector, "collect", collect)
    for _ in range(3):
        with pytest.raises(TimeoutError):
            collector.exposition()
    assert collects == 1
    release.set()
    collector.collections.shutdown()
