"""A stored backup: a folder of a store (see backup_store.py) that has a manifest.

The folder's name is the start of the backup in UTC. The manifest is written last, when every other
file was read back and compared. A folder without a manifest is no backup.

`manifest.json`
  version 1; name; owner `<namespace>/<SiteBackup>`; namespace, site (name of the AppSite), siteName
  startTime, completionTime (RFC 3339); frameworkVersion, image, dbType; apps [{name, version}]
  complete    whether it has the database, the files and the encryption key
  partial     whether it has only some document types: it cannot be restored as a whole
  encrypted   whether the framework encrypted a file with the configuration's
              `backup_encryption_key`
  files       [{name, size, sha256}]
Files: `database.sql.gz`, `files.tar|tgz`, `private-files.tar|tgz`, `site_config_backup.json`. The
first file of a folder is `started.json`, which has the owner of an unfinished backup:
{owner, site `<namespace>/<AppSite>`, job, token}.
"""

import hashlib
import io
import json
import re
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from job_result import JobError
from store_base import Store
from volume_files import open_to_replace, remove_file, rename

MANIFEST = "manifest.json"
STARTED = "started.json"
DATABASE = "database.sql.gz"
CONFIG = "site_config_backup.json"
NAME = re.compile(r"\d{8}T\d{6}Z")
NAME_FORMAT = "%Y%m%dT%H%M%SZ"
FILE = re.compile(r"[a-z][a-z_-]*\.(sql\.gz|tar|tgz|json)")
MAX_MANIFEST_BYTES = 1 << 20
# The tag of a packet with an encrypted session key, in the old format and in the new one.
PASSPHRASE_PACKETS = (b"\x8c", b"\x8d", b"\x8e", b"\x8f", b"\xc3")

Manifest = dict[str, Any]


def name_of(moment: datetime) -> str:
    return moment.strftime(NAME_FORMAT)


def start_of(name: str) -> datetime:
    return datetime.strptime(name, NAME_FORMAT).replace(tzinfo=timezone.utc)


def draft_of(owner: str, site: str) -> str:
    """The folder of a backup that has no name yet. Constant, so that the next backup finds it."""
    return f".begun-{hashlib.sha256(f'{owner} {site}'.encode()).hexdigest()[:16]}"


def read_object(store: Store, path: str) -> dict[str, Any] | None:
    """A small JSON object; None if the file does not contain one."""
    with store.open(path) as file:
        data = b""
        while len(data) <= MAX_MANIFEST_BYTES and (more := file.read(65536)):
            data += more
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def write_object(store: Store, path: str, value: object) -> None:
    data = json.dumps(value, indent=1, sort_keys=True).encode()
    store.write(path, io.BytesIO(data), len(data))


def manifest_of(store: Store, name: str) -> Manifest | None:
    """The manifest of a backup whose files have the right sizes; None for other folders."""
    sizes = store.files(name)
    if MANIFEST not in sizes:
        return None
    manifest = read_object(store, f"{name}/{MANIFEST}")
    if manifest is None or manifest.get("version") != 1 or manifest.get("name") != name:
        return None
    files = manifest.get("files")
    if not isinstance(files, list):
        return None
    if not all(isinstance(file, dict) and is_file_record(file) for file in files):
        return None
    return manifest if all(sizes.get(file["name"]) == file["size"] for file in files) else None


def is_file_record(file: dict[str, Any]) -> bool:
    name, size, digest = file.get("name"), file.get("size"), file.get("sha256")
    is_size = isinstance(size, int) and not isinstance(size, bool) and size >= 0
    is_name = isinstance(name, str) and FILE.fullmatch(name) is not None
    return is_name and is_size and isinstance(digest, str)


def backup_names(store: Store) -> Iterator[str]:
    """The folders of a store that have the name of a backup."""
    return filter(NAME.fullmatch, store.folders())


def stored_backups(store: Store) -> list[Manifest]:
    """The manifests of all backups of a store, newest first."""
    names = sorted(backup_names(store), reverse=True)
    return list(filter(None, (manifest_of(store, name) for name in names)))


def size_of(manifest: Manifest) -> int:
    return sum(file["size"] for file in manifest["files"])


def is_encrypted(start: bytes) -> bool:
    """Whether content begins as a message of OpenPGP that a passphrase opens.

    No dump and no archive begins so. The framework may fail to encrypt without a word.
    """
    return start[:1] in PASSPHRASE_PACKETS or start.startswith(b"-----BEGIN PGP MESSAGE")


def encrypted_files(store: Store, manifest: Manifest) -> list[str]:
    """Names of the files that the framework encrypted."""
    found = []
    for file in manifest["files"]:
        with store.open(f"{manifest['name']}/{file['name']}") as content:
            if is_encrypted(content.read(64)):
                found.append(file["name"])
    return found


def delete_backup(store: Store, name: str) -> None:
    """Deletes the manifest first: the folder of a killed removal is no backup.

    The file that names the owner is the last, so that the next removal finds the folder.
    """
    others = sorted(store.files(name).keys() - {MANIFEST, STARTED})
    store.delete(name, (MANIFEST, *others))


def download(store: Store, manifest: Manifest, file: dict[str, Any], target: Path) -> None:
    """Copies one of the manifest's files to `target`, and compares its size and digest."""
    path = f"{manifest['name']}/{file['name']}"
    digest, size = hashlib.sha256(), 0
    part = target.with_name(f"{target.name}.part")
    with store.open(path) as source, open_to_replace(part) as output:
        # Not more than the manifest says: the store may send without end.
        while size <= file["size"] and (data := source.read(1 << 20)):
            digest.update(data)
            size += len(data)
            output.write(data)
    if (size, digest.hexdigest()) != (file["size"], file["sha256"]):
        remove_file(part)
        raise JobError(
            "BackupCorrupt",
            f"{store.location(path)} differs from what was stored: "
            f"{size} bytes of SHA-256 {digest.hexdigest()}",
        )
    rename(part, target)
