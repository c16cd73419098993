import os
from collections.abc import Callable
from pathlib import Path

import pytest

import volume_files
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
