"""Files on volumes that a site's own code writes to, opened without following a link or a FIFO.

Site code may put a symbolic link, a FIFO or a device in the place of any file or directory below
`sites/`. Each function here opens one component after the other, from the volume's mount point on,
and follows no link. Files have a bounded size. An entry of another kind is the error UnsafeFile.
"""

import errno
import fcntl
import json
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from job_environment import bench_dir
from job_result import JobError

# A configuration or marker is some kilobytes.
MAX_TEXT_BYTES = 4 << 20
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# ELOOP: the last component is a link. ENXIO: a FIFO without a reader, or a socket.
UNSAFE_ERRORS = (errno.ELOOP, errno.ENXIO, errno.ENODEV)
# What flock says on a file system without locks.
NO_LOCKS_ERRORS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)
EMPTYING_PREFIX = ".removing-"


def unsafe(path: Path, what: str) -> JobError:
    return JobError("UnsafeFile", f"{path} is {what}; nothing was read from it or written to it")


def mount_point(path: Path) -> Path:
    """The trusted directory above `path`: the sites volume, the store, or its own parent."""
    store = os.environ.get("STORE_DIR")
    for root in (bench_dir() / "sites", *([Path(store)] if store else [])):
        if path == root or root in path.parents:
            return root
    return path.parent


def open_directory(path: Path, create_mode: int | None = None) -> int:
    """A descriptor of the directory. With `create_mode` missing directories are created."""
    root = mount_point(path)
    parts = path.relative_to(root).parts
    if ".." in parts:
        raise unsafe(path, "outside of its volume")
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts:
            if create_mode is not None:
                try:
                    os.mkdir(part, create_mode, dir_fd=handle)
                except FileExistsError:
                    pass
            inner = open_component(part, handle, path)
            os.close(handle)
            handle = inner
    except BaseException:
        os.close(handle)
        raise
    return handle


def open_component(name: str, parent: int, path: Path) -> int:
    try:
        return os.open(name, DIRECTORY, dir_fd=parent)
    except (NotADirectoryError, OSError) as error:
        # A link is ENOTDIR, because of O_DIRECTORY, or ELOOP.
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            status = os.stat(name, dir_fd=parent, follow_symlinks=False)
            kind = "a link" if stat.S_ISLNK(status.st_mode) else "a file"
            raise unsafe(path, f"behind {kind}, {name}, in place of a directory") from None
        raise


@contextmanager
def parent_of(path: Path, create_mode: int | None = None) -> Iterator[tuple[int, str]]:
    """A descriptor of the directory that holds `path`, and the name in it."""
    if path.name in ("", ".", ".."):
        raise unsafe(path, "no file name")
    handle = open_directory(path.parent, create_mode)
    try:
        yield handle, path.name
    finally:
        os.close(handle)


def open_descriptor(path: Path, flags: int, mode: int = 0o640) -> int:
    """A descriptor of a regular file."""
    with parent_of(path) as (parent, name):
        try:
            handle = os.open(name, flags | FILE, mode, dir_fd=parent)
        except OSError as error:
            if error.errno in UNSAFE_ERRORS:
                raise unsafe(path, "a link or no regular file") from None
            raise
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise unsafe(path, "no regular file")
    os.set_blocking(handle, True)
    return handle


def open_to_read(path: Path) -> IO[bytes]:
    return open(open_descriptor(path, os.O_RDONLY), "rb")


