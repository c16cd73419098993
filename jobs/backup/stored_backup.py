"""What a backup is: a folder of a store (see backup_store.py), named by its start in UTC, that has a manifest.

The manifest is written last, when every other file was read back and found whole: a folder without one is no backup.

`manifest.json`
  version 1; name; owner `<namespace>/<SiteBackup>`; namespace, site (name of the AppSite), siteName
  startTime, completionTime (RFC 3339); frameworkVersion, image, dbType; apps [{name, version}]
  complete    whether database, files and encryption key are in it
  partial     whether it has only some document types: it cannot be restored as a whole
  encrypted   whether the framework has encrypted the files with `backup_encryption_key` of the configuration
  files       [{name, size, sha256}]
Files: `database.sql.gz`, `files.tar|tgz`, `private-files.tar|tgz`, `site_config_backup.json`. Beside them `started.json`, the first
file of all, says whose an unfinished one is: {owner, site `<namespace>/<AppSite>`, job, token}.
"""

import hashlib
import io
import json
import os
import re
from datetime import datetime, timezone

from site_common import Refused

MANIFEST = "manifest.json"
STARTED = "started.json"
DATABASE = "database.sql.gz"
CONFIG = "site_config_backup.json"
NAME = re.compile(r"\d{8}T\d{6}Z")
FILE = re.compile(r"[a-z][a-z_-]*\.(sql\.gz|tar|tgz|json)")
MAX_MANIFEST_BYTES = 1 << 20


def name_of(moment):
    return moment.strftime("%Y%m%dT%H%M%SZ")


def draft_of(owner, site):
    """What a SiteBackup's backup of an AppSite is called while it has no folder of its own: always the same, so that the next finds it."""
    return f".begun-{hashlib.sha256(f'{owner} {site}'.encode()).hexdigest()[:16]}"


def moment_of(name):
    return datetime.strptime(name, "%Y%m%dT%H%M%SZ").replace(tzinfo=timezone.utc)


def read_object(store, path):
    """A small JSON object; None where there is none that could be one."""
    with store.open(path) as file:
        data = b""
        while len(data) <= MAX_MANIFEST_BYTES and (more := file.read(65536)):
            data += more
    try:
        value = json.loads(data)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def write_object(store, path, value):
    data = json.dumps(value, indent=1, sort_keys=True).encode()
    store.write(path, io.BytesIO(data), len(data))


def manifest_of(store, name):
    """The manifest of a backup whose files are all there in their sizes; None where the folder is no backup."""
    files = store.files(name)
    if MANIFEST not in files:
        return None
    manifest = read_object(store, f"{name}/{MANIFEST}")
    if manifest is None or manifest.get("version") != 1 or manifest.get("name") != name or not isinstance(manifest.get("files"), list):
        return None
    listed = all(isinstance(file, dict) and FILE.fullmatch(str(file.get("name"))) for file in manifest["files"])
    return manifest if listed and all(files.get(file["name"]) == file["size"] for file in manifest["files"]) else None


def stored_backups(store):
    """The manifests of all backups of a store, newest first."""
    names = sorted(filter(NAME.fullmatch, store.folders()), reverse=True)
    return list(filter(None, (manifest_of(store, name) for name in names)))


def size_of(manifest):
    return sum(file["size"] for file in manifest["files"])


def delete_backup(store, name):
    """The manifest goes first: what is left of a removal that was killed is no backup. What says whose it is goes last, so that it is found."""
    store.delete(name, (MANIFEST, *sorted(store.files(name).keys() - {MANIFEST, STARTED})))


def download(store, manifest, file, target):
    """Copies one of the manifest's files to the path `target`, and refuses what is not as it was stored."""
    digest, size = hashlib.sha256(), 0
    part = f"{target}.part"
    with store.open(f"{manifest['name']}/{file['name']}") as source, open(part, "wb") as output:
        while data := source.read(1 << 20):
            digest.update(data)
            size += len(data)
            output.write(data)
    if (size, digest.hexdigest()) != (file["size"], file["sha256"]):
        os.unlink(part)
        raise Refused("BackupCorrupt", f"{store.location(manifest['name'])}/{file['name']} is not as it was stored: {size} bytes of SHA-256 {digest.hexdigest()}")
    os.replace(part, target)
