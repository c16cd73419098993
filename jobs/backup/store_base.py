"""What every store of backups has in common.

A path is `<folder>/<file>`. Failures are JobErrors: StoreUnreachable, StoreAccessDenied,
BucketMissing, StoreFull, StoreCorrupt, StoreFailed and others.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Protocol

from job_result import JobError

CHUNK_BYTES = 1 << 20


class Source(Protocol):
    """A stream of bytes."""

    def read(self, amount: int, /) -> bytes: ...


class StoredFile(Source, Protocol):
    """A stream that is closed at the end of a `with` block."""

    def __enter__(self) -> Source: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> object: ...


def chunks(source: Source) -> Iterator[bytes]:
    while data := source.read(CHUNK_BYTES):
        yield data


def digest_of(source: Source) -> tuple[int, str]:
    """Size and SHA-256 of a stream."""
    digest, size = hashlib.sha256(), 0
    for data in chunks(source):
        digest.update(data)
        size += len(data)
    return size, digest.hexdigest()


class DigestingSource:
    """A stream that computes size and SHA-256 of the bytes that were read."""

    def __init__(self, source: Source) -> None:
        self.source, self.sha256, self.size = source, hashlib.sha256(), 0

    def read(self, amount: int, /) -> bytes:
        data = self.source.read(amount)
        self.sha256.update(data)
        self.size += len(data)
        return data


class Store(ABC):
    # How long after `create_folder` another writer may still take the same folder.
    SETTLE_SECONDS = 0

    @abstractmethod
    def location(self, folder: str = "") -> str:
        """The URL of a folder, for messages."""

    @abstractmethod
    def folders(self) -> list[str]: ...

    @abstractmethod
    def files(self, folder: str) -> dict[str, int]:
        """Name → size in bytes. '' is the store's own folder, without the folders in it."""

    @abstractmethod
    def create_folder(self, folder: str, file: str, data: bytes, draft: str) -> bool:
        """Creates a folder with a first, small file. False if the folder exists.

        Two writers may both get True within SETTLE_SECONDS; afterwards the file is that of one of
        them. `draft` is the writer's own name for the folder while it is incomplete.
        """

    @abstractmethod
    def discard_draft(self, draft: str) -> None:
        """Removes the incomplete folder of a killed writer."""

    @abstractmethod
    def open(self, path: str) -> StoredFile: ...

    @abstractmethod
    def size_of(self, file: StoredFile) -> int | None:
        """The size of an open file."""

    @abstractmethod
    def put(self, path: str, source: Source, size: int | None) -> None:
        """Stores all bytes of `source` in bounded memory."""

    @abstractmethod
    def delete(self, folder: str, first: Sequence[str] = ()) -> None:
        """Deletes a folder, the files in `first` before the others."""

    def write(self, path: str, source: Source, size: int | None = None) -> tuple[int, str]:
        """Stores all bytes of `source`, and reads them back. Returns size and SHA-256."""
        digest = DigestingSource(source)
        self.put(path, digest, size)
        written = digest.size, digest.sha256.hexdigest()
        with self.open(path) as stored:
            found = digest_of(stored)
        if found != written:
            raise JobError(
                "StoreCorrupt",
                f"{self.location()}/{path}: {written[0]} bytes of SHA-256 {written[1]} were "
                f"written, {found[0]} of {found[1]} are stored",
            )
        return written
