"""Restores a backup (see stored_backup.py) into a new or an existing site. Part of site_init.py.

Environment
  RESTORE_ID         hash of the wanted restore: each is done once. Absent: no restore; an
                     unfinished one is undone
  RESTORE_NAME       name of the backup; absent: the newest complete one whose time is not in the
                     future
  RESTORE_OWNER      `<namespace>/<SiteBackup>` of the backup; absent: any
  RESTORE_CONFIRMED  1: the data of an existing site may be replaced
  STORE_*, S3_*      the backup's store, see backup_store.py; absent: not known yet
  RESTORE_ARCHIVE    a backup that the framework made, see archive.py; for a new site only

On the volume, below `sites/<site>/private/restores/<id>/`
  new/     the backup's database.sql.gz, public-files/, private-files/, site_config.json; removed
           after the restore
  before/  the site's previous database.sql.gz, site_config.json, code.json, public-files/,
           private-files/; that of the last restore is kept

The marker has the field `restore` from the first change of the site to the last. Meanwhile its
`upgrade` keeps the site closed, and names the dump that is being loaded:
  id, name, from, location of the backup
  new, before   these folders, relative to `sites/`; a new site has no `before`
  keys          keys that were added to site_config.json, also by restores that this one replaces
  digest        of the backup's encryption key, which the site has from then on
  earlier       digests of the backups that this restore replaces: the site has one of their keys
                until its files are replaced
  back          the restore is being undone
The marker's `restores`: `done`, the ids of the newest 500, and `last`, the record of the last one.
"""

import hashlib
import os
import re
import tarfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from archive import Archive
from atomic_files import read_json, write_json
from backup_store import open_store
from database_server import Server
from job_environment import secret_env
from job_result import JobError, log, set_termination_message
from operator_constants import CONFIG_KEYS_FIELD
from site_access import MARKER
from site_records import read_marker, read_site_config, texts_in
from site_state import SiteSettings, update_marker, update_site_config
from site_upgrade import CLOSED_KEYS, DUMP, Upgrade
from store_base import Store
from stored_backup import (
    CONFIG,
    NAME,
    Manifest,
    download,
    encrypted_files,
    manifest_of,
    name_of,
    size_of,
    stored_backups,
)
from unpacking import check_space, unpack
from utc_time import utc_now
from volume_files import (
    directories_in,
    exists,
    is_file,
    link,
    make_directory,
    names_in,
    remove_file,
    remove_tree,
    rename,
    try_to_remove_tree,
)

ID = re.compile(r"[0-9a-f]{8,64}")
FOLDERS = {"public-files": Path("public", "files"), "private-files": Path("private", "files")}
# Keys of site_config.json that belong to the site where the backup was made, not to its data.
ENVIRONMENT_KEYS = re.compile(
    r"(db|redis|socketio|webserver|app_operator|rq|ssl)_.*|host_name|domains|root_.*|"
    r"admin_password|extra_config|" + "|".join(CLOSED_KEYS)
)
# Of the ids of restores that were done, so many are reported, and so many are kept in the marker.
MAX_REQUESTS = 50
MAX_KEPT_REQUESTS = 500
# A backup of another node, whose clock is a little ahead, is not of the future.
CLOCK_SKEW = timedelta(minutes=5)

# Fails if the image cannot work on a backup at this location, of apps in these versions.
CheckVersions = Callable[[str, Mapping[str, str]], None]
FetchTo = Callable[[Path], Manifest]


def digest_of_key(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:16]


