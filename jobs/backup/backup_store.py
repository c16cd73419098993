"""Stores of backups: a folder on a volume, or a prefix in an S3-compatible store.

A path is `<folder>/<file>`. Failures are JobErrors: StoreUnreachable, StoreAccessDenied,
BucketMissing, StoreFull, StoreCorrupt, StoreFailed and others.

Environment of `open_store`
  STORE_PREFIX    the folder, or the prefix of the keys
  STORE_DIR, STORE_CLAIM    a volume: its mount path, and the name of its PersistentVolumeClaim
  S3_ENDPOINT, S3_REGION, S3_BUCKET, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY, S3_CA_FILE
  S3_PATH_STYLE   0: the bucket is in the host name
"""

import errno
import hashlib
import io
import os
import re
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol
from xml.etree.ElementTree import Element
from xml.sax.saxutils import escape

from job_environment import text_env
from job_result import JobError
from s3_client import S3Client, S3Error, texts_at

PREFIX = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*")
CHUNK_BYTES = 1 << 20
PART_BYTES = 16 << 20
MAX_PARTS = 10_000
PART_SUFFIX = ".part"
VOLUME_REASONS = {
    errno.ENOSPC: "StoreFull",
    errno.EDQUOT: "StoreFull",
    errno.EACCES: "StoreAccessDenied",
    errno.EROFS: "StoreAccessDenied",
}


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


def open_store() -> "Store":
    """The store that the environment names."""
    prefix = text_env("STORE_PREFIX")
    if not PREFIX.fullmatch(prefix):
        raise JobError("InvalidInput", f"STORE_PREFIX {prefix!r} is not a relative folder")
    if os.environ.get("STORE_DIR"):
        mount = Path(os.environ["STORE_DIR"])
        return VolumeStore(mount, prefix, os.environ.get("STORE_CLAIM", ""))
    client = S3Client(
        endpoint=text_env("S3_ENDPOINT"),
        region=text_env("S3_REGION", "us-east-1"),
        bucket=text_env("S3_BUCKET"),
        key_id=text_env("S3_ACCESS_KEY_ID").strip(),
        secret=text_env("S3_SECRET_ACCESS_KEY").strip(),
        path_style=os.environ.get("S3_PATH_STYLE") != "0",
        ca_file=os.environ.get("S3_CA_FILE") or None,
    )
    return S3Store(client, prefix)


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
        """Name → size in bytes."""

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


class S3Store(Store):
    # Not every store can create an object only if it does not exist.
    SETTLE_SECONDS = 5

    def __init__(self, client: S3Client, prefix: str) -> None:
        self.client, self.prefix = client, prefix

    def location(self, folder: str = "") -> str:
        return "/".join(filter(None, [f"s3://{self.client.bucket}", self.prefix, folder]))

    def key(self, path: str) -> str:
        return f"{self.prefix}/{path}"

    def folders(self) -> list[str]:
        return [
            name.removeprefix(f"{self.prefix}/").rstrip("/")
            for page in self.pages("", "/")
            for name in texts_at(page, "CommonPrefixes/Prefix")
        ]

    def files(self, folder: str) -> dict[str, int]:
        start, found = self.key(f"{folder}/"), {}
        for page in self.pages(f"{folder}/"):
            keys, sizes = texts_at(page, "Contents/Key"), texts_at(page, "Contents/Size")
            for name, size in zip(keys, sizes, strict=True):
                found[name.removeprefix(start)] = int(size)
        return found

    def create_folder(self, folder: str, file: str, data: bytes, draft: str) -> bool:
        del draft
        if self.files(folder):
            return False
        self.put(f"{folder}/{file}", io.BytesIO(data), len(data))
        return True

    def discard_draft(self, draft: str) -> None:
        """An object is either complete or does not exist."""

    def pages(self, start: str, delimiter: str = "") -> Iterator[Element]:
        query = {"list-type": "2", "prefix": self.key(start), "encoding-type": "url"}
        if delimiter:
            query["delimiter"] = delimiter
        while True:
            page = self.client.xml("GET", query=query)
            yield page
            token = page.findtext("NextContinuationToken")
            if page.findtext("IsTruncated") != "true" or not token:
                return
            query["continuation-token"] = token

    def open(self, path: str) -> StoredFile:
        return self.client.open(self.key(path))

    def put(self, path: str, source: Source, size: int | None) -> None:
        # A part stays in memory until the store has it, so that it can be sent again.
        part_bytes = max(PART_BYTES, -(-(size or 0) // (MAX_PARTS - 1)))
        first = read_part(source, part_bytes)
        if len(first) < part_bytes:
            self.client.call("PUT", self.key(path), body=first)
        else:
            self.put_parts(self.key(path), source, first, part_bytes)

    def put_parts(self, key: str, source: Source, data: bytes, part_bytes: int) -> None:
        upload_id = self.client.xml("POST", key, {"uploads": ""}).findtext("UploadId") or ""
        upload: dict[str, Any] = {"uploadId": upload_id}
        try:
            tags: list[str] = []
            while data:
                query = {**upload, "partNumber": len(tags) + 1}
                headers, _ = self.client.call("PUT", key, query, data)
                tags.append(headers.get("ETag", ""))
                data = read_part(source, part_bytes)
            self.complete_upload(key, upload, tags)
        except BaseException:
            self.abort_upload(key, upload)
            raise

    def complete_upload(self, key: str, upload: dict[str, Any], tags: list[str]) -> None:
        parts = "".join(
            f"<Part><PartNumber>{number}</PartNumber><ETag>{escape(tag)}</ETag></Part>"
            for number, tag in enumerate(tags, 1)
        )
        body = f"<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>"
        try:
            self.client.xml("POST", key, upload, body.encode())
        except S3Error as error:
            # If the response to the first attempt was lost, the second finds no upload. Reading the
            # object back decides.
            if error.code != "NoSuchUpload":
                raise

    def abort_upload(self, key: str, upload: dict[str, Any]) -> None:
        try:
            self.client.call("DELETE", key, upload)
        except JobError:
            pass  # `delete` of the folder aborts it

    def delete(self, folder: str, first: Sequence[str] = ()) -> None:
        self.abort_uploads(folder)
        names = self.files(folder)
        for name in [*first, *sorted(names.keys() - set(first))]:
            if name in names:
                self.client.call("DELETE", self.key(f"{folder}/{name}"))

    def abort_uploads(self, folder: str) -> None:
        """The store keeps, and charges for, parts that a list of objects does not show."""
        query = {"uploads": "", "prefix": self.key(f"{folder}/"), "encoding-type": "url"}
        try:
            page = self.client.xml("GET", query=query)
        except S3Error as error:
            if error.reason in ("StoreAccessDenied", "StoreFailed"):
                return  # not every store, nor every account, may list uploads
            raise
        for upload in page.iterfind("Upload"):
            [key], [upload_id] = texts_at(upload, "Key"), texts_at(upload, "UploadId")
            self.abort_upload(key, {"uploadId": upload_id})


def read_part(source: Source, size: int) -> bytes:
    """`size` bytes; fewer only at the end of the stream."""
    data = bytearray()
    while len(data) < size and (more := source.read(min(CHUNK_BYTES, size - len(data)))):
        data += more
    return bytes(data)
