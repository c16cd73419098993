"""Restores a backup (see stored_backup.py) into a new site, or over an existing one. A part of site_init.py.

Environment
  RESTORE_ID         what is to be restored: each is restored once. Absent: nothing, and a restore that has not ended is undone
  RESTORE_NAME       name of the backup; absent: the newest complete one
  RESTORE_OWNER      `<namespace>/<SiteBackup>` that it is of; absent: of any
  RESTORE_CONFIRMED  1: the data of a site that exists may be replaced
  STORE_*, S3_*      where the backup is, see backup_store.py; absent: not known by now

On the volume, below `sites/<site>/private/restores/<id>/`
  new/     what comes: database.sql.gz, public-files/, private-files/, site_config.json; gone when it has come
  before/  what the site had: database.sql.gz, site_config.json, code.json, public-files/, private-files/; the last one stays

The marker's `restore` is there from the first change of the site to the last; meanwhile its `upgrade` keeps the site closed,
and says which dump is being loaded:
  id, name, from, location of the backup
  new, before   those folders, relative to `sites/`; no `before` where the site is new
  keys          what was added to site_config.json, also by restores that this one is instead of
  digest        of the backup's encryption key, which the site has from then on
  earlier       those of the backups that this one is restored instead of: the site has theirs until its files are replaced
  back          it is being undone
The marker's `restores`: `done`, the ids of all, and `last`, what is told of the last one.
"""

import hashlib
import os
import re
import shutil
import tarfile
from datetime import datetime, timezone
from pathlib import Path

from site_common import MARKER, Refused, foretell, read_json, say, update_site_config, write_json
from site_upgrade import CLOSED_KEYS, Upgrade

ID = re.compile(r"[0-9a-f]{8,64}")
FOLDERS = {"public-files": Path("public", "files"), "private-files": Path("private", "files")}
# Of the site that the backup is of, and not of its data.
PLACE = re.compile(r"(db|redis|socketio|webserver|app_operator|rq|ssl)_.*|host_name|domains|root_.*|admin_password|extra_config|" + "|".join(CLOSED_KEYS))


def digest_of_key(key):
    return hashlib.sha256(key.encode()).hexdigest()[:16]


