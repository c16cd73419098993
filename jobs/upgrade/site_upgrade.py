"""Closes a site for an upgrade, backs it up, restores that backup, and opens the site again.

The site's marker has the field `upgrade` while the site is closed:
  from, to    the images; `to` changes when another image is wanted before the upgrade has ended
  settings    the values of CLOSED_KEYS in site_config.json while the site was open
  code        the marker's `code` of `from`
  backup      directory of the backup, relative to `sites/`; present only when it is complete
  changed     whether the database may differ from the backup
  restoring   the backup is being loaded: the next Job must load it again
  migrated    the data is migrated to the image `to`
The marker's `closings` counts how often the site was closed, so that a reader of the site can
detect that it was closed meanwhile.

This module uses no code of the framework, so it works with every image.
"""

import gzip
import hashlib
import os
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, cast

from atomic_files import without_nulls, write_json
from database_server import Server
from job_environment import SiteLocation, number_env
from job_result import JobError, log, write_termination_message
from operator_constants import RESTORE_FAILED
from read_progress import ReadProgress
from redis_servers import redis_unreachable
from site_queues import SiteQueues
from site_records import read_marker, read_site_config
from site_state import update_marker, update_site_config
from volume_files import (
    directories_in,
    is_file,
    make_directory,
    names_in,
    open_to_read,
    open_to_replace,
    remove_file,
    rename,
    try_to_remove_tree,
)

CLOSED_KEYS = ("maintenance_mode", "pause_scheduler", "bench_id")
# The timeout of the framework's long queue, and two minutes. For a bench with longer queues, the
# environment has another value.
JOBS_WAIT_SECONDS = 1620
CONNECTIONS_WAIT_SECONDS = 60
DUMP = "database.sql.gz"


