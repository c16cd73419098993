"""Imports a backup that the framework itself made: turns it into what a restore reads.

`bench backup --with-files` writes a dump, two tar archives and site_config_backup.json. None of
them has a manifest. So sizes, content, apps and versions are read from the files, and all problems
are named together, before a row is loaded.

Environment, besides that of archive_source.py
  RESTORE_ENCRYPTION_KEY    the key of encrypted files; absent: `backup_encryption_key` of the
                            archive's configuration
  RESTORE_CONFIG_KEYS       JSON array: keys of the configuration that the site gets, besides
                            `encryption_key`
"""

import base64
import binascii
import gzip
import hmac
import os
import tarfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, cast

from archive_content import (
    check_dump,
    check_no_other,
    compress,
    decrypt,
    framework_version,
    is_encrypted_file,
    is_gzip,
    start_of,
)
from archive_source import (
    DATABASE,
    PRIVATE_FILES,
    PUBLIC_FILES,
    ROLES,
    SITE_CONFIG,
    ArchiveSource,
    archive_source,
)
from atomic_files import write_json
from database_server import Server
from dump_facts import DumpFacts, Secret
from job_environment import json_array_env, secret_env
from job_result import JobError, all_of, log, write_termination_message
from read_progress import ReadProgress
from secret_redaction import file_secrets
from site_state import SiteSettings
from stored_backup import Manifest
from unpacking import RESERVED_BYTES, check_space, unpack
from volume_files import (
    free_bytes,
    open_to_read,
    open_to_replace,
    read_json_value,
    remove_file,
    rename,
)

DUMP = "database.sql.gz"
FOLDERS = {PUBLIC_FILES: "public-files", PRIVATE_FILES: "private-files"}
# The last line of a dump of either kind.
DUMP_ENDS = (b"-- Dump completed", b"-- PostgreSQL database dump complete")
TAIL_BYTES = 4 << 10
# A page and an archive differ within the first header.
START_OF_TAR = 512
MAX_SHOWN_SECRETS = 5
MAX_MISSING = 6
MAX_MISSING_TEXT = 240
MEANING = {
    PUBLIC_FILES: "public files of the site are missing, their links answer 404",
    PRIVATE_FILES: "private files of the site are missing, their links answer 404",
    SITE_CONFIG: "the site has an encryption key of its own",
}
INTERRUPTED = "RestoreInterrupted"

# Fails if the image cannot work on a backup at this location, of apps in these versions.
CheckVersions = Callable[[str, Mapping[str, str]], None]