class Restore:
    """What is restored. `check_image` refuses, for the versions of a backup's apps, an image that cannot work on its data."""

    def __init__(self, settings, database):
        self.settings = settings
        self.upgrade = Upgrade(settings, database)
        self.marker = settings.site / MARKER
        self.id = os.environ.get("RESTORE_ID", "")
        if self.id and not ID.fullmatch(self.id):
            raise Refused("InvalidInput", f"RESTORE_ID {self.id!r} is not a hash")
        self.confirmed = os.environ.get("RESTORE_CONFIRMED") == "1"
        self.store_is_known = bool(os.environ.get("STORE_PREFIX"))

    @property
    def state(self):
        """The marker's `restore`; None where none is under way."""
        return read_json(self.marker).get("restore")

    @property
    def restores(self):
        return read_json(self.marker).get("restores", {})

    @property
    def wanted(self):
        return bool(self.id) and self.id not in self.restores.get("done", [])

    def may_begin(self):
        """Whether something is wanted that is known, and that no data is in the way of."""
        state = self.state
        is_new = state is not None and "before" not in state
        return self.wanted and self.store_is_known and (self.confirmed or is_new)

    def known_key(self, key):
        """Whether a backup has brought the site this encryption key."""
        state = self.state or {}
        return digest_of_key(key) in (self.restores.get("last", {}).get("digest"), state.get("digest"), *state.get("earlier", []))

    def forget_unborn(self):
        """Takes back what was restored into a new site, where that is not wanted any more: it is made as any other then."""
        state = self.state
        if state is None or "before" in state or self.id == state["id"] or self.may_begin():
            return
        say(f"{state['name']} is not to be restored any more")
        for folder in (*FOLDERS.values(), Path("private", "restores")):
            shutil.rmtree(self.settings.site / folder, ignore_errors=True)
        marker = read_json(self.marker)
        write_json(self.marker, {**{k: marker[k] for k in ("owner", "dbName", "dbHost", "dbPort", "revision") if k in marker}, "state": "creating"})

    # --- what comes -----------------------------------------------------------------------------------------------

    def fetch(self, check_image):
        """Brings the whole backup onto the volume and checks it. Returns its manifest and its folder. The site is not touched."""
        from backup_store import open_store
        from stored_backup import download

        if not self.store_is_known:
            raise Refused("BackupMissing", f"it is not known where the backup of {self.settings.site_name} is")
        store = open_store()
        manifest = self.choose(store)
        self.check(manifest, store.location(manifest["name"]), check_image)
        folder = self.settings.site / "private" / "restores" / self.id / "new"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, mode=0o750)
        say(f"fetching {store.location(manifest['name'])}")
        foretell("RestoreInterrupted", f"ended before {store.location(manifest['name'])} was restored; nothing of {self.settings.site_name} is replaced yet")
        try:
            for file in manifest["files"]:
                name = file["name"]
                download(store, manifest, file, folder / name)
                if name.endswith((".tar", ".tgz")):
                    kind = name.rsplit(".", 1)[0]
                    unpack(folder / name, folder / ("public-files" if kind == "files" else kind))
                    (folder / name).unlink()
            os.replace(folder / "site_config_backup.json", folder / "site_config.json")
            if not read_json(folder / "site_config.json").get("encryption_key"):
                raise Refused("BackupIncomplete", f"{manifest['name']} holds no encryption key")
            os.sync()  # what it replaces goes: a node that is lost must not take both
        except (Refused, OSError, EOFError, tarfile.TarError) as error:
            discard(folder)
            untouched = f"{self.settings.site_name} is as it was"
            if isinstance(error, Refused):
                raise Refused(error.reason, f"{error}; {untouched}") from None
            reason = "BackupCorrupt" if not isinstance(error, OSError) else "VolumeNotWritable"
            raise Refused(reason, f"{manifest['name']}: {error}; {untouched}") from None
        return {**manifest, "location": store.location(manifest["name"])}, folder

    def choose(self, store):
        from stored_backup import NAME, manifest_of, stored_backups

        name = os.environ.get("RESTORE_NAME", "")
        if name and not NAME.fullmatch(name):
            raise Refused("InvalidInput", f"RESTORE_NAME {name!r} is not the name of a backup")
        owner = os.environ.get("RESTORE_OWNER", "")
        if name:
            manifest = manifest_of(store, name)
            if manifest and owner not in ("", manifest.get("owner")):
                raise Refused("BackupMissing", f"{store.location(name)} is a backup of {manifest.get('owner')}, not of {owner}")
        else:
            manifest = next((found for found in stored_backups(store) if found.get("complete") and owner in ("", found.get("owner"))), None)
        if manifest is None:
            raise Refused("BackupMissing", f"{store.location()} has no {f'backup {name}' if name else 'complete backup'}")
        return manifest

    def check(self, manifest, location, check_image):
        if manifest.get("complete") is not True or manifest.get("partial"):
            raise Refused("BackupIncomplete", f"{location} does not hold the whole site: its database, files and encryption key")
        if manifest.get("encrypted"):
            raise Refused("BackupEncrypted", f"{location} is encrypted by the framework (System Settings, encrypt_backup); only others can be restored")
        if manifest.get("dbType") != self.settings.db_type:
            raise Refused("BackupUnsuitable", f"{location} is of {manifest.get('dbType')}, the database of {self.settings.site_name} is {self.settings.db_type}")
        missing = {"database.sql.gz", "site_config_backup.json"} - {file["name"] for file in manifest["files"]}
        if missing:
            raise Refused("BackupIncomplete", f"{location} has no {', '.join(sorted(missing))}")
        check_image(location, versions_of(manifest))

    # --- replacing ------------------------------------------------------------------------------------------------

    def bring(self, check_image, settle):
        """Brings an existing site to where its database can be loaded: begins, goes on, or turns back."""
        state = self.state
        if state is not None and (state.get("back") or not (self.id == state["id"] or self.may_begin())):
            self.turn_back()
        elif state is not None and self.id == state["id"]:
            self.replace()
        elif self.may_begin():
            self.begin(check_image, settle)

    def begin(self, check_image, settle):
        manifest, new = self.fetch(check_image)
        state, upgrade = self.state, self.upgrade
        if state is None:
            before = new.parent / "before"
            if "backup" in (upgrade.state or {}):  # what is there now is half migrated
                source = self.settings.sites / upgrade.state["backup"]
                if source != before:
                    shutil.rmtree(before, ignore_errors=True)
                    link_files(source, before)
            else:
                try:
                    upgrade.close(os.environ.get("IMAGE", ""), settle, lambda: self.back_up_to(before))
                except (Refused, OSError):
                    discard(new)
                    raise
            state = {"before": str(before.relative_to(self.settings.sites))}
        self.record(manifest, new, state.get("before"))
        self.replace()

    def back_up_to(self, before):
        self.upgrade.back_up_to(before)
        for name in FOLDERS:  # of an earlier restore of the same backup, in the way of what the site has now
            if (before / name).exists():
                shutil.rmtree(before / name)

    def record(self, manifest, new, before, **others):
        """From here on the site is the backup's: whoever comes next loads it."""
        image, state = os.environ.get("IMAGE", ""), self.state or {}
        code = {**versions_of(manifest), **({"image": image} if image else {})}
        config, old = read_json(new / "site_config.json"), read_json(self.settings.site / "site_config.json")
        added = [key for key in config if key not in old and not PLACE.fullmatch(key) and key != "encryption_key"]
        restore = {
            "id": self.id, "name": manifest["name"], "location": manifest["location"],
            "new": str(new.relative_to(self.settings.sites)),
            "keys": sorted({*state.get("keys", []), *added}),
            "digest": digest_of_key(config["encryption_key"]),
            "earlier": [*state.get("earlier", []), *([state["digest"]] if state else [])],
            **({} if before is None else {"before": before}),
        }  # fmt: skip
        loading = {"backup": restore["new"], "code": code, "restoring": True, "changed": None, "migrated": None}
        if self.upgrade.state is None:
            loading = {**loading, "from": image, "to": image, "settings": {}}
        self.upgrade.record(loading, restore=restore, installing=None, **others)
        self.upgrade.shut()

    def replace(self):
        """The files and the keys of the configuration; each part may have been replaced before."""
        state, site = self.state, self.settings.site
        new = self.settings.sites / state["new"]
        for name, folder in FOLDERS.items():
            if not (new / name).exists():
                continue  # it is in its place, or the backup has none
            (site / folder).mkdir(parents=True, exist_ok=True)
            self.put_aside(name, site / folder)
            os.rename(new / name, site / folder)
        config = read_json(new / "site_config.json")
        update_site_config(self.settings, {key: config.get(key) for key in ("encryption_key", *state["keys"])})

    def put_aside(self, name, folder):
        """What the site had is kept; what a restore has brought that did not end is not."""
        before = self.state.get("before")
        kept = None if before is None else self.settings.sites / before / name
        if kept is None or kept.exists():
            shutil.rmtree(folder)
        else:
            os.rename(folder, kept)

    def turn_back(self):
        """To what the site had: its files and keys here; its database is loaded as any backup of an upgrade."""
        state, site = self.state, self.settings.site
        before = self.settings.sites / state["before"]
        say(f"going back to what {self.settings.site_name} was before {state['name']}")
        loading = {"backup": state["before"], "code": read_json(before / "code.json"), "restoring": True, "changed": None, "migrated": None}
        self.upgrade.record(loading if not state.get("back") else {}, restore={**state, "back": True}, installing=None)
        for name, folder in FOLDERS.items():
            if (before / name).exists():
                shutil.rmtree(site / folder, ignore_errors=True)
                os.rename(before / name, site / folder)
        key = read_json(before / "site_config.json").get("encryption_key")
        update_site_config(self.settings, {**dict.fromkeys(state["keys"]), "encryption_key": key})

    # --- the end --------------------------------------------------------------------------------------------------

    def end(self):
        """Writes down that it is done, when the data is of the image's code. The site may still be closed."""
        state = self.state
        if state is None:
            return
        if state.get("back"):
            say(f"{self.settings.site_name} is what it was before {state['name']}")
            self.put({"restore": None})
            return
        last = {key: state[key] for key in ("id", "name", "location", "digest", "before") if key in state}
        last["time"] = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.put({"restore": None, "restores": {"done": [*self.restores.get("done", []), state["id"]], "last": last}})
        say(f"restored {state['location']}")

    def put(self, changes):
        write_json(self.marker, {k: v for k, v in {**read_json(self.marker), **changes}.items() if v is not None})

    def tidy(self):
        """Of all restores what the site had before the last one stays, once the site is open."""
        if self.state is not None or self.upgrade.state is not None:
            return
        kept = self.restores.get("last", {}).get("before", "")
        for folder in (self.settings.site / "private" / "restores").glob("*/*"):
            if str(folder.relative_to(self.settings.sites)) != kept:
                discard(folder)

    def outcome(self):
        """What the operator is told."""
        last, told = self.restores.get("last"), {}
        if last is not None:
            key = read_json(self.settings.site / "site_config.json").get("encryption_key", "")
            own = key == os.environ.get("ENCRYPTION_KEY")
            told["restored"] = {
                **{k: v for k, v in last.items() if k not in ("id", "digest")},
                "encryptionKey": "Secret" if own else "Backup",
                "requests": self.restores["done"][-50:],
            }  # fmt: skip
        if self.wanted:
            told["restore"] = "Unconfirmed" if self.store_is_known else "Unknown"
        return told