class Upgrade:
    def __init__(self, location: SiteLocation, database: Server | None = None) -> None:
        self.location = location
        self._database = database

    @property
    def database(self) -> Server:
        assert self._database is not None
        return self._database

    @property
    def state(self) -> dict[str, Any] | None:
        """The marker's `upgrade`; None while the site is open."""
        return read_marker(self.location.site).get("upgrade")

    @property
    def required_state(self) -> dict[str, Any]:
        state = self.state
        assert state is not None
        return state

    def record(self, changes: Mapping[str, Any], **marker_changes: Any) -> None:
        """Merges into the marker's `upgrade`, and into the marker. None deletes a key."""
        marker = read_marker(self.location.site)
        if "upgrade" not in marker:
            marker_changes["closings"] = marker.get("closings", 0) + 1
        upgrade = without_nulls({**marker.get("upgrade", {}), **changes})
        update_marker(self.location.site, {**marker_changes, "upgrade": upgrade})

    def queues(self) -> SiteQueues:
        return SiteQueues(self.location, self.required_state["settings"].get("bench_id"))

    # --- closing ------------------------------------------------------------------------------

    def close(
        self, image: str, settle_seconds: float, back_up: Callable[[], None] | None = None
    ) -> None:
        """Closes the site and backs it up. After a failure the site is open as before."""
        if self.state is None:
            self.check_client()
            config = read_site_config(self.location.site)
            code = read_marker(self.location.site).get("code", {})
            settings = {key: config[key] for key in CLOSED_KEYS if key in config}
            self.record(
                {"from": code.get("image", ""), "to": image, "settings": settings, "code": code}
            )
        elif self.state["to"] != image:
            self.record({"to": image})
        if "backup" in self.required_state:
            return
        log(f"closing {self.location.site_name}")
        try:
            self.drain(settle_seconds)
            (back_up or self.back_up)()
        except Exception as error:  # also of the database's driver
            self.open()
            reason = error.reason if isinstance(error, JobError) else "BackupFailed"
            message = f"{error}; {self.location.site_name} is open as before"
            raise JobError(reason, message) from None

    def check_client(self) -> None:
        try:
            self.database.check_client()
        except JobError as error:
            message = f"{error}; {self.location.site_name} is open as before"
            raise JobError(error.reason, message) from None

    def close_in_configuration(self) -> SiteQueues:
        """Sets the configuration of a closed site. Returns its queues."""
        queues = self.queues()
        update_site_config(
            self.location.site,
            {"maintenance_mode": 1, "pause_scheduler": 1, "bench_id": queues.closed_prefix},
        )
        return queues

    def drain(self, settle_seconds: float) -> None:
        """Waits until no request, job or schedule works on the site."""
        queues = self.close_in_configuration()
        time.sleep(settle_seconds)
        try:
            queues.set_aside()
            queues.wait_until_idle(number_env("JOBS_WAIT_SECONDS", JOBS_WAIT_SECONDS))
            queues.set_aside()  # jobs that the running jobs have enqueued
        except queues.errors as error:
            raise redis_unreachable("redis_queue", error) from None
        seconds = number_env("CONNECTIONS_WAIT_SECONDS", CONNECTIONS_WAIT_SECONDS)
        self.database.wait_until_unused(seconds)

    def back_up(self) -> None:
        location, image = self.location, self.required_state["from"]
        name = re.sub(r"[^A-Za-z0-9.]+", "-", image).strip("-.")[-60:]
        digest = hashlib.sha256(image.encode()).hexdigest()[:8]
        upgrades = location.site / "private" / "upgrades"
        directory = upgrades / "-".join(filter(None, [name, digest]))
        self.back_up_to(directory)
        self.record({"backup": str(directory.relative_to(location.sites))})

    def back_up_to(self, directory: Path) -> None:
        state = self.required_state
        make_directory(directory)
        target, part = directory / DUMP, directory / f"{DUMP}.part"
        log(f"backing up to {target.relative_to(self.location.sites)}")
        with open_to_replace(part) as raw:
            with gzip.GzipFile(
                fileobj=raw, mode="wb", compresslevel=3, filename="", mtime=0
            ) as file:
                self.database.dump(file)
            raw.flush()
            os.fsync(raw.fileno())
        config = read_site_config(self.location.site)
        write_json(directory / "site_config.json", {**config, **state["settings"]})
        write_json(directory / "code.json", state["code"])
        rename(part, target)

    def discard_unfinished_backup(self) -> None:
        """It may have filled the volume, and the site's configuration needs some space."""
        private = self.location.site / "private"
        for root, inner in ((private / "upgrades", ""), (private / "restores", "before")):
            try:
                for folder in directories_in(root):
                    self.remove_parts(folder / inner)
            except JobError as error:
                log(f"{error}; the site is opened without removing unfinished backups there")

    @staticmethod
    def remove_parts(folder: Path) -> None:
        for name in names_in(folder):
            if name.endswith(".part"):
                remove_file(folder / name)

    @property
    def backup(self) -> str:
        """Path of the current upgrade's backup on the volume, for messages."""
        return f"sites/{(self.state or {}).get('backup', '')}/{DUMP}"

    @property
    def closed_message(self) -> str:
        """Describes a site that could not be migrated to the image's code."""
        restore, name = read_marker(self.location.site).get("restore"), self.location.site_name
        if restore is None:
            return f"{name} stays in maintenance, its backup is {self.backup}"
        if restore.get("back") or "before" not in restore:
            return f"{name} stays in maintenance, with the data of {self.backup}"
        return (
            f"{name} stays in maintenance, with the data of backup {restore['name']}; its previous "
            f"data is in sites/{restore['before']}: remove restoreFrom to return to it"
        )

    # --- the way back -------------------------------------------------------------------------

    def must_restore(self, image: str) -> bool:
        """Whether the database must be restored before code of `image` may continue."""
        state = self.state or {}
        touched = state.get("changed") or state.get("migrated")
        return bool(state.get("restoring") or (touched and state["to"] != image))

    def restore(self) -> None:
        """Loads the backup as the site's own user. No data is lost: the site was closed since."""
        state = self.required_state
        path = self.location.sites / state["backup"] / DUMP
        if not is_file(path):
            raise JobError(RESTORE_FAILED, f"the backup {self.backup} does not exist")
        previous = state["from"] or "the previous code"
        log(f"going back to {previous}: loading {path.relative_to(self.location.sites)}")
        self.record({"restoring": True, "migrated": None})
        self.database.empty()
        self.load(path)
        code = self.required_state["code"]
        self.record({"restoring": None, "changed": None}, code=code, installing=None)

    def load(self, path: Path) -> None:
        """Loads a dump into the empty database. A load that is cut begins again, from empty."""
        killed = f"{self.closed_message}: the Job was killed while it loaded {self.backup}"
        with open_to_read(path) as raw:
            size = os.fstat(raw.fileno()).st_size
            what = "the compressed dump"
            progress = ReadProgress(raw, size, "loading", what, RESTORE_FAILED, killed)
            with gzip.GzipFile(fileobj=cast(IO[bytes], progress), mode="rb") as file:
                try:
                    self.database.load(file)
                except JobError as error:
                    raise JobError(error.reason, f"{error}; {progress}") from None
        write_termination_message(b"")

    # --- opening ------------------------------------------------------------------------------

    def open(self, config: Mapping[str, Any] | None = None) -> None:
        """Opens the site: its jobs first, the marker last. `config` may have wanted CLOSED_KEYS."""
        state = self.required_state
        self.discard_unfinished_backup()
        changes = {key: value for key, value in (config or {}).items() if key in CLOSED_KEYS}
        wanted = {**state["settings"], **changes}
        queues = self.queues()
        closed_prefix = queues.closed_prefix
        if config and "bench_id" in config:
            queues = SiteQueues(self.location, config["bench_id"])
            queues.closed_prefix = closed_prefix
        update_site_config(self.location.site, {key: wanted.get(key) for key in CLOSED_KEYS})
        try:
            queues.put_back()
        except queues.errors as error:
            raise redis_unreachable("redis_queue", error) from None
        update_marker(self.location.site, {"upgrade": None})
        self.discard_older_backups(state.get("backup"))

    def discard_older_backups(self, kept: str | None) -> None:
        """Only the last upgrade's backup is kept. site_restore.py removes those of restores."""
        if kept is None or (last := self.location.sites / kept).parent.name != "upgrades":
            return
        for directory in directories_in(last.parent):
            if directory != last:
                try_to_remove_tree(directory)
