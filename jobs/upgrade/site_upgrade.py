"""Closing a site for an upgrade, its backup, the way back, and opening it again.

The marker's `upgrade` is there while the site is closed:
  from, to    the images; `to` changes when another one is wanted before the upgrade has ended
  settings    what site_config.json had of CLOSED_KEYS when the site was open
  code        the marker's `code` of `from`
  backup      directory of the backup, relative to `sites/`; there only when the backup is complete
  changed     whether the database may differ from the backup
  restoring   the backup is being loaded: whoever comes next must do that again
  migrated    the data is of the image `to`
Its `closings` says how often it was closed, so that whoever reads the site can tell whether it was meanwhile.

No line of the framework is used here, so that it does not matter whose code runs it.
"""

import gzip
import hashlib
import os
import re
import shutil
import time

from site_common import MARKER, Refused, read_json, say, seconds_env, update_site_config, write_json
from site_queues import SiteQueues

CLOSED_KEYS = ("maintenance_mode", "pause_scheduler", "bench_id")
JOBS_WAIT_SECONDS = 1620  # the long queue's timeout, and two minutes
CONNECTIONS_WAIT_SECONDS = 60


class Upgrade:
    def __init__(self, settings, database=None):
        self.settings = settings
        self.database = database
        self.marker = settings.site / MARKER

    @property
    def state(self):
        """The marker's `upgrade`; None while the site is open."""
        return read_json(self.marker).get("upgrade")

    def record(self, changes, **others):
        """Merges into the marker's `upgrade`, and into the marker; None deletes a key."""
        marker = {**read_json(self.marker), **others}
        if "upgrade" not in marker:
            marker["closings"] = marker.get("closings", 0) + 1
        upgrade = {**marker.get("upgrade", {}), **changes}
        marker["upgrade"] = {k: v for k, v in upgrade.items() if v is not None}
        write_json(self.marker, {k: v for k, v in marker.items() if v is not None})

    def queues(self):
        return SiteQueues(self.settings, self.state["settings"].get("bench_id"))

    # --- closing ------------------------------------------------------------------------------------------------

    def close(self, image, settle, back_up=None):
        """Closes the site and makes the backup. Where that does not come about the site is opened again, for the code it had."""
        if self.state is None:
            config, marker = read_json(self.settings.site / "site_config.json"), read_json(self.marker)
            code = marker.get("code", {})
            settings = {key: config[key] for key in CLOSED_KEYS if key in config}
            self.record({"from": code.get("image", ""), "to": image, "settings": settings, "code": code})
        elif self.state["to"] != image:
            self.record({"to": image})
        if "backup" in self.state:
            return
        say(f"closing {self.settings.site_name}")
        try:
            self.drain(settle)
            (back_up or self.back_up)()
        except Exception as error:  # a driver's own, too
            self.open()
            reason = error.reason if isinstance(error, Refused) else "BackupFailed"
            raise Refused(reason, f"{error}; {self.settings.site_name} is open as before") from None

    def shut(self):
        """Says in the configuration that the site is closed. Returns its queues."""
        queues = self.queues()
        update_site_config(self.settings, {"maintenance_mode": 1, "pause_scheduler": 1, "bench_id": queues.aside})
        return queues

    def drain(self, settle):
        """Until nothing works on the site: no request, no job, no schedule."""
        queues = self.shut()
        time.sleep(settle)
        try:
            queues.set_aside()
            queues.wait_until_idle(seconds_env("JOBS_WAIT_SECONDS", JOBS_WAIT_SECONDS))
            queues.set_aside()  # what those jobs have enqueued
        except queues.errors as error:
            raise Refused("RedisUnreachable", f"redis_queue: {type(error).__name__}") from None
        self.database.wait_until_unused(seconds_env("CONNECTIONS_WAIT_SECONDS", CONNECTIONS_WAIT_SECONDS))

    def back_up(self):
        settings, state = self.settings, self.state
        name = re.sub(r"[^A-Za-z0-9.]+", "-", state["from"]).strip("-.")[-60:]
        digest = hashlib.sha256(state["from"].encode()).hexdigest()[:8]
        directory = settings.site / "private" / "upgrades" / "-".join(filter(None, [name, digest]))
        self.back_up_to(directory)
        self.record({"backup": str(directory.relative_to(settings.sites))})

    def back_up_to(self, directory):
        settings, state = self.settings, self.state
        directory.mkdir(parents=True, exist_ok=True)
        target, part = directory / "database.sql.gz", directory / "database.sql.gz.part"
        say(f"backing up to {target.relative_to(settings.sites)}")
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o640), "wb") as raw:
            with gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=3, filename="", mtime=0) as file:
                self.database.dump(file)
            raw.flush()
            os.fsync(raw.fileno())
        write_json(directory / "site_config.json", {**read_json(settings.site / "site_config.json"), **state["settings"]})
        write_json(directory / "code.json", state["code"])
        os.replace(part, target)

    def forget_unfinished_backup(self):
        """It may have filled the volume, of which the site needs a little room for its settings."""
        private = self.settings.site / "private"
        for part in [*private.glob("upgrades/*/*.part"), *private.glob("restores/*/before/*.part")]:
            part.unlink()

    @property
    def backup(self):
        """The backup of the upgrade under way, as people find it on the volume."""
        return f"sites/{(self.state or {}).get('backup', '')}/database.sql.gz"

    @property
    def stays(self):
        """What is said of a site that could not be brought to the image's code."""
        restore, name = read_json(self.marker).get("restore"), self.settings.site_name
        if restore is None:
            return f"{name} stays in maintenance, its backup is {self.backup}"
        if restore.get("back") or "before" not in restore:
            return f"{name} stays in maintenance, with the data of {self.backup}"
        return f"{name} stays in maintenance, with the data of backup {restore['name']}; what it had before is in sites/{restore['before']}, and comes back when restoreFrom is taken away"

    # --- the way back -------------------------------------------------------------------------------------------

    def must_restore(self, image):
        """Whether the database is not what the image may go on from."""
        state = self.state or {}
        touched = state.get("changed") or state.get("migrated")
        return bool(state.get("restoring") or (touched and state["to"] != image))

    def restore(self):
        """Loads the backup, as the site's own user. Nobody has written since: the site was closed."""
        path = self.settings.sites / self.state["backup"] / "database.sql.gz"
        if not path.is_file():
            raise Refused("RestoreFailed", f"the backup {self.backup} is not there")
        say(f"going back to {self.state['from'] or 'the code before'}: loading {path.relative_to(self.settings.sites)}")
        self.record({"restoring": True, "migrated": None})
        self.database.empty()
        with gzip.open(path, "rb") as file:
            self.database.load(file)
        self.record({"restoring": None, "changed": None}, code=self.state["code"], installing=None)

    # --- opening ------------------------------------------------------------------------------------------------

    def open(self, config=None):
        """Opens the site: its jobs first, the gate last. `config` has what site_config.json should say of CLOSED_KEYS by now."""
        state = self.state
        self.forget_unfinished_backup()
        wanted = {**state["settings"], **{k: v for k, v in (config or {}).items() if k in CLOSED_KEYS}}
        queues = SiteQueues(self.settings, state["settings"].get("bench_id"))
        aside = queues.aside
        if config and "bench_id" in config:
            queues = SiteQueues(self.settings, config["bench_id"])
            queues.aside = aside
        update_site_config(self.settings, {key: wanted.get(key) for key in CLOSED_KEYS})
        try:
            queues.put_back()
        except queues.errors as error:
            raise Refused("RedisUnreachable", f"redis_queue: {type(error).__name__}") from None
        write_json(self.marker, {k: v for k, v in read_json(self.marker).items() if k != "upgrade"})
        self.forget_older_backups(state.get("backup"))

    def forget_older_backups(self, kept):
        """One backup stays: that of the last upgrade. Of restores, see site_restore.py."""
        if kept is None or (last := self.settings.sites / kept).parent.name != "upgrades":
            return
        for directory in last.parent.iterdir():
            if directory != last:
                shutil.rmtree(directory, ignore_errors=True)
