"""The JSON files on the volume that Jobs act on, with the types and paths that they may have.

A site's own code can write them. What they say is never more than the site could do itself: names
of databases and servers come from the operator, and paths stay inside of the site's directory.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from atomic_files import read_json
from job_result import JobError
from operator_constants import COMMON_CONFIG_FILE
from site_access import MARKER
from volume_files import read_bytes

CONFIG_FILE = "site_config.json"
# Folders with a copy of a site's data, relative to the site.
COPY = re.compile(
    r"private/(upgrades/[A-Za-z0-9_-][A-Za-z0-9._-]*|restores/[0-9a-f]+/(new|before))"
)

APP_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
MAX_APPS_BYTES = 64 << 10

Types = Mapping[str, type | tuple[type, ...]]
CONFIG_TYPES: Types = {
    "db_name": str,
    "db_user": str,
    "db_password": str,
    "db_host": str,
    "db_port": (int, str),
    "encryption_key": str,
    "app_operator_owner": str,
    "app_operator_db_tls": dict,
}
COMMON_TYPES: Types = {"redis_cache": str, "redis_queue": str, "bench_id": str}
MARKER_TYPES: Types = {
    "owner": str,
    "state": str,
    "dbName": str,
    "dbHost": str,
    "dbPort": int,
    "revision": str,
    "installing": str,
    "closings": int,
    "code": dict,
    "upgrade": dict,
    "restore": dict,
    "restores": dict,
}
UPGRADE_TYPES: Types = {"from": str, "to": str, "settings": dict, "code": dict, "backup": str}
RESTORE_TYPES: Types = {
    "id": str,
    "name": str,
    "location": str,
    "new": str,
    "before": str,
    "keys": list,
    "digest": str,
    "earlier": list,
    "missing": list,
    "time": str,
}


def unexpected(path: Path, key: str) -> JobError:
    return JobError("UnsafeFile", f"{path}: {key} has an unexpected value; nothing was changed")


def check_types(path: Path, value: Mapping[str, Any], types: Types) -> None:
    for key, expected in types.items():
        if value.get(key) is not None and not isinstance(value[key], expected):
            raise unexpected(path, key)


def check_texts(path: Path, key: str, values: dict[str, Any] | list[Any]) -> None:
    items = values.values() if isinstance(values, dict) else values
    if not all(isinstance(text, str) for text in items):
        raise unexpected(path, key)


def texts_in(value: object) -> list[str]:
    """The texts of a list; none of anything else."""
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def read_site_config(site: Path) -> dict[str, Any]:
    path = site / CONFIG_FILE
    config = read_json(path)
    check_types(path, config, CONFIG_TYPES)
    return config


def read_common_config(sites: Path) -> dict[str, Any]:
    path = sites / COMMON_CONFIG_FILE
    config = read_json(path)
    check_types(path, config, COMMON_TYPES)
    return config


def check_apps_file(sites: Path) -> None:
    """Fails unless the list of apps, which the framework imports, has names of apps only."""
    path = sites / "apps.txt"
    try:
        lines = read_bytes(path, MAX_APPS_BYTES).decode(errors="replace").split()
    except FileNotFoundError:
        return  # the framework reports it
    if wrong := next((line for line in lines if not APP_NAME.fullmatch(line)), None):
        raise JobError("UnsafeFile", f"{path}: {wrong[:100]!r} is not the name of an app")


def check_framework_files(site: Path) -> None:
    """The framework opens these files as they are: it would follow a link, or wait for a FIFO."""
    check_apps_file(site.parent)
    read_common_config(site.parent)
    read_site_config(site)


def read_marker(site: Path) -> dict[str, Any]:
    """The site's marker. Its paths are below the site's own directory."""
    path = site / MARKER
    marker = read_json(path)
    check_types(path, marker, MARKER_TYPES)
    upgrade, restore = marker.get("upgrade") or {}, marker.get("restore") or {}
    restores = marker.get("restores") or {}
    last = restores.get("last") or {}
    check_types(path, upgrade, UPGRADE_TYPES)
    check_types(path, restore, RESTORE_TYPES)
    check_types(path, restores, {"done": list, "last": dict})
    check_types(path, last, RESTORE_TYPES)
    for key, values in (
        ("code", marker.get("code") or {}),
        ("upgrade.code", upgrade.get("code") or {}),
        ("restore.keys", restore.get("keys") or []),
        ("restore.earlier", restore.get("earlier") or []),
        ("restore.missing", restore.get("missing") or []),
        ("restores.last.missing", last.get("missing") or []),
        ("restores.done", restores.get("done") or []),
    ):
        check_texts(path, key, values)
    for key, copy in (
        ("upgrade.backup", upgrade.get("backup")),
        ("restore.new", restore.get("new")),
        ("restore.before", restore.get("before")),
        ("restores.last.before", last.get("before")),
    ):
        if copy is not None and not is_copy_of(site, copy):
            raise unexpected(path, key)
    return marker


def is_copy_of(site: Path, relative: str) -> bool:
    """Whether a path, relative to `sites/`, is a folder with a copy of this site's data."""
    name, _, rest = relative.partition("/")
    return name == site.name and COPY.fullmatch(rest) is not None and ".." not in rest
