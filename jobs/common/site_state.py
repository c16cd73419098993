"""The state of a site on the volume: settings, marker, configuration and owner."""

import fcntl
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from atomic_files import without_nulls, write_json
from job_environment import SiteLocation, number_env, secret_env, text_env
from job_result import JobError
from operator_constants import MARIADB_PORT, POSTGRES_PORT
from site_access import MARKER, closed_reason
from site_records import CONFIG_FILE, read_marker, read_site_config
from volume_files import exists, is_file, lock, names_in, open_lock

OWNER_KEY = "app_operator_owner"
DB_IDENTIFIER = re.compile(r"^[a-z_][a-z0-9_]*$")
SYSTEM_NAMES = {
    *("mysql", "information_schema", "performance_schema", "sys", "root", "mariadb.sys"),
    *("postgres", "template0", "template1", "public"),
}

# Configuration of a site whose AppSite was deleted while its data remains. A later init Job finds
# the last key and removes the others.
RETAINED_SITE_CONFIG = {
    "pause_scheduler": 1,
    "maintenance_mode": 1,
    "bench_id": None,
    "app_operator_resting": 1,
}


class SiteSettings(SiteLocation):
    """The environment variables of Jobs that use a site's database, validated."""

    def __init__(self) -> None:
        super().__init__()
        self.owner = text_env("SITE_OWNER")
        self.db_type = text_env("DB_TYPE", "mariadb")
        if self.db_type not in ("mariadb", "postgres"):
            raise JobError(
                "InvalidInput", f"DB_TYPE must be mariadb or postgres, got {self.db_type!r}"
            )
        is_mariadb = self.db_type == "mariadb"
        self.db_host = text_env("DB_HOST")
        port = text_env("DB_PORT", str(MARIADB_PORT if is_mariadb else POSTGRES_PORT))
        if not port.isdigit():
            raise JobError("InvalidInput", f"DB_PORT must be a number, got {port!r}")
        self.db_port = int(port)
        self.db_name = text_env("DB_NAME")
        self.db_user = text_env("DB_USER", self.db_name)
        self.db_password = secret_env("DB_PASSWORD", "")
        # The socket of database_admin.py, which has the administrator's login; this Job has not.
        self.admin_socket = os.environ.get("DB_ADMIN_SOCKET", "")
        self.wait_seconds = number_env("WAIT_SECONDS", 120)
        for name, value in (("DB_NAME", self.db_name), ("DB_USER", self.db_user)):
            if not DB_IDENTIFIER.match(value) or value in SYSTEM_NAMES or len(value) > 63:
                raise JobError(
                    "InvalidInput",
                    f"{name} {value!r} is not allowed: use [a-z_][a-z0-9_]*, at most 63 "
                    "characters, and no name of the database system",
                )

    @property
    def has_root(self) -> bool:
        return bool(self.admin_socket)


def require_created(site: Path) -> None:
    """Fails unless the site exists and is not being created. Needs the site's lock."""
    if not is_file(site / CONFIG_FILE):
        raise JobError("SiteMissing", f"site {site.name} does not exist in {site.parent}")
    if read_marker(site).get("state") == "creating":
        raise JobError("SiteIncomplete", f"{site.name} is being created: nothing was done")


def require_open(site: Path) -> None:
    """Fails unless this image's code may work on the site's data. Needs the site's lock."""
    require_created(site)
    if why := closed_reason(read_marker(site), os.environ.get("IMAGE", "")):
        raise JobError("SiteClosed", f"{site.name} {why}: nothing was done")


@contextmanager
def site_config_lock(site: Path) -> Iterator[None]:
    """The framework takes the same lock when it writes the site's configuration."""
    with open_lock(site / "locks" / "site_config.lock") as file:
        lock(file, fcntl.LOCK_EX)
        yield


def update_site_config(site: Path, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Merges `changes` into site_config.json; None deletes a key. Returns the result."""
    with site_config_lock(site):
        config = without_nulls({**read_site_config(site), **changes})
        write_json(site / CONFIG_FILE, config)
    return config


def update_marker(site: Path, changes: Mapping[str, Any]) -> None:
    """Merges `changes` into the site's marker; None deletes a key."""
    write_json(site / MARKER, without_nulls({**read_marker(site), **changes}))


def is_fresh(site: Path) -> bool:
    """Whether the site has no files, except locks and temporary files of the operator."""
    if not exists(site):
        return True
    return all(name.startswith(".") and name != MARKER for name in names_in(site))


def database_record(settings: SiteSettings) -> dict[str, Any]:
    """The marker's fields that name the database."""
    return {
        "dbName": settings.db_name,
        "dbHost": settings.db_host,
        "dbPort": settings.db_port,
    }


def recorded_database(settings: SiteSettings) -> dict[str, Any]:
    """The database that the site's files name, in the fields of `database_record`."""
    marker = read_marker(settings.site)
    if "dbHost" in marker:
        return {key: marker.get(key) for key in database_record(settings)}
    # Earlier operators recorded no server. They wrote the configuration when the database was the
    # site's.
    config = read_site_config(settings.site)
    return {
        "dbName": config.get("db_name"),
        "dbHost": config.get("db_host"),
        "dbPort": config.get("db_port"),
    }


def is_begun_in_database(settings: SiteSettings) -> bool:
    """Whether the site's creation began in the database of `settings`.

    Since then the spec may name another database, or the bench another server.
    """
    return recorded_database(settings) == database_record(settings)


def is_incomplete(site: Path) -> bool:
    """Whether the site is being created, or waits for the backup that it is created from."""
    marker = read_marker(site)
    restore = marker.get("restore")
    return marker.get("state") == "creating" or (restore is not None and "before" not in restore)


def check_owner(site: Path, owner: str) -> str | None:
    """The site's recorded owner, None if none is recorded. Another owner is an error."""
    config_owner = read_site_config(site).get(OWNER_KEY)
    marker_owner = read_marker(site).get("owner")
    for recorded in (config_owner, marker_owner):
        if recorded is not None and recorded != owner:
            raise JobError("SiteOwnedByOther", f"{site.name} belongs to {recorded}, not to {owner}")
    return config_owner or marker_owner