class Restore:
    """The wanted restore, and the one in progress."""

    def __init__(
        self,
        settings: SiteSettings,
        database: Server | None = None,
        check_versions: CheckVersions = lambda location, versions: None,
    ) -> None:
        self.settings = settings
        self.upgrade = Upgrade(settings, database)
        self.check_versions = check_versions
        self.id = os.environ.get("RESTORE_ID", "")
        if self.id and not ID.fullmatch(self.id):
            raise JobError("InvalidInput", f"RESTORE_ID {self.id!r} is not a hash")
        self.is_confirmed = os.environ.get("RESTORE_CONFIRMED") == "1"
        is_archive = bool(os.environ.get("RESTORE_ARCHIVE"))
        self.has_store = is_archive or bool(os.environ.get("STORE_PREFIX"))
        # Of a backup that the framework made; read when it is fetched.
        self.archive: Archive | None = None
        self.is_archive = is_archive

    @property
    def state(self) -> dict[str, Any] | None:
        """The marker's `restore`; None if no restore is in progress."""
        return read_marker(self.settings.site).get("restore")

    @property
    def required_state(self) -> dict[str, Any]:
        state = self.state
        assert state is not None
        return state

    @property
    def restores(self) -> dict[str, Any]:
        restores: dict[str, Any] = read_marker(self.settings.site).get("restores", {})
        return restores

    @property
    def is_wanted(self) -> bool:
        return bool(self.id) and self.id not in self.restores.get("done", [])

    def may_begin(self) -> bool:
        """Whether a restore is wanted, its store is known, and it may replace the site's data."""
        state = self.state
        is_new = state is not None and "before" not in state
        return self.is_wanted and self.has_store and (self.is_confirmed or is_new)

    def is_known_key(self, key: str) -> bool:
        """Whether the site got this encryption key from a backup."""
        state = self.state or {}
        last = self.restores.get("last", {}).get("digest")
        return digest_of_key(key) in (last, state.get("digest"), *state.get("earlier", []))

    def discard_unwanted(self) -> None:
        """Discards a restore into a new site that is not wanted any more: the site is recreated."""
        state = self.state
        if state is None or "before" in state or self.id == state["id"] or self.may_begin():
            return
        log(f"the restore of {state['name']} is not wanted any more")
        for folder in (*FOLDERS.values(), Path("private", "restores")):
            try_to_remove_tree(self.settings.site / folder)
        marker = read_marker(self.settings.site)
        keys = ("owner", "dbName", "dbHost", "dbPort", "revision")
        kept = {key: marker[key] for key in keys if key in marker}
        write_json(self.settings.site / MARKER, {**kept, "state": "creating"})

    # --- fetching -----------------------------------------------------------------------------

    def fetch(self) -> tuple[Manifest, Path]:
        """Copies the whole backup to the volume and verifies it. The site is not changed.

        Returns the manifest and the folder.
        """
        site_name = self.settings.site_name
        if not self.has_store:
            raise JobError("BackupMissing", f"the store of the backup of {site_name} is not known")
        location, fetch_to = self.archive_source() if self.is_archive else self.backup_source()
        folder = self.settings.site / "private" / "restores" / self.id / "new"
        try_to_remove_tree(folder)
        make_directory(folder, 0o750)
        log(f"fetching {location}")
        set_termination_message(
            "RestoreInterrupted",
            f"the Job was killed before {location} was restored; no data of {site_name} is "
            "replaced yet",
        )
        try:
            manifest = fetch_to(folder)
        except (JobError, OSError, EOFError, zlib.error, tarfile.TarError) as error:
            discard(folder)
            unchanged = f"{site_name} is unchanged"
            if isinstance(error, JobError):
                raise JobError(error.reason, f"{error}; {unchanged}") from None
            reason = "VolumeNotWritable" if isinstance(error, OSError) else "BackupCorrupt"
            raise JobError(reason, f"{location}: {error}; {unchanged}") from None
        return {**manifest, "location": location}, folder

    def backup_source(self) -> tuple[str, FetchTo]:
        """Where the wanted backup is, and what copies it to a folder."""
        store = open_store()
        manifest = self.choose(store)
        location = store.location(manifest["name"])
        self.check(store, manifest, location)
        return location, lambda folder: fetch_files(store, manifest, folder)

    def archive_source(self) -> tuple[str, FetchTo]:
        self.archive = Archive(self.settings)
        return self.archive.source.location, self.archive.fetch

    def inspect(self, manifest: Manifest, folder: Path) -> Manifest:
        """Reads what the manifest of an archive lacks. Needs the empty database."""
        if self.archive is None:
            return manifest
        try:
            found = self.archive.inspect(self.upgrade.database, folder, self.check_versions)
        except JobError as error:
            discard(folder)
            self.upgrade.database.empty()  # of the definitions that were tried
            text = f"{manifest['location']}: {error}; nothing was loaded"
            raise JobError(error.reason, text) from None
        return {**manifest, **found}

    def choose(self, store: Store) -> Manifest:
        """The manifest of the wanted backup."""
        name = os.environ.get("RESTORE_NAME", "")
        if name and not NAME.fullmatch(name):
            raise JobError("InvalidInput", f"RESTORE_NAME {name!r} is not the name of a backup")
        owner = os.environ.get("RESTORE_OWNER", "")
        if not name:
            chosen = newest(stored_backups(store), owner, datetime.now(timezone.utc))
            if chosen is None:
                raise JobError("BackupMissing", f"{store.location()} has no complete backup")
            return chosen
        found = manifest_of(store, name)
        if found is None:
            raise JobError("BackupMissing", f"{store.location()} has no backup {name}")
        if owner not in ("", found.get("owner")):
            raise JobError(
                "BackupMissing",
                f"{store.location(name)} is a backup of {found.get('owner')}, not of {owner}",
            )
        return found

    def check(self, store: Store, manifest: Manifest, location: str) -> None:
        """Fails unless the backup can be restored into the site as a whole."""
        if manifest.get("complete") is not True or manifest.get("partial"):
            raise JobError(
                "BackupIncomplete",
                f"{location} does not hold the whole site: its database, files and encryption key",
            )
        # Of earlier releases the manifest has the site's setting, not what was done.
        if manifest.get("encrypted") and (encrypted := encrypted_files(store, manifest)):
            raise JobError(
                "BackupEncrypted",
                f"{location} is encrypted by the framework (System Settings, encrypt_backup): "
                f"{', '.join(encrypted)}; only a backup without that encryption can be restored",
            )
        settings = self.settings
        if manifest.get("dbType") != settings.db_type:
            raise JobError(
                "BackupUnsuitable",
                f"{location} is of {manifest.get('dbType')}, the database of {settings.site_name} "
                f"is {settings.db_type}",
            )
        missing = {DUMP, CONFIG} - {file["name"] for file in manifest["files"]}
        if missing:
            raise JobError("BackupIncomplete", f"{location} has no {', '.join(sorted(missing))}")
        self.check_versions(location, versions_of(manifest))

    # --- replacing ----------------------------------------------------------------------------

    def prepare(self, settle_seconds: float) -> None:
        """Prepares the site for loading a database: begins, continues or undoes a restore."""
        state = self.state
        is_current = state is not None and self.id == state["id"]
        if state is not None and (state.get("back") or not (is_current or self.may_begin())):
            self.undo()
        elif is_current:
            self.replace_files()
        elif self.may_begin():
            self.begin(settle_seconds)

    def begin(self, settle_seconds: float) -> None:
        manifest, new = self.fetch()
        state, upgrade, sites = self.state, self.upgrade, self.settings.sites
        if state is not None:
            self.record(manifest, new, state.get("before"))
            self.replace_files()
            return
        before = new.parent / "before"
        upgrade_state = upgrade.state or {}
        if "backup" in upgrade_state:
            # The site is partly migrated: the upgrade's backup is its previous data.
            source = sites / upgrade_state["backup"]
            if source != before:
                try_to_remove_tree(before)
                link_files(source, before)
        else:
            try:
                image = os.environ.get("IMAGE", "")
                upgrade.close(image, settle_seconds, lambda: self.back_up_to(before))
            except (JobError, OSError):
                discard(new)
                raise
        self.record(manifest, new, str(before.relative_to(sites)))
        self.replace_files()

    def back_up_to(self, before: Path) -> None:
        self.upgrade.back_up_to(before)
        for name in FOLDERS:  # of an earlier restore of the same backup
            remove_tree(before / name)

    def record(
        self, manifest: Manifest, new: Path, before: str | None, **marker_changes: Any
    ) -> None:
        """Records the restore in the marker: from now on every Job loads the backup."""
        settings, image, state = self.settings, os.environ.get("IMAGE", ""), self.state or {}
        config = read_site_config(new)
        current = read_site_config(settings.site)
        # `siteConfig` of the AppSite decides on the keys that it has set, not the backup.
        declared = texts_in(config.get(CONFIG_KEYS_FIELD))
        added = [
            key
            for key in config
            if key not in current
            and key not in declared
            and not ENVIRONMENT_KEYS.fullmatch(key)
            and key != "encryption_key"
        ]
        restore = {
            "id": self.id,
            "name": manifest["name"],
            "location": manifest["location"],
            "new": str(new.relative_to(settings.sites)),
            "keys": sorted({*state.get("keys", []), *added}),
            "digest": digest_of_key(config["encryption_key"]),
            "earlier": replaced_keys(state),
            **({} if before is None else {"before": before}),
            **({"missing": manifest["missing"]} if manifest.get("missing") else {}),
        }
        code = {**versions_of(manifest), **({"image": image} if image else {})}
        loading: dict[str, Any] = load_request(restore["new"], code)
        if self.upgrade.state is None:
            loading |= {"from": image, "to": image, "settings": {}}
        self.upgrade.record(loading, restore=restore, installing=None, **marker_changes)
        self.upgrade.close_in_configuration()

    def replace_files(self) -> None:
        """Replaces the files and the keys of the configuration. May be repeated."""
        state, site = self.required_state, self.settings.site
        new = self.settings.sites / state["new"]
        for name, folder in FOLDERS.items():
            if not exists(new / name):
                continue  # it is already moved, or the backup has none
            make_directory(site / folder)
            self.set_aside(state, name, site / folder)
            rename(new / name, site / folder)
        config = read_site_config(new)
        keys = ("encryption_key", *state["keys"])
        update_site_config(site, {key: config.get(key) for key in keys})

    def set_aside(self, state: dict[str, Any], name: str, folder: Path) -> None:
        """Keeps the site's previous files, and removes files of a restore that has not ended."""
        before = state.get("before")
        kept = None if before is None else self.settings.sites / before / name
        if kept is None or exists(kept):
            remove_tree(folder)
        else:
            rename(folder, kept)

    def undo(self) -> None:
        """Restores the previous files and keys. The upgrade loads the previous database."""
        state, site = self.required_state, self.settings.site
        before = self.settings.sites / state["before"]
        log(f"restoring the data that {self.settings.site_name} had before {state['name']}")
        loading = load_request(state["before"], read_json(before / "code.json"))
        is_undoing = {**state, "back": True}
        self.upgrade.record(
            {} if state.get("back") else loading, restore=is_undoing, installing=None
        )
        for name, folder in FOLDERS.items():
            if exists(before / name):
                try_to_remove_tree(site / folder)
                rename(before / name, site / folder)
        key = read_site_config(before).get("encryption_key")
        update_site_config(site, {**dict.fromkeys(state["keys"]), "encryption_key": key})

    # --- the end ------------------------------------------------------------------------------

    def finish(self) -> None:
        """Records that the restore is done. The data is of the image's code by now."""
        state = self.state
        if state is None:
            return
        if state.get("back"):
            log(f"{self.settings.site_name} has the data from before {state['name']} again")
            update_marker(self.settings.site, {"restore": None})
            return
        keys = ("id", "name", "location", "digest", "before", "missing")
        last = {key: state[key] for key in keys if key in state}
        last["time"] = utc_now()
        restores = {"done": done_requests(self.restores, state["id"]), "last": last}
        update_marker(self.settings.site, {"restore": None, "restores": restores})
        log(f"restored {state['location']}")

    def remove_leftovers(self) -> None:
        """Removes the folders of all restores except the last `before`, once the site is open."""
        if self.state is not None or self.upgrade.state is not None:
            return
        kept = self.restores.get("last", {}).get("before", "")
        for restore in directories_in(self.settings.site / "private" / "restores"):
            for folder in directories_in(restore):
                if str(folder.relative_to(self.settings.sites)) != kept:
                    discard(folder)

    def outcome(self) -> dict[str, Any]:
        """The part of the Job's result that the operator reads."""
        last = self.restores.get("last")
        outcome: dict[str, Any] = {}
        if last is not None:
            config = read_site_config(self.settings.site)
            is_own_key = config.get("encryption_key", "").strip() == secret_env(
                "ENCRYPTION_KEY", ""
            )
            outcome["restored"] = {
                **{key: value for key, value in last.items() if key not in ("id", "digest")},
                "encryptionKey": "Secret" if is_own_key else "Backup",
                "requests": self.restores["done"][-MAX_REQUESTS:],
            }
        if self.is_wanted:
            outcome["restore"] = "Unconfirmed" if self.has_store else "Unknown"
        return outcome


