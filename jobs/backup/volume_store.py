"""Backups in a folder of a mounted volume."""

import errno
import io
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from job_result import JobError
from store_base import Source, Store, StoredFile, chunks

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
            entries = os.scandir(self.root)
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self.failure(error) from None

    def files(self, folder: str) -> dict[str, int]:
        try:
            entries = os.scandir(self.root / folder)
            files = (entry for entry in entries if entry.is_file(follow_symlinks=False))
            return {entry.name: entry.stat().st_size for entry in files}
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise self.failure(error) from None

    def create_folder(self, folder: str, file: str, data: bytes, draft: str) -> bool:
        # The draft gets its file before its name: a folder without a file would have no owner.
        target = self.root / folder
        try:
            self.put(f"{draft}/{file}", io.BytesIO(data), len(data))
            if target.exists():
                return False  # a rename would replace an empty folder
            os.rename(self.root / draft, target)
            sync_directory(self.root)
        except OSError as error:
            if error.errno in (errno.EEXIST, errno.ENOTEMPTY):
                return False
            raise self.failure(error) from None
        finally:
            self.discard_draft(draft)
        return True

    def discard_draft(self, draft: str) -> None:
        shutil.rmtree(self.root / draft, ignore_errors=True)

    def open(self, path: str) -> StoredFile:
        try:
            return open(self.root / path, "rb")
        except OSError as error:
            raise self.failure(error) from None

    def put(self, path: str, source: Source, size: int | None) -> None:
        del size
        target = self.root / path
        part = target.with_name(target.name + PART_SUFFIX)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o640), "wb") as file:
                for data in chunks(source):
                    file.write(data)
                file.flush()
                os.fsync(file.fileno())
                # So that reading it back reads from the disk.
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            os.replace(part, target)
            sync_directory(target.parent)
        except OSError as error:
            raise self.failure(error) from None

    def delete(self, folder: str, first: Sequence[str] = ()) -> None:
        directory = self.root / folder
        try:
            for name in first:
                (directory / name).unlink(missing_ok=True)
            if directory.exists():
                if first:
                    sync_directory(directory)
                shutil.rmtree(directory)
        except OSError as error:
            raise self.failure(error) from None

    def failure(self, error: OSError) -> JobError:
        reason = VOLUME_REASONS.get(error.errno or 0, "StoreFailed")
        return JobError(reason, f"{self.location()}: {error.strerror or error}")


def sync_directory(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
