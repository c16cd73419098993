"""Where backups are stored: a folder on a volume, or the keys under a prefix in an S3-compatible store.

  folders()             names of the folders
  files(folder)         name → size in bytes
  take(folder, file, data, draft)    takes a folder with its first, small file in it; False where somebody has it. Others who were told True
                        within SETTLE_SECONDS show in what is there then. `draft` is the taker's own name for what is not yet taken
  discard(draft)        removes what a taker that was killed has left
  open(path)            reads a file as a stream: `read(amount)`, as a context
  write(path, source)   stores what `source` has, in bounded memory; read back, its size and SHA-256 are compared
  delete(folder, first) removes a folder with all its files, those named in `first` before the others, and what killed writers have left in it
  location(folder)      the place, for people
A path is `<folder>/<file>`. Failures are `Refused`: StoreUnreachable, StoreAccessDenied, BucketMissing, StoreFull, StoreCorrupt, StoreFailed, …

Environment of `open_store`
  STORE_PREFIX    folder, or what keys start with
  STORE_DIR, STORE_CLAIM    a volume: where it is mounted, and its claim's name
  S3_ENDPOINT, S3_REGION, S3_BUCKET, S3_PATH_STYLE (0: the bucket is in the host name), S3_CA_FILE, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY
"""

import errno
import hashlib
import io
import os
import re
import shutil
from pathlib import Path

from s3_client import S3Client, S3Error, listed
from site_common import Refused, text_env

PREFIX = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*")
PART_BYTES = 16 << 20
MAX_PARTS = 10_000
PART_SUFFIX = ".part"


def open_store():
    """The store that the environment names."""
    prefix = text_env("STORE_PREFIX")
    if not PREFIX.fullmatch(prefix):
        raise Refused("InvalidInput", f"STORE_PREFIX {prefix!r} is not a relative folder")
    if os.environ.get("STORE_DIR"):
        return VolumeStore(Path(os.environ["STORE_DIR"]), prefix, os.environ.get("STORE_CLAIM", ""))
    client = S3Client(
        endpoint=text_env("S3_ENDPOINT"), region=text_env("S3_REGION", "us-east-1"), bucket=text_env("S3_BUCKET"),
        key_id=text_env("S3_ACCESS_KEY_ID").strip(), secret=text_env("S3_SECRET_ACCESS_KEY").strip(),
        path_style=os.environ.get("S3_PATH_STYLE") != "0", ca_file=os.environ.get("S3_CA_FILE") or None,
    )  # fmt: skip
    return S3Store(client, prefix)


def chunks(source, size=1 << 20):
    while data := source.read(size):
        yield data


def digest_of(source):
    """Size and SHA-256 of what a stream has."""
    digest, size = hashlib.sha256(), 0
    for data in chunks(source):
        digest.update(data)
        size += len(data)
    return size, digest.hexdigest()


class Store:
    SETTLE_SECONDS = 0

    def write(self, path, source, size=None):
        """Stores all that `source` has, `size` bytes if that is known. Returns size and SHA-256, both read back."""
        digest = Digesting(source)
        self.put(path, digest, size)
        written = digest.size, digest.sha256.hexdigest()
        with self.open(path) as stored:
            found = digest_of(stored)
        if found != written:
            raise Refused(
                "StoreCorrupt", f"{self.location()}/{path}: {written[0]} bytes of SHA-256 {written[1]} were written, {found[0]} of {found[1]} are there"
            )
        return written


class Digesting:
    """A stream that remembers what went through it."""

    def __init__(self, source):
        self.source, self.sha256, self.size = source, hashlib.sha256(), 0

    def read(self, amount):
        data = self.source.read(amount)
        self.sha256.update(data)
        self.size += len(data)
        return data


class VolumeStore(Store):
    def __init__(self, mount, prefix, claim=""):
        self.mount, self.root, self.prefix, self.claim = mount, mount / prefix, prefix, claim
        if not mount.is_dir():
            raise Refused("StoreFailed", f"{mount} is not there")

    def location(self, folder=""):
        return "/".join(filter(None, [f"pvc://{self.claim}", self.prefix, folder]))

    def folders(self):
        try:
            return sorted(entry.name for entry in os.scandir(self.root) if entry.is_dir(follow_symlinks=False))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self.failure(error) from None

    def files(self, folder):
        try:
            return {entry.name: entry.stat().st_size for entry in os.scandir(self.root / folder) if entry.is_file(follow_symlinks=False)}
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise self.failure(error) from None

    def take(self, folder, file, data, draft):
        # A folder that is made empty stays nobody's for ever when its maker is killed then.
        target = self.root / folder
        try:
            self.put(f"{draft}/{file}", io.BytesIO(data), len(data))
            if target.exists():
                return False  # an empty one, too, which would be replaced
            os.rename(self.root / draft, target)
            sync_directory(self.root)
        except OSError as error:
            if error.errno in (errno.EEXIST, errno.ENOTEMPTY):
                return False
            raise self.failure(error) from None
        finally:
            self.discard(draft)
        return True

    def discard(self, draft):
        shutil.rmtree(self.root / draft, ignore_errors=True)

    def open(self, path):
        try:
            return open(self.root / path, "rb")
        except OSError as error:
            raise self.failure(error) from None

    def put(self, path, source, _size):
        target = self.root / path
        part = target.with_name(target.name + PART_SUFFIX)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o640), "wb") as file:
                for data in chunks(source):
                    file.write(data)
                file.flush()
                os.fsync(file.fileno())
                # What is read back then comes from the disk.
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            os.replace(part, target)
            sync_directory(target.parent)
        except OSError as error:
            raise self.failure(error) from None

    def delete(self, folder, first=()):
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

    def failure(self, error):
        reason = {errno.ENOSPC: "StoreFull", errno.EDQUOT: "StoreFull", errno.EACCES: "StoreAccessDenied", errno.EROFS: "StoreAccessDenied"}
        return Refused(reason.get(error.errno, "StoreFailed"), f"{self.location()}: {error.strerror or error}")


