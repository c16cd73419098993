import json
from pathlib import Path

import pytest

from bench_init import (
    chromium_config,
    missing_programs,
    operator_config,
    read_or_discard_config,
    redis_url,
    write_common_config,
)
from job_result import JobError


@pytest.mark.parametrize(
    ("env", "url"),
    [
        ({"REDIS_HOST": "redis"}, "redis://redis:6379"),
        ({"REDIS_HOST": "::1", "REDIS_CACHE_PORT": "1"}, "redis://[::1]:1"),
        ({"REDIS_HOST": "redis", "REDIS_PASSWORD": "p@ss/"}, "redis://:p%40ss%2F@redis:6379"),
        ({"REDIS_HOST": "redis", "REDIS_CACHE_URL": "rediss://x"}, "rediss://x"),
    ],
)
def test_redis_url(monkeypatch: pytest.MonkeyPatch, env: dict[str, str], url: str) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert redis_url("CACHE", 6379) == url


def test_database_keys_are_optional(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_HOST", "redis")
    assert "db_host" not in operator_config()
    monkeypatch.setenv("DB_HOST", "db")
    monkeypatch.setenv("DB_PORT", "3307")
    config = operator_config()
    assert (config["db_host"], config["db_port"], config["socketio_port"]) == ("db", 3307, 9000)


def test_merges_the_common_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "common_site_config.json"
    path.write_text(json.dumps({"other": 1, "removed": 2, "redis_cache": "old"}))
    monkeypatch.setenv("REDIS_HOST", "redis")
    monkeypatch.setenv("COMMON_CONFIG", '{"bench_id": "team.b", "removed": null}')
    merged = write_common_config(tmp_path)
    assert merged == json.loads(path.read_text())
    assert (merged["other"], merged["bench_id"]) == (1, "team.b")
    assert merged["redis_cache"] == "redis://redis:6379"
    assert "removed" not in merged
    monkeypatch.setenv("COMMON_CONFIG", '{"db_host": "x"}')
    with pytest.raises(JobError, match="may not set db_host"):
        write_common_config(tmp_path)


def test_a_broken_configuration_is_renamed(tmp_path: Path) -> None:
    path = tmp_path / "common_site_config.json"
    path.write_text("{")
    assert read_or_discard_config(path) == {}
    assert (tmp_path / "common_site_config.json.broken").read_text() == "{"


@pytest.mark.parametrize(
    ("programs", "configured", "written"),
    [
        ((), None, None),
        (("chromium",), None, "chromium"),
        (("chromium", "chromium-headless-shell"), None, "chromium-headless-shell"),
        (("chromium", "own"), "own", None),
        (("chromium",), "gone", "chromium"),
        ((), "gone", None),
        (("chromium",), 5, "chromium"),
    ],
)
def test_finds_chromium(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    programs: tuple[str, ...],
    configured: object,
    written: str | None,
) -> None:
    for name in programs:
        (tmp_path / name).touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    path = str(tmp_path / configured) if isinstance(configured, str) else configured
    found = chromium_config({} if path is None else {"chromium_path": path})
    assert found == ({"chromium_path": str(tmp_path / written)} if written else {})


def test_writes_the_path_of_chromium(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "chromium-headless-shell").touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("REDIS_HOST", "redis")
    merged = write_common_config(tmp_path)
    assert merged["chromium_path"] == str(tmp_path / "chromium-headless-shell")
    assert merged["chromium_start_timeout"] == 15
    monkeypatch.setenv("COMMON_CONFIG", '{"chromium_start_timeout": 40}')
    assert write_common_config(tmp_path)["chromium_start_timeout"] == 40
    monkeypatch.setenv("COMMON_CONFIG", '{"chromium_path": null}')
    assert "chromium_path" not in write_common_config(tmp_path)


@pytest.mark.parametrize(
    ("version", "programs", "missing"),
    [
        ("15.1.0", ("wkhtmltopdf",), []),
        ("15.1.0", ("own",), ["wkhtmltopdf"]),
        ("16.2.0", ("wkhtmltopdf", "own"), []),
        ("16.2.0", ("wkhtmltopdf",), ["Chromium"]),
        ("16.2.0", (), ["wkhtmltopdf", "Chromium"]),
        ("x", (), ["wkhtmltopdf"]),
    ],
)
def test_reports_programs_that_the_image_lacks(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    version: str,
    programs: tuple[str, ...],
    missing: list[str],
) -> None:
    for name in programs:
        (tmp_path / name).touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert missing_programs(version, {"chromium_path": str(tmp_path / "own")}) == missing