class Archive:
    def __init__(self, settings: SiteSettings, source: ArchiveSource | None = None) -> None:
        self.settings = settings
        self.source = source or archive_source()
        self.config: dict[str, Any] = {}
        self.problems: list[JobError] = []
        self.framework = ""

    def fetch(self, folder: Path) -> Manifest:
        """Writes the files of a restore to `folder`. What is wrong with them is in `problems`."""
        steps: dict[str, Callable[[Path], None]] = {
            SITE_CONFIG: self.take_config,
            DATABASE: self.take_dump,
            PUBLIC_FILES: lambda file: self.take_files(PUBLIC_FILES, file),
            PRIVATE_FILES: lambda file: self.take_files(PRIVATE_FILES, file),
        }
        for role in ROLES:
            if role in self.source.names:
                self.collect(role, lambda role=role: self.take(role, folder, steps[role]))  # type: ignore[misc]
        if DATABASE in self.failed:
            raise all_of(self.problems)
        self.write_config(folder)
        os.sync()  # before it becomes the site's data
        return {"name": self.source.names[DATABASE], "apps": [], "location": self.source.location}

    @property
    def failed(self) -> set[str]:
        return {str(error).split(":")[0] for error in self.problems}

    def collect(self, role: str, step: Callable[[], None]) -> None:
        try:
            step()
        except JobError as error:
            text = str(error)
            named = text if text.startswith(f"{role}:") else f"{role}: {text}"
            self.problems.append(JobError(error.reason, named))
        except (EOFError, zlib.error, tarfile.TarError, gzip.BadGzipFile) as error:
            is_damaged = isinstance(error, tarfile.TarError)
            what = "it is no tar archive, or it is damaged" if is_damaged else error
            name = self.source.names[role]
            self.problems.append(JobError("BackupCorrupt", f"{role}: {name}: {what}"))

    def take(self, role: str, folder: Path, step: Callable[[Path], None]) -> None:
        file = folder / role
        self.download(role, file)
        try:
            if is_encrypted_file(file):
                plain = folder / f"{role}.decrypted"
                decrypt(file, plain, self.key_of(role))
                rename(plain, file)
            step(file)
        except JobError as error:
            raise JobError(error.reason, f"{role}: {self.source.names[role]}: {error}") from None
        finally:
            remove_file(file)

    def download(self, role: str, target: Path) -> None:
        source = self.source.open(role)
        limit = free_bytes(target.parent) - RESERVED_BYTES
        if source.size is not None:
            check_space(
                source.size, f"{role}: {source.name} has {source.size} bytes", target.parent
            )
        killed = f"the Job was killed before the archive of {self.settings.site_name} was fetched"
        with source.stream as stream, open_to_replace(target) as output:
            progress = ReadProgress(
                stream, source.size, f"fetching {role}", source.name, INTERRUPTED, killed
            )
            while data := progress.read(1 << 20):
                if progress.done > limit:
                    raise JobError(
                        "VolumeFull",
                        f"{role}: {source.name} has more than the {limit} bytes that the volume "
                        "has space for",
                    )
                output.write(data)

    def key_of(self, role: str) -> str:
        key = secret_env("RESTORE_ENCRYPTION_KEY", "") or self.config.get("backup_encryption_key")
        if not isinstance(key, str) or not key:
            raise JobError(
                "BackupEncrypted",
                "it is encrypted, and no key is known: set "
                "spec.restoreFrom.archive.encryptionKeySecretRef, or add the site's "
                "site_config_backup.json with backup_encryption_key",
            )
        return key

    # --- the files ----------------------------------------------------------------------------

    def take_config(self, file: Path) -> None:
        try:
            config = read_json_value(file)
        except ValueError:
            raise JobError("BackupCorrupt", "it is not JSON") from None
        if not isinstance(config, dict):
            raise JobError("BackupCorrupt", "it is not a JSON object")
        for name in ("encryption_key", "backup_encryption_key"):
            value = config.get(name)
            if value is not None and not isinstance(value, str):
                raise JobError("BackupCorrupt", f"{name} is not a text")
            if value:
                file_secrets.add(value)
        self.config = config

    def take_dump(self, file: Path) -> None:
        start = start_of(file)
        check_dump(start, self.settings.db_type)
        self.framework = framework_version(start)
        if is_gzip(file):
            rename(file, file.with_name(DUMP))
        else:
            compress(file, file.with_name(DUMP))

    def take_files(self, role: str, file: Path) -> None:
        check_no_other(start_of(file)[:START_OF_TAR], "tar archive")
        unpack(file, file.with_name(FOLDERS[role]))

    def write_config(self, folder: Path) -> None:
        """The configuration that the site gets: its key, and the keys that the spec lists."""
        key = self.config.get("encryption_key") or secret_env("ENCRYPTION_KEY")
        wanted = {name: self.config[name] for name in self.wanted_keys() if name in self.config}
        write_json(folder / "site_config.json", {**wanted, "encryption_key": key})
        others = sorted(self.config.keys() - wanted.keys() - {"encryption_key"})
        if others:
            log(f"keys of siteConfig that the site does not get: {', '.join(others)}")

    @staticmethod
    def wanted_keys() -> list[str]:
        return [name for name in json_array_env("RESTORE_CONFIG_KEYS") if isinstance(name, str)]

    # --- the dump -----------------------------------------------------------------------------

    def inspect(
        self, database: Server, folder: Path, check_versions: CheckVersions
    ) -> dict[str, Any]:
        """What the manifest of the backup would say. Fails with all problems of the archive."""
        facts = self.read_dump(database, folder / DUMP)
        for problem in facts.problems if facts else []:
            self.problems.append(JobError("BackupUnsuitable", f"{DATABASE}: {problem}"))
        apps = {} if facts is None else facts.apps(self.framework)
        if facts is not None and "frappe" not in apps:
            self.problems.append(
                JobError(
                    "BackupUnsuitable",
                    f"{DATABASE}: it is no dump of a site: its table `tabDefaultValue` has no list "
                    "of installed apps with frappe",
                )
            )
        self.collect(DATABASE, lambda: check_versions("the archive", apps))
        if self.problems:
            raise all_of(self.problems)
        assert facts is not None
        return {
            "apps": [{"name": name, "version": version} for name, version in apps.items()],
            "missing": self.missing(facts.secrets),
        }

    def read_dump(self, database: Server, dump: Path) -> DumpFacts | None:
        killed = f"the Job was killed before the dump of {self.settings.site_name} was loaded"
        facts: DumpFacts | None = None

        def read() -> None:
            nonlocal facts
            with open_to_read(dump) as raw:
                size, what = os.fstat(raw.fileno()).st_size, "the compressed dump"
                progress = ReadProgress(raw, size, "checking", what, INTERRUPTED, killed)
                with gzip.GzipFile(fileobj=cast(IO[bytes], progress), mode="rb") as file:
                    end = EndOf(file)
                    facts = database.inspect(cast(Any, end))
                    end.read_rest()
            if not any(mark in end.tail for mark in DUMP_ENDS):
                raise JobError(
                    "BackupCorrupt",
                    "the dump has no last line `-- Dump completed`: it is cut, or was made without "
                    "comments",
                )

        self.collect(DATABASE, read)
        write_termination_message(b"")
        return facts

    # --- what the site does not get -----------------------------------------------------------

    def missing(self, secrets: list[Secret]) -> list[str]:
        """What the archive does not hold, and what that means."""
        texts = [
            f"{role}: not in the archive; {MEANING[role]}"
            for role in MEANING
            if role not in self.source.names
        ]
        key = self.config.get("encryption_key")
        if SITE_CONFIG in self.source.names and not key:
            texts.append(f"siteConfig: it has no encryption_key; {MEANING[SITE_CONFIG]}")
        lost = [secret for secret in secrets if not opens(key or "", secret.value)]
        if lost:
            texts.append(lost_secrets(lost, has_key=bool(key)))
        if absent := [name for name in self.wanted_keys() if name not in self.config]:
            texts.append(f"siteConfigKeys: siteConfig has no {', '.join(absent)}")
        for text in texts:
            log(text)
        return [text[:MAX_MISSING_TEXT] for text in texts[:MAX_MISSING]]