def discard(folder):
    """Removes `new` or `before`. What lies beside it stays: `before` may be the only copy of what a site had."""
    shutil.rmtree(folder, ignore_errors=True)
    if not any(folder.parent.iterdir()):
        folder.parent.rmdir()


def versions_of(manifest):
    """App → version."""
    try:
        return {str(app["name"]): str(app["version"]) for app in manifest["apps"]}
    except (KeyError, TypeError):
        raise Refused("BackupIncomplete", f"the manifest of {manifest.get('name')} does not say which apps it is of") from None


def link_files(source, target):
    target.mkdir(parents=True)
    for path in source.iterdir():
        if path.is_file():
            os.link(path, target / path.name)


def unpack(archive, target):
    """The files of `<site>/{public,private}/files` in a tar. Nothing else, and nowhere else, whatever it says."""
    target.mkdir()
    with tarfile.open(archive, "r:*") as tar:
        for member in tar:
            parts = [part for part in member.name.split("/") if part not in ("", ".")]
            if ".." in parts or member.name.startswith("/"):
                raise Refused("BackupCorrupt", f"{archive.name} has a file outside of the site: {member.name!r}")
            if len(parts) < 4 or parts[2] != "files":
                continue
            path = target.joinpath(*parts[3:])
            if member.isdir():
                path.mkdir(parents=True, exist_ok=True)
            elif member.isfile() or member.islnk():
                path.parent.mkdir(parents=True, exist_ok=True)
                with tar.extractfile(member) as source, open(path, "xb") as file:
                    shutil.copyfileobj(source, file, 1 << 20)
                os.utime(path, (member.mtime, member.mtime))
            else:
                say(f"{archive.name}: left out {member.name!r}, which is no file")
