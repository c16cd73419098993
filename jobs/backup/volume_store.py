"""Backups in a folder of a mounted volume."""

import errno
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import IO, cast

from job_result import JobError
from store_base import Source, Store, StoredFile, chunks
from volume_files import (
    exists,
    is_directory,
    is_file,
    make_directory,
    names_in,
    open_to_read,
    open_to_replace,
    remove_file,
    remove_tree,
    rename,
    sync_directory,
    try_to_remove_tree,
)

PART_SUFFIX = ".part"
VOLUME_REASONS = {
    errno.ENOSPC: "StoreFull",
    errno.EDQUOT: "StoreFull",
    errno.EACCES: "StoreAccessDenied",
    errno.EROFS: "StoreAccessDenied",
}


class VolumeStore(Store):
    def __init__(self, mount: Path, prefix: str, claim: str = "") -> None:
        self.mount, self.root, self.prefix, self.claim = mount, mount / prefix, prefix, claim
        if not mount.is_dir():
            raise JobError("StoreFailed", f"{mount} does not exist")

    def location(self, folder: str = "") -> str:
        return "/".join(filter(None, [f"pvc://{self.claim}", self.prefix, folder]))

    def folders(self) -> list[str]:
        try:
            return [name for name in names_in(self.root) if is_directory(self.root / name)]
        except OSError as error:
            raise self.failure(error) from None

    def files(self, folder: str) -> dict[str, int]:
        try:
            names = names_in(self.root / folder)
            files = (name for name in names if is_file(self.root / folder / name))
            return {name: self.size(f"{folder}/{name}" if folder else name) for name in files}
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise self.failure(error) from None

    def size_of(self, file: StoredFile) -> int | None:
        return os.fstat(cast(IO[bytes], file).fileno()).st_size

    def size(self, path: str) -> int:
        with open_to_read(self.root / path) as file:
            return os.fstat(file.fileno()).st_size

    def create_folder(self, folder: str, file: str, data: bytes, draft: str) -> bool:
        # The draft gets its file before its name: a folder without a file would have no owner.
        target = self.root / folder
        try:
            self.put(f"{draft}/{file}", io.BytesIO(data), len(data))
            if exists(target):
                return False  # a rename would replace an empty folder
            rename(self.root / draft, target)
            sync_directory(self.root)
        except OSError as error:
            if error.errno in (errno.EEXIST, errno.ENOTEMPTY):
                return False
            raise self.failure(error) from None
        finally:
            self.discard_draft(draft)
        return True

    def discard_draft(self, draft: str) -> None:
        try_to_remove_tree(self.root / draft)

    def open(self, path: str) -> StoredFile:
        try:
            return open_to_read(self.root / path)
        except FileNotFoundError:
            raise JobError("BackupMissing", f"there is no {self.location(path)}") from None
        except OSError as error:
            raise self.failure(error) from None

    def put(self, path: str, source: Source, size: int | None) -> None:
        del size
        target = self.root / path
        part = target.with_name(target.name + PART_SUFFIX)
        try:
            make_directory(target.parent)
            with open_to_replace(part) as file:
                for data in chunks(source):
                    file.write(data)
                file.flush()
                os.fsync(file.fileno())
                # So that reading it back reads from the disk.
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            rename(part, target)
            sync_directory(target.parent)
        except OSError as error:
            raise self.failure(error) from None

    def delete(self, folder: str, first: Sequence[str] = ()) -> None:
        directory = self.root / folder
        try:
            for name in first:
                remove_file(directory / name)
            if exists(directory):
                if first:
                    sync_directory(directory)
                remove_tree(directory)
        except OSError as error:
            raise self.failure(error) from None

    def failure(self, error: OSError) -> JobError:
        reason = VOLUME_REASONS.get(error.errno or 0, "StoreFailed")
        return JobError(reason, f"{self.location()}: {error.strerror or error}")