def sync_directory(path):
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class S3Store(Store):
    # No way to create only what is not there is known to all stores.
    SETTLE_SECONDS = 5

    def __init__(self, client, prefix):
        self.client, self.prefix = client, prefix

    def location(self, folder=""):
        return "/".join(filter(None, [f"s3://{self.client.bucket}", self.prefix, folder]))

    def key(self, path):
        return f"{self.prefix}/{path}"

    def folders(self):
        return [name.removeprefix(f"{self.prefix}/").rstrip("/") for page in self.pages("", "/") for name in listed(page, "CommonPrefixes/Prefix")]

    def files(self, folder):
        start, found = self.key(f"{folder}/"), {}
        for page in self.pages(f"{folder}/"):
            for name, size in zip(listed(page, "Contents/Key"), listed(page, "Contents/Size"), strict=True):
                found[name.removeprefix(start)] = int(size)
        return found

    def take(self, folder, file, data, _draft):
        if self.files(folder):
            return False
        self.put(f"{folder}/{file}", io.BytesIO(data), len(data))
        return True

    def discard(self, _draft):
        pass  # a file is there whole or not at all

    def pages(self, start, delimiter=""):
        query = {"list-type": "2", "prefix": self.key(start), "encoding-type": "url", **({"delimiter": delimiter} if delimiter else {})}
        while True:
            page = self.client.xml("GET", query=query)
            yield page
            token = page.findtext("NextContinuationToken")
            if page.findtext("IsTruncated") != "true" or not token:
                return
            query["continuation-token"] = token

    def open(self, path):
        return self.client.open(self.key(path))

    def put(self, path, source, size):
        # A part is kept in memory until the store has it, so that it can be sent again.
        part_bytes = max(PART_BYTES, -(-(size or 0) // (MAX_PARTS - 1)))
        first = read_part(source, part_bytes)
        if len(first) < part_bytes:
            self.client.call("PUT", self.key(path), body=first)
        else:
            self.put_parts(self.key(path), source, first, part_bytes)

    def put_parts(self, key, source, data, part_bytes):
        upload = {"uploadId": self.client.xml("POST", key, {"uploads": ""}).findtext("UploadId") or ""}
        try:
            tags = []
            while data:
                headers, _ = self.client.call("PUT", key, {**upload, "partNumber": len(tags) + 1}, data)
                tags.append(headers.get("ETag", ""))
                data = read_part(source, part_bytes)
            parts = "".join(f"<Part><PartNumber>{n}</PartNumber><ETag>{tag.replace('&', '&amp;')}</ETag></Part>" for n, tag in enumerate(tags, 1))
            self.complete(key, upload, f"<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>".encode())
        except BaseException:
            self.forget(key, upload)
            raise

    def complete(self, key, upload, body):
        try:
            self.client.xml("POST", key, upload, body)
        except S3Error as error:
            # Where the answer to the first attempt was lost, the second finds no upload: what is read back decides.
            if error.code != "NoSuchUpload":
                raise

    def forget(self, key, upload):
        try:
            self.client.call("DELETE", key, upload)
        except Refused:
            pass  # it goes with its folder

    def delete(self, folder, first=()):
        self.end_uploads(folder)
        names = self.files(folder)
        for name in [*first, *sorted(names.keys() - set(first))]:
            if name in names:
                self.client.call("DELETE", self.key(f"{folder}/{name}"))

    def end_uploads(self, folder):
        """The store keeps, and charges for, parts that no list shows."""
        try:
            page = self.client.xml("GET", query={"uploads": "", "prefix": self.key(f"{folder}/"), "encoding-type": "url"})
        except S3Error as error:
            if error.reason in ("StoreAccessDenied", "StoreFailed"):
                return  # not every store, and not every account, may list them
            raise
        for upload in page.iterfind("Upload"):
            [key], [name] = listed(upload, "Key"), listed(upload, "UploadId")
            self.forget(key, {"uploadId": name})


def read_part(source, size):
    """`size` bytes; fewer only at the end."""
    data = bytearray()
    while len(data) < size and (more := source.read(min(1 << 20, size - len(data)))):
        data += more
    return bytes(data)
