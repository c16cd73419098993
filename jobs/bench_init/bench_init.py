"""Prepares a bench's sites volume: apps.txt, the assets link, common_site_config.json.

Runs as the `<bench>-init` Job, again at every change of the image. Each step writes only what
differs, in one step. The Job may be killed at any point and repeated.

Environment
  BENCH_DIR        the bench
  BENCH_APPS       JSON array of apps that the image must hold (default [])
  REDIS_HOST, REDIS_CACHE_PORT, REDIS_QUEUE_PORT, REDIS_PASSWORD (optional), or
  REDIS_CACHE_URL, REDIS_QUEUE_URL   complete URLs, which take precedence
  REDIS_CA_FILE, REDIS_CA_FROM       the certificate of their authority (optional), and its Secret
  DB_HOST, DB_PORT, DB_TYPE          optional defaults for the bench's sites
  SOCKETIO_PORT    port of the realtime server
  PATH             where Chromium is looked for, which prints PDFs from version-16 on
  COMMON_CONFIG    JSON object of further keys; null deletes a key; it cannot set the keys above. A
                   key that is not in the next run's object is deleted, except bench_id
  TERMINATION_LOG  file for the termination message

Last line: `app-operator: Succeeded: {"apps": {"frappe": "15.44.2"}}` or
`app-operator: <Reason>: <message>`. The result has
- `"assets": "sites"` where the image has no assets/ directory: its assets are in sites/assets,
  which the volume hides, and each pod copies them (assets.sh);
- `"missing": ["wkhtmltopdf", "Chromium"]`: programs that print PDFs, and that the image lacks.
"""

import json
import os
import re
import shutil
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from atomic_files import replace_file, without_nulls
from framework_cache import check_tracking, delete_asset_manifest
from image_apps import app_version, check_wanted, major_of
from job_environment import (
    bench_dir,
    json_array_env,
    json_object_env,
    secret_env,
    text_env,
)
from job_result import JobError, run_job
from job_secrets import stored_value
from operator_constants import (
    COMMON_CONFIG_FILE,
    REDIS_CA_FILE,
    REDIS_CACHE_PORT,
    REDIS_QUEUE_PORT,
    SOCKETIO_PORT,
)
from site_locks import common_config_lock
from site_records import texts_in
from volume_files import (
    exists,
    make_directory,
    read_json_value,
    remove_file,
    rename,
    try_to_remove_tree,
)

APP_NAME = re.compile(r"^[a-z_][a-z0-9_]*$")
DATABASE_KEYS = {"db_host", "db_port", "db_type"}
CHROMIUM_KEY = "chromium_path"
# The framework's 3 seconds are too short for the first start on a slow node.
CHROMIUM_START = {"chromium_start_timeout": 15}
# Names of the program in Debian's packages chromium-headless-shell and chromium.
CHROMIUM_PROGRAMS = ("chromium-headless-shell", "chromium")
# What to do about apps that the image does not hold.
ADVICE = (
    "; remove them from the bench, or set spec.image to an image that holds them: "
    "docs/images.md#add-apps"
)
# Key of the list of keys of COMMON_CONFIG that the last run has set. The sites can write it.
OWNED_KEYS = "app_operator_init_keys"


def port_env(name: str) -> int | None:
    text = os.environ.get(name, "").strip()
    if not text:
        return None
    if not text.isdigit() or not 0 < int(text) < 65536:
        raise JobError("InvalidInput", f"{name} must be a port, got {text!r}")
    return int(text)


def importable_apps(bench: Path) -> dict[str, str]:
    """App → version of every importable app of the image: frappe first, the others by name."""
    found = {}
    apps = (bench / "apps").glob("*")
    for directory in sorted(apps, key=lambda path: (path.name != "frappe", path.name)):
        version = app_version(directory)
        if APP_NAME.match(directory.name) and version is not None:
            found[directory.name] = version
    if "frappe" not in found:
        raise JobError(
            "AppNotInImage", f"{bench}/apps holds no frappe: the image is not a bench image"
        )
    return found


def link_assets(bench: Path) -> None:
    """Links sites/assets to the assets of each pod's own image. The target never changes."""
    assets, link = bench / "assets", bench / "sites" / "assets"
    if link.is_symlink() and os.readlink(link) == str(assets):
        return
    if link.is_dir() and not link.is_symlink():
        stale = link.with_name(".assets.app-operator-old")
        try_to_remove_tree(stale)
        os.rename(link, stale)
    temporary = link.with_name(".assets.app-operator")
    temporary.unlink(missing_ok=True)
    os.symlink(assets, temporary)
    os.replace(temporary, link)
    print(f"linked {link} to {assets}")


def remove_leftovers(sites: Path) -> None:
    """Removes the directory that a killed run of link_assets leaves."""
    try_to_remove_tree(sites / ".assets.app-operator-old")


def redis_url(kind: str, default_port: int) -> str:
    if stored_value(f"REDIS_{kind}_URL") is not None:
        return with_authority(secret_env(f"REDIS_{kind}_URL").strip())
    host = os.environ.get("REDIS_HOST", "").strip()
    if not host:
        raise JobError("InvalidInput", f"REDIS_HOST or REDIS_{kind}_URL must be set")
    if ":" in host and not host.startswith("["):
        host = f"[{host}]"
    password = secret_env("REDIS_PASSWORD", "")
    login = f":{quote(password, safe='')}@" if password else ""
    return f"redis://{login}{host}:{port_env(f'REDIS_{kind}_PORT') or default_port}"


