"""Backups under a prefix of a bucket in an S3-compatible store."""

import io
from collections.abc import Iterator, Sequence
from typing import Any, cast
from xml.etree.ElementTree import Element
from xml.sax.saxutils import escape

from job_result import JobError
from s3_client import S3Client, S3Error, S3Reader, texts_at
from store_base import CHUNK_BYTES, Source, Store, StoredFile

PART_BYTES = 16 << 20
MAX_PARTS = 10_000


class S3Store(Store):
    # Not every store can create an object only if it does not exist.
    SETTLE_SECONDS = 5

    def __init__(self, client: S3Client, prefix: str) -> None:
        self.client, self.prefix = client, prefix

    def location(self, folder: str = "") -> str:
        return "/".join(filter(None, [f"s3://{self.client.bucket}", self.prefix, folder]))

    def key(self, path: str) -> str:
        return f"{self.prefix}/{path}" if self.prefix else path

    def folders(self) -> list[str]:
        return [
            name.removeprefix(f"{self.prefix}/").rstrip("/")
            for page in self.pages("", "/")
            for name in texts_at(page, "CommonPrefixes/Prefix")
        ]

    def files(self, folder: str) -> dict[str, int]:
        # Of the store's own folder, folders of it are not listed.
        below, delimiter = (f"{folder}/", "") if folder else ("", "/")
        start, found = self.key(below), {}
        for page in self.pages(below, delimiter):
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

    def size_of(self, file: StoredFile) -> int | None:
        return cast(S3Reader, file).size

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
                self.delete_object(self.key(f"{folder}/{name}"))

    def delete_object(self, key: str) -> None:
        try:
            self.client.call("DELETE", key)
        except S3Error as error:
            # If the response to the first attempt was lost, some stores answer so to the second.
            if error.code != "NoSuchKey":
                raise

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
