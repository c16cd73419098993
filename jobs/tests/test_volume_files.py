import errno
import fcntl
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

import site_locks
import site_state
import volume_files
from job_environment import SiteLocation
from job_result import JobError


@pytest.fixture
def sites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BENCH_DIR", str(tmp_path))
    (tmp_path / "sites" / "site").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_text("secret")
    return tmp_path / "sites"


Plant = Callable[[Path], None]


@pytest.mark.parametrize(
    "plant",
    [
        lambda path: path.symlink_to("../../outside/file"),
        lambda path: path.symlink_to("/dev/zero"),
        os.mkfifo,
        lambda path: path.mkdir(),
        lambda path: path.write_bytes(b"x" * (volume_files.MAX_TEXT_BYTES + 1)),
    ],
)
def test_only_a_regular_file_of_bounded_size_is_read(sites: Path, plant: Plant) -> None:
    path = sites / "site" / "site_config.json"
    plant(path)
    with pytest.raises(JobError, match=r"site_config\.json is ") as error:
        volume_files.read_bytes(path)
    assert error.value.reason == "UnsafeFile"


def test_no_link_is_followed_on_the_way(sites: Path) -> None:
    (sites / "other").symlink_to("../outside")
    path = sites / "other" / "file"
    for work in (
        lambda: volume_files.read_bytes(path),
        lambda: volume_files.remove_file(path),
        lambda: volume_files.rename(path, sites / "site" / "file"),
        lambda: volume_files.rename(sites / "site", path),
        lambda: volume_files.open_to_replace(path),
        lambda: volume_files.make_directory(sites / "other" / "new"),
        lambda: volume_files.remove_tree(sites / "other" / "new"),
        lambda: volume_files.names_in(sites / "other"),
        lambda: volume_files.read_bytes(sites / "site" / ".." / "other" / "file"),
    ):
        with pytest.raises(JobError) as error:
            work()
        assert error.value.reason == "UnsafeFile"
    assert (sites.parent / "outside" / "file").read_text() == "secret"


def test_tree_of_any_depth_is_removed_and_no_link_is_followed(sites: Path) -> None:
    handle = os.open(sites / "site", os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("deep", dir_fd=handle)
        os.symlink("../../../outside", "link", dir_fd=handle)
        inner = os.open("deep", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    os.close(handle)
    volume_files.remove_tree(sites / "site")
    assert not (sites / "site").exists()
    assert (sites.parent / "outside" / "file").exists()


def test_link_itself_is_removed(sites: Path) -> None:
    link = sites / "link"
    link.symlink_to("../outside")
    volume_files.remove_tree(link)
    assert not link.is_symlink()
    assert (sites.parent / "outside" / "file").exists()


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL])
@pytest.mark.parametrize(
    "take",
    [
        lambda sites: site_locks.exclusive_site_lock(SiteLocation()),
        lambda sites: site_locks.shared_site_lock(sites, "site"),
        lambda sites: site_locks.backup_lock(sites / ".app-operator", "site", 0),
        lambda sites: site_locks.documents_lock(sites, "site", 0),
        lambda sites: site_locks.common_config_lock(sites),
        lambda sites: site_state.site_config_lock(sites / "site"),
    ],
)
def test_a_volume_without_locks_is_named(
    sites: Path,
    monkeypatch: pytest.MonkeyPatch,
    take: Callable[[Path], AbstractContextManager[None]],
    number: int,
) -> None:
    def refuse(_file: object, _operation: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setenv("SITE_NAME", "site")
    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(JobError, match="NFS") as error, take(sites):
        pass
    assert error.value.reason == "LocksUnsupported"
    assert f"the volume takes no file locks: {os.strerror(number)}; " in str(error.value)


def test_another_error_of_a_lock_is_no_lack_of_locks(
    sites: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_file: object, _operation: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(OSError, match="Input/output"), site_locks.documents_lock(sites, "site", 0):
        pass