def done_requests(restores: Mapping[str, Any], request: str) -> list[str]:
    """The ids of the newest restores that were done, this one included."""
    earlier = [id for id in restores.get("done", []) if id != request]
    return [*earlier, request][-MAX_KEPT_REQUESTS:]


def replaced_keys(state: Mapping[str, Any]) -> list[str]:
    """The digests of the keys of all backups that a restore in progress has had, each once."""
    last = [state["digest"]] if state else []
    return list(dict.fromkeys([*state.get("earlier", []), *last]))


def newest(manifests: Iterable[Manifest], owner: str, now: datetime) -> Manifest | None:
    """The newest complete backup of `manifests`, which are sorted; '' is any owner.

    Backups of the future come from a wrong clock: each would be the newest until its time. They are
    chosen only if there are no others.
    """
    latest = name_of(now + CLOCK_SKEW)
    future: list[Manifest] = []
    for manifest in manifests:
        if not manifest.get("complete") or owner not in ("", manifest.get("owner")):
            continue
        if manifest["name"] <= latest:
            for other in future:
                log(f"{other['name']} is not restored: its time is in the future")
            return manifest
        future.append(manifest)
    if not future:
        return None
    log("all complete backups have a time in the future: the newest of them is restored")
    return future[0]


def load_request(backup: str, code: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the marker's `upgrade` that make the next Job load a database."""
    return {
        "backup": backup,
        "code": code,
        "restoring": True,
        "changed": None,
        "migrated": None,
    }


def fetch_files(store: Store, manifest: Manifest, folder: Path) -> Manifest:
    size = size_of(manifest)
    check_space(size, f"{manifest['name']} has {size} bytes", folder)
    for file in manifest["files"]:
        name = file["name"]
        download(store, manifest, file, folder / name)
        if name.endswith((".tar", ".tgz")):
            kind = name.rsplit(".", 1)[0]
            unpack(folder / name, folder / ("public-files" if kind == "files" else kind))
            remove_file(folder / name)
    rename(folder / CONFIG, folder / "site_config.json")
    if not read_site_config(folder).get("encryption_key"):
        raise JobError("BackupIncomplete", f"{manifest['name']} holds no encryption key")
    os.sync()  # before it replaces the site's data: a lost node must not lose both
    return manifest


def discard(folder: Path) -> None:
    """Removes `new` or `before`, and its parent if empty: `before` may be the site's only copy."""
    try_to_remove_tree(folder)
    if not names_in(folder.parent):
        remove_tree(folder.parent)


def versions_of(manifest: Manifest) -> dict[str, str]:
    """App → version."""
    try:
        return {str(app["name"]): str(app["version"]) for app in manifest["apps"]}
    except (KeyError, TypeError):
        raise JobError(
            "BackupIncomplete", f"the manifest of {manifest.get('name')} does not list its apps"
        ) from None


def link_files(source: Path, target: Path) -> None:
    make_directory(target)
    for name in names_in(source):
        if is_file(source / name):
            link(source / name, target / name)
