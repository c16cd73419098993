"""Finds the files of a backup that the framework made: on a volume, in S3, or behind URLs.

Environment
  RESTORE_ARCHIVE    `Store`: the store of backup_store.py; `URLs`: the variables below
  RESTORE_FILES      JSON object, role → path below STORE_PREFIX; absent: the newest backup of the
                     folder, by the names that the framework gives to its files
  RESTORE_URL_DATABASE, RESTORE_URL_PUBLIC_FILES, RESTORE_URL_PRIVATE_FILES,
  RESTORE_URL_SITE_CONFIG    URLs of HTTPS
  RESTORE_AUTHORIZATION      value of the header Authorization; optional
  RESTORE_CA_FILE            certificates of a private authority; optional
"""

import os
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import NamedTuple
from urllib.parse import quote

from backup_store import open_store
from job_environment import json_object_env, secret_env
from job_result import JobError, log
from store_base import Store, StoredFile

DATABASE, SITE_CONFIG = "database", "siteConfig"
PUBLIC_FILES, PRIVATE_FILES = "publicFiles", "privateFiles"
ROLES = (SITE_CONFIG, DATABASE, PUBLIC_FILES, PRIVATE_FILES)
URLS = {
    DATABASE: "RESTORE_URL_DATABASE",
    PUBLIC_FILES: "RESTORE_URL_PUBLIC_FILES",
    PRIVATE_FILES: "RESTORE_URL_PRIVATE_FILES",
    SITE_CONFIG: "RESTORE_URL_SITE_CONFIG",
}
# As the framework names files: `20250131_120000-shop_example_com-private-files-enc.tgz`.
NAME = re.compile(
    r"(?P<start>.*?)(?:-partial)?-?"
    r"(?P<kind>database|private-files|(?:public-)?files|site_config_backup)(?:-enc)?"
    r"\.(?P<suffix>sql|sql\.gz|tar|tgz|tar\.gz|json)"
)
KINDS = {
    "database": (DATABASE, ("sql", "sql.gz")),
    "files": (PUBLIC_FILES, ("tar", "tgz", "tar.gz")),
    "public-files": (PUBLIC_FILES, ("tar", "tgz", "tar.gz")),
    "private-files": (PRIVATE_FILES, ("tar", "tgz", "tar.gz")),
    "site_config_backup": (SITE_CONFIG, ("json",)),
}
TIME = re.compile(r"\d{8}_\d{6}-?")
SHOWN_NAMES = 5


class Named(NamedTuple):
    """What a name of the framework says: its backup's start, and which file it is."""

    start: str
    role: str


def named(name: str) -> Named | None:
    match = NAME.fullmatch(name)
    if match is None:
        return None
    role, suffixes = KINDS[match["kind"]]
    if match["suffix"] not in suffixes:
        return None
    return Named(match["start"], role)


def newest_in(names: list[str], folder: str) -> dict[str, str]:
    """Role → name of the newest backup of a folder."""
    groups: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for name in sorted(names):
        if (found := named(name)) is not None:
            if found.role in groups[found.start]:
                other = groups[found.start][found.role]
                raise JobError(
                    "BackupAmbiguous",
                    f"{folder} has two files of one kind, {other} and {name}: name the files in "
                    "spec.restoreFrom.archive.files",
                )
            groups[found.start][found.role] = name
    starts = [start for start, files in groups.items() if DATABASE in files]
    if not starts:
        return only_dump_in(names, groups, folder)
    sites = sorted({TIME.sub("", start, count=1) for start in starts})
    if len(sites) > 1:
        raise JobError(
            "BackupAmbiguous",
            f"{folder} has backups of {len(sites)} sites, {', '.join(sites[:SHOWN_NAMES])}: name "
            "the files in spec.restoreFrom.archive.files",
        )
    chosen = max(starts)
    if len(starts) > 1:
        log(f"{folder} has {len(starts)} backups: the newest, {chosen}, is imported")
    return groups[chosen]


def only_dump_in(
    names: list[str], groups: Mapping[str, dict[str, str]], folder: str
) -> dict[str, str]:
    """A dump of any other name, if it is the only one."""
    dumps = [name for name in names if name.endswith((".sql", ".sql.gz"))]
    if len(dumps) == 1 and len(groups) <= 1:
        [files] = groups.values() or [{}]
        return {**files, DATABASE: dumps[0]}
    what = f": {', '.join(sorted(names)[:SHOWN_NAMES])}" if names else ", it is empty"
    raise JobError(
        "BackupMissing",
        f"{folder} has no file whose name ends with -database.sql.gz{what}; correct the folder, or "
        "name the files in spec.restoreFrom.archive.files",
    )


class ArchiveFile(NamedTuple):
    """A file of an archive: how messages name it, its stream, and its size if that is known."""

    name: str
    stream: StoredFile
    size: int | None


class ArchiveSource:
    """The files of one backup, by their roles."""

    names: dict[str, str]
    location: str

    def open(self, role: str) -> ArchiveFile:
        raise NotImplementedError


class StoreSource(ArchiveSource):
    def __init__(self, store: Store) -> None:
        self.store = store
        chosen = {role: str(path) for role, path in json_object_env("RESTORE_FILES").items()}
        self.sizes = {} if chosen else store.files("")
        self.names = chosen or newest_in(list(self.sizes), store.location())
        self.location = store.location(quote(self.names[DATABASE]))

    def open(self, role: str) -> ArchiveFile:
        path = self.names[role]
        where = self.store.location(path)
        if ".." in PurePosixPath(path).parts or path.startswith("/"):
            raise JobError("InvalidInput", f"{role}: {path!r} is not a path in the folder")
        try:
            stream = self.store.open(path)
        except JobError as error:
            if getattr(error, "code", "") == "NoSuchKey":
                raise JobError("BackupMissing", f"{role}: there is no {where}") from None
            raise JobError(error.reason, f"{role}: {error}") from None
        return ArchiveFile(PurePosixPath(path).name, stream, self.store.size_of(stream))


class UrlSource(ArchiveSource):
    def __init__(self) -> None:
        from url_client import UrlClient

        authorization = secret_env("RESTORE_AUTHORIZATION", "")
        urls = {role: secret_env(name, "").strip() for role, name in URLS.items()}
        self.clients = {
            role: UrlClient(role, url, authorization, os.environ.get("RESTORE_CA_FILE") or None)
            for role, url in urls.items()
            if url
        }
        # No path of a link is shown: it may be a secret as a whole.
        self.names = {role: role for role in self.clients}
        if DATABASE not in self.clients:
            raise JobError("InvalidInput", "the URL of the database is empty")
        self.location = self.clients[DATABASE].endpoint

    def open(self, role: str) -> ArchiveFile:
        stream = self.clients[role].open("")
        return ArchiveFile(self.names[role], stream, stream.size)


def archive_source() -> ArchiveSource:
    if os.environ.get("RESTORE_ARCHIVE") == "URLs":
        return UrlSource()
    return StoreSource(open_store())