def with_authority(url: str) -> str:
    """The URL with the file of a private authority, which the Redis client of Python reads of it.

    Node.js reads it of NODE_EXTRA_CA_CERTS.
    """
    parts = urlsplit(url)
    if not os.environ.get("REDIS_CA_FILE") or parts.scheme != "rediss":
        return url
    if "ssl_ca_certs" in parse_qs(parts.query):
        return url
    file = bench_dir() / "sites" / REDIS_CA_FILE
    # Older clients do not compare the host by themselves.
    options = urlencode({"ssl_ca_certs": file, "ssl_check_hostname": "true"}, safe="/")
    return parts._replace(query=f"{parts.query}&{options}" if parts.query else options).geturl()


def write_redis_authority(sites: Path) -> None:
    """Copies the certificate to the volume: only this Job's pod mounts the Secret."""
    source = os.environ.get("REDIS_CA_FILE")
    if not source:
        remove_file(sites / REDIS_CA_FILE)
        return
    where = text_env("REDIS_CA_FROM")
    try:
        ssl.create_default_context(cafile=source)
        text = Path(source).read_text(errors="replace")
    except FileNotFoundError:
        raise JobError("SecretInvalid", f"{where} does not exist; add the key") from None
    except OSError:
        raise JobError("SecretInvalid", f"{where} has no certificate in PEM") from None
    make_directory((sites / REDIS_CA_FILE).parent)
    if replace_file(sites / REDIS_CA_FILE, text, 0o644):
        print(f"wrote {REDIS_CA_FILE}")


def operator_config() -> dict[str, Any]:
    """The keys of the common configuration that the operator sets."""
    queue = redis_url("QUEUE", REDIS_QUEUE_PORT)
    config: dict[str, Any] = {
        "redis_cache": redis_url("CACHE", REDIS_CACHE_PORT),
        "redis_queue": queue,
        "redis_socketio": queue,
        "socketio_port": port_env("SOCKETIO_PORT") or SOCKETIO_PORT,
    }
    database = {
        "db_host": os.environ.get("DB_HOST", "").strip(),
        "db_port": port_env("DB_PORT"),
        "db_type": os.environ.get("DB_TYPE", "").strip(),
    }
    return config | {key: value for key, value in database.items() if value}


def chromium_config(config: Mapping[str, Any]) -> dict[str, str]:
    """Where the image has Chromium, unless the configuration names a program that the image has.

    Without the key, the framework downloads one into the image's file system, which is read-only.
    """
    configured = config.get(CHROMIUM_KEY)
    if isinstance(configured, str) and shutil.which(configured):
        return {}
    found = next(filter(None, map(shutil.which, CHROMIUM_PROGRAMS)), None)
    return {CHROMIUM_KEY: found} if found else {}


def missing_programs(version: str, config: Mapping[str, Any]) -> list[str]:
    """The programs that this version prints with, and that the image does not have."""
    missing = [] if shutil.which("wkhtmltopdf") else ["wkhtmltopdf"]
    if major_of(version) >= 16 and not shutil.which(config.get(CHROMIUM_KEY) or ""):
        missing.append("Chromium")
    return missing


def read_or_discard_config(path: Path) -> dict[str, Any]:
    """The stored configuration. A broken file is renamed, and replaced by a new one."""
    try:
        existing = read_json_value(path)
        if not isinstance(existing, dict):
            raise ValueError("not an object")
        return existing
    except FileNotFoundError:
        return {}
    except ValueError as error:
        # The framework rewrites the file in place, so half of it may be left. The framework ignores
        # a file that it cannot parse.
        renamed = path.with_name(f"{COMMON_CONFIG_FILE}.broken")
        rename(path, renamed)
        print(f"{COMMON_CONFIG_FILE} was broken: {error}; renamed to {renamed.name}")
        return {}


def write_common_config(sites: Path) -> dict[str, Any]:
    """Merges the operator's keys into the common configuration. Other keys stay."""
    path, ours = sites / COMMON_CONFIG_FILE, operator_config()
    further = json_object_env("COMMON_CONFIG")
    clash = sorted(set(further) & (set(ours) | DATABASE_KEYS))
    if clash:
        raise JobError(
            "InvalidInput", f"COMMON_CONFIG may not set {', '.join(clash)}: use their own variables"
        )
    existing = read_or_discard_config(path)
    dropped = {key: None for key in texts_in(existing.get(OWNED_KEYS)) if key not in further}
    owned = {OWNED_KEYS: sorted(set(further) - {"bench_id"}) or None}
    merged = without_nulls({**existing, **dropped, **further, **ours, **owned})
    if CHROMIUM_KEY not in further:
        merged |= chromium_config(merged)
    if CHROMIUM_KEY in merged:
        merged = CHROMIUM_START | merged
    if merged != existing or not exists(path):
        replace_file(path, json.dumps(merged, indent=1, sort_keys=True), 0o640)
        print(f"wrote {COMMON_CONFIG_FILE}")
    return merged


def main() -> dict[str, Any]:
    bench = bench_dir()
    sites = bench / "sites"
    sites.mkdir(exist_ok=True)
    apps = importable_apps(bench)
    check_wanted(apps, json_array_env("BENCH_APPS"), ADVICE)
    write_redis_authority(sites)
    check_tracking(redis_url("CACHE", REDIS_CACHE_PORT), major_of(apps["frappe"]))
    link_assets(bench)
    remove_leftovers(sites)
    if replace_file(sites / "apps.txt", "".join(f"{app}\n" for app in apps), 0o664):
        print(f"wrote apps.txt: {', '.join(apps)}")
    with common_config_lock(sites):
        config = write_common_config(sites)
    delete_asset_manifest(config["redis_cache"])
    # Images from before 2026-04-29 have their assets where the volume is mounted.
    assets = {} if (bench / "assets").is_dir() else {"assets": "sites"}
    missing = missing_programs(apps["frappe"], config)
    return {"apps": apps, **assets, **({"missing": missing} if missing else {})}


if __name__ == "__main__":
    run_job(main)
