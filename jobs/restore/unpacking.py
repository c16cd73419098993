"""Unpacks the archives of a backup, which whoever can write to the store may have made.

Only files and directories are unpacked, only below the target, and only as many bytes as the
volume has space for. Sparse files are refused: ten kilobytes of an archive may be ten gigabytes of
holes, which become zeros. Headers are bounded, because the tarfile module reads them into memory.
"""

import os
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path

from job_result import JobError, log
from volume_files import copy_file, free_bytes, make_directory, open_new, open_to_read

# Kept free: the site's configuration and marker need some space, and other sites too.
RESERVED_BYTES = 64 << 20
# What an empty file takes of a volume, at least.
FILE_BYTES = 512
MAX_HEADER_BYTES = 1 << 20
HEADERS = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)
# A time that a file cannot have would end the restore.
MAX_TIME = 1 << 33


class Member(tarfile.TarInfo):
    """A member of an archive, whose own headers are not larger than any path or attribute."""

    def _proc_member(self, tar: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type in HEADERS and self.size > MAX_HEADER_BYTES:
            raise tarfile.HeaderError(f"a header of {self.size} bytes")
        process: tarfile.TarInfo = super()._proc_member(tar)  # type: ignore[misc]
        return process


def members(archive: Path) -> Iterator[tuple[tarfile.TarFile, tarfile.TarInfo]]:
    with (
        open_to_read(archive) as file,
        tarfile.open(fileobj=file, mode="r:*", tarinfo=Member) as tar,
    ):
        for member in tar:
            yield tar, member
            vars(tar)["members"] = []  # the module would keep every header in memory


def unpack(archive: Path, target: Path) -> None:
    """Extracts the files below `<site>/{public,private}/files` of a tar archive, and no others."""
    check_archive(archive, target)
    make_directory(target)
    for tar, member in members(archive):
        path = path_of(member.name, archive, target)
        if path is None:
            continue
        if member.islnk():
            copy_linked(member, archive, target)
        else:
            extract(tar, member, archive, path)


def check_archive(archive: Path, target: Path) -> None:
    """Fails, before anything is written, unless it has files of this kind, and there is space."""
    size, other = 0, ""
    for _, member in members(archive):
        if path_of(member.name, archive, target) is None:
            other = other or ("" if member.isdir() else member.name)
            continue
        check_kind(member.name, archive, target)
        if member.issparse():
            raise JobError("BackupCorrupt", f"{archive.name}: {member.name!r} is a sparse file")
        size += max(member.size, 0) + FILE_BYTES
        check_space(size, f"{archive.name} unpacks to {size} bytes or more", archive.parent)
    if other and size == 0:
        raise JobError(
            "BackupUnsuitable",
            f"{archive.name} has no file below <site>/{kind_of(target)}/files, but {other[:200]!r}",
        )


def kind_of(target: Path) -> str:
    """`public` of the folder `public-files`."""
    return target.name.partition("-")[0]


def check_kind(name: str, archive: Path, target: Path) -> None:
    """Private files would become public."""
    found = [part for part in name.split("/") if part not in ("", ".")][1]
    if found != kind_of(target):
        raise JobError(
            "BackupUnsuitable",
            f"{archive.name} has {found} files, not {kind_of(target)} ones: {name[:200]!r}",
        )


def path_of(name: str, archive: Path, target: Path) -> Path | None:
    """Where a file of the archive belongs; None if it is no file of a site."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts or name.startswith("/") or "\0" in name:
        raise JobError("BackupCorrupt", f"{archive.name} has a file outside of the site: {name!r}")
    if len(parts) < 4 or parts[2] != "files":
        return None
    return target.joinpath(*parts[3:])


def extract(tar: tarfile.TarFile, member: tarfile.TarInfo, archive: Path, path: Path) -> None:
    if member.isdir():
        make_directory(path)
    elif member.isfile():
        make_directory(path.parent)
        source = tar.extractfile(member)
        assert source is not None
        with source, open_new(path, 0o666) as file:
            shutil.copyfileobj(source, file, 1 << 20)
            file.flush()
            set_time(file.fileno(), member.mtime)
    else:
        log(f"{archive.name}: skipped {member.name!r}: not a file")


def copy_linked(member: tarfile.TarInfo, archive: Path, target: Path) -> None:
    """A hard link becomes a copy of the file, which was unpacked before."""
    path = path_of(member.name, archive, target)
    source = path_of(member.linkname, archive, target)
    what = f"{archive.name}: {member.name!r} is a link to {member.linkname!r}"
    try:
        if path is None or source is None:
            raise FileNotFoundError
        with open_to_read(source) as file:
            check_space(os.fstat(file.fileno()).st_size, what, archive.parent)
        make_directory(path.parent)
        copy_file(source, path)
    except (FileNotFoundError, NotADirectoryError):
        raise JobError("BackupCorrupt", f"{what}, which is not in it") from None


def check_space(size: int, what: str, folder: Path) -> None:
    free = max(0, free_bytes(folder) - RESERVED_BYTES)
    if size > free:
        raise JobError("VolumeFull", f"{what}, and the volume has space for {free}")


def set_time(file: int, time: float) -> None:
    if 0 <= time < MAX_TIME:
        os.utime(file, (time, time))