def open_new(path: Path, mode: int = 0o640) -> IO[bytes]:
    """A file that did not exist."""
    return open(open_descriptor(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb")


def open_to_replace(path: Path, mode: int = 0o640) -> IO[bytes]:
    """An empty file, in place of whatever had the name."""
    remove_file(path)
    return open_new(path, mode)


def open_lock(path: Path) -> IO[bytes]:
    """A file for flock, which is created if needed. Its content is not used."""
    make_directory(path.parent)
    return open(open_descriptor(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b")


def lock(file: IO[bytes], operation: int) -> None:
    """Locks the whole file. BlockingIOError: another program has locked it."""
    try:
        fcntl.flock(file, operation)
    except OSError as error:
        if error.errno not in NO_LOCKS_ERRORS:
            raise
        raise JobError(
            "LocksUnsupported",
            f"the volume takes no file locks: {error.strerror}; an NFS server needs NFSv4, or the "
            "lock services of NFSv3 on server and nodes; nothing was changed",
        ) from None


def read_bytes(path: Path, limit: int = MAX_TEXT_BYTES) -> bytes:
    with open_to_read(path) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise unsafe(path, f"larger than {limit} bytes")
    return data


def read_json_value(path: Path) -> Any:
    """The JSON value of a file. ValueError: it is no JSON, or it is nested too deeply."""
    text = read_bytes(path).decode()
    try:
        return json.loads(text or "{}")
    except RecursionError:
        raise ValueError("nested too deeply") from None


def kind_of(path: Path) -> int | None:
    """The type of an entry, without following it (stat.S_IFMT); None: it does not exist."""
    try:
        with parent_of(path) as (parent, name):
            return stat.S_IFMT(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return None


def is_file(path: Path) -> bool:
    return kind_of(path) == stat.S_IFREG


def is_directory(path: Path) -> bool:
    return kind_of(path) == stat.S_IFDIR


def exists(path: Path) -> bool:
    """Also if it is a link."""
    return kind_of(path) is not None


def names_in(path: Path) -> list[str]:
    """Names in a directory, none if it does not exist."""
    try:
        handle = open_directory(path)
    except FileNotFoundError:
        return []
    try:
        return sorted(os.listdir(handle))
    finally:
        os.close(handle)


def directories_in(path: Path) -> list[Path]:
    return [path / name for name in names_in(path) if is_directory(path / name)]


def make_directory(path: Path, mode: int = 0o777) -> None:
    """Creates a directory and its parents where they are missing."""
    os.close(open_directory(path, mode))


def rename(source: Path, target: Path) -> None:
    """Replaces `target`. A link is renamed itself."""
    with parent_of(source) as (old, old_name), parent_of(target) as (new, new_name):
        os.replace(old_name, new_name, src_dir_fd=old, dst_dir_fd=new)


def link(source: Path, target: Path) -> None:
    with parent_of(source) as (old, old_name), parent_of(target) as (new, new_name):
        os.link(old_name, new_name, src_dir_fd=old, dst_dir_fd=new, follow_symlinks=False)


def remove_file(path: Path) -> None:
    """Removes a file, or a link itself, if it exists."""
    try:
        with parent_of(path) as (parent, name):
            os.unlink(name, dir_fd=parent)
    except FileNotFoundError:
        pass


def remove_tree(path: Path) -> None:
    """Removes a directory with all that is in it, or a file or link itself, if it exists.

    Deep directories are moved up and emptied there, so that no depth exhausts the stack or the
    descriptors of this process.
    """
    try:
        with parent_of(path) as (parent, name):
            status = os.stat(name, dir_fd=parent, follow_symlinks=False)
            if not stat.S_ISDIR(status.st_mode):
                os.unlink(name, dir_fd=parent)
                return
            root = os.open(name, DIRECTORY, dir_fd=parent)
            try:
                empty(root)
            finally:
                os.close(root)
            os.rmdir(name, dir_fd=parent)
    except FileNotFoundError:
        pass


def empty(root: int) -> None:
    counter = 0
    while names := os.listdir(root):
        for name in names:
            if not is_directory_at(name, root):
                os.unlink(name, dir_fd=root)
                continue
            inner = os.open(name, DIRECTORY, dir_fd=root)
            try:
                for child in os.listdir(inner):
                    if is_directory_at(child, inner):
                        counter += 1
                        moved = f"{EMPTYING_PREFIX}{os.getpid()}-{counter}"
                        os.rename(child, moved, src_dir_fd=inner, dst_dir_fd=root)
                    else:
                        os.unlink(child, dir_fd=inner)
            finally:
                os.close(inner)
            os.rmdir(name, dir_fd=root)


def is_directory_at(name: str, parent: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)


def try_to_remove_tree(path: Path) -> None:
    """Removes what can be removed of leftovers."""
    try:
        remove_tree(path)
    except (OSError, JobError) as error:
        print(f"{path} is not removed: {error}", flush=True)


def sync_directory(path: Path) -> None:
    handle = open_directory(path)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def free_bytes(path: Path) -> int:
    """What this process may still write to the volume of a directory."""
    handle = open_directory(path)
    try:
        status = os.fstatvfs(handle)
    finally:
        os.close(handle)
    return status.f_bavail * status.f_frsize


def copy_file(source: Path, target: Path) -> None:
    with open_to_read(source) as input_file, open_new(target) as output:
        shutil.copyfileobj(input_file, output, 1 << 20)