def lost_secrets(lost: list[Secret], has_key: bool) -> str:
    for secret in lost:
        log(f"cannot be read: {secret.fieldname} of {secret.doctype} {secret.name}")
    names = [f"{secret.fieldname} of {secret.doctype} {secret.name}" for secret in lost]
    more = len(names) - MAX_SHOWN_SECRETS
    shown = ", ".join(names[:MAX_SHOWN_SECRETS]) + (f" and {more} more" if more > 0 else "")
    why = "the encryption_key of siteConfig does not open them" if has_key else "no encryption_key"
    return f"stored passwords: {len(lost)} are lost, {why}; set them again: {shown}"


def opens(key: str, token: str) -> bool:
    """Whether a key of Fernet opens a token: its signature is right."""
    try:
        secret = base64.urlsafe_b64decode(key.strip())
        data = base64.urlsafe_b64decode(token.strip())
    except (ValueError, binascii.Error):
        return False
    if len(secret) != 32:
        return False
    expected = hmac.new(secret[:16], data[:-32], "sha256").digest()
    return hmac.compare_digest(expected, data[-32:])


class EndOf:
    """A stream that keeps its last bytes."""

    def __init__(self, file: gzip.GzipFile) -> None:
        self.file, self.tail = file, b""

    def read(self, size: int = -1) -> bytes:
        return self.keep(self.file.read(size))

    def readline(self, size: int = -1) -> bytes:
        return self.keep(self.file.readline(size))

    def keep(self, data: bytes) -> bytes:
        if data:
            self.tail = (self.tail[-TAIL_BYTES:] + data[-TAIL_BYTES:])[-TAIL_BYTES:]
        return data

    def read_rest(self) -> None:
        while self.read(1 << 20):
            pass
