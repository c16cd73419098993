"""The backup that a restore without a name takes. test/jobs/site-restore.test.ts has the rest."""

import os
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

import site_restore
from job_result import JobError
from stored_backup import encrypted_files, name_of, start_of
from volume_store import VolumeStore

NOW = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)


def manifest(minutes: float, **changes: object) -> dict[str, Any]:
    name = name_of(NOW + timedelta(minutes=minutes))
    return {"name": name, "complete": True, "owner": "team/nightly", **changes}


def chosen(manifests: list[dict[str, Any]], owner: str = "") -> float | None:
    found = site_restore.newest(manifests, owner, NOW)
    return None if found is None else (start_of(found["name"]) - NOW).total_seconds() / 60


def test_the_newest_complete_backup_of_the_owner_is_chosen() -> None:
    other = manifest(-1, owner="team/another")
    assert chosen([other, manifest(-2, complete=False), manifest(-3)], "team/nightly") == -3
    assert chosen([other, manifest(-3)]) == -1
    assert chosen([]) is None


def test_a_backup_of_the_future_does_not_precede_one_of_the_past(
    capsys: pytest.CaptureFixture[str],
) -> None:
    future = manifest(60 * 24 * 365)
    assert chosen([future, manifest(-2)]) == -2
    assert f"{future['name']} is not restored: its time is in the future" in capsys.readouterr().out


def test_of_backups_of_the_future_alone_the_newest_is_chosen(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert chosen([manifest(90), manifest(60)]) == 90
    assert "all complete backups have a time in the future" in capsys.readouterr().out


def test_clocks_of_nodes_may_differ_by_minutes() -> None:
    assert chosen([manifest(2), manifest(-60)]) == 2


def test_the_marker_keeps_a_number_of_requests() -> None:
    restores: dict[str, Any] = {}
    for number in range(600):
        restores = {"done": site_restore.done_requests(restores, f"{number:08x}")}
    assert len(restores["done"]) == 500
    assert restores["done"][-1] == f"{599:08x}"
    assert site_restore.done_requests(restores, restores["done"][0])[:1] == restores["done"][1:2]


def test_the_marker_keeps_the_key_of_a_replaced_backup_once() -> None:
    state: dict[str, Any] = {"digest": "a"}
    for _ in range(3):
        state = {"digest": "a", "earlier": site_restore.replaced_keys(state)}
    assert site_restore.replaced_keys({**state, "digest": "b"}) == ["a", "b"]
    assert site_restore.replaced_keys({}) == []


NAME = "20260301T120000Z"


def stored(mount: Path, contents: dict[str, bytes]) -> tuple[VolumeStore, dict[str, Any]]:
    folder = mount / "team" / NAME
    folder.mkdir(parents=True)
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    files = [{"name": name, "size": len(content)} for name, content in contents.items()]
    return VolumeStore(mount, "team"), {"name": NAME, "files": files}


def test_a_backup_that_is_larger_than_the_volume_is_not_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORE_DIR", str(tmp_path))
    store, manifest = stored(tmp_path, {"database.sql.gz": b"a"})
    space = os.statvfs(tmp_path)
    size = space.f_bavail * space.f_frsize
    manifest["files"][0]["size"] = size
    target = tmp_path / "new"
    target.mkdir()
    message = rf"{NAME} has {size} bytes, and the volume has space for \d+"
    with pytest.raises(JobError, match=message) as refusal:
        site_restore.fetch_files(store, manifest, target)
    assert refusal.value.reason == "VolumeFull"
    assert not list(target.iterdir())


def test_files_are_encrypted_by_their_content_not_by_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORE_DIR", str(tmp_path))
    store, manifest = stored(
        tmp_path,
        {
            "database.sql.gz": b"\x1f\x8b\x08dump",
            "files.tar": b"./site/public/files/",
            "files.tgz": b"\x8c\x0d\x04\x09\x03\x02",
            "private-files.tgz": b"\xc3\x0d\x04\x09",
            "private-files.tar": b"-----BEGIN PGP MESSAGE-----\n",
            "site_config_backup.json": b"",
        },
    )
    assert encrypted_files(store, manifest) == [
        "files.tgz",
        "private-files.tgz",
        "private-files.tar",
    ]
