"""Prepares a bench's sites volume: apps.txt, the assets link, common_site_config.json.

Runs as the `<bench>-init` Job, again at every change of the image. Each step looks first and writes only what
differs, by a temporary file and a rename, so that it may be killed anywhere and run again.

Environment
  BENCH_DIR        the bench (default /home/frappe/frappe-bench)
  BENCH_APPS       JSON array of apps that the image must hold (default [])
  REDIS_HOST, REDIS_CACHE_PORT (6379), REDIS_QUEUE_PORT (6380), REDIS_PASSWORD (optional), or
  REDIS_CACHE_URL, REDIS_QUEUE_URL   whole URLs, which win
  DB_HOST, DB_PORT, DB_TYPE          optional defaults for the bench's sites
  SOCKETIO_PORT    default 9000
  COMMON_CONFIG    JSON object of further keys; null deletes a key; the keys above cannot be given here
  OLD_IMAGE_ASSETS "mounted": the image bakes no assets/ directory and the pods mount sites/assets themselves
  TERMINATION_LOG  default /dev/termination-log

Last line: `app-operator: Succeeded: {"apps": {"frappe": "15.44.2"}}` or `app-operator: <Reason>: <message>`.
"""

import json
import os
import re
import shutil
import sys
from pathlib import Path
from urllib.parse import quote

TERMINATION_LOG = "/dev/termination-log"
APP_NAME = re.compile(r"^[a-z_][a-z0-9_]*$")
VERSION = re.compile(r"""^__version__\s*=\s*["']([^"']+)["']""", re.MULTILINE)


class Refused(Exception):
    """Ends the Job: a reason in CamelCase and one sentence for a person."""

    def __init__(self, reason, message):
        super().__init__(message)
        self.reason = reason


def report(reason, message):
    """Prints the last line and leaves it where the kubelet picks it up."""
    line = f"app-operator: {reason}: {' '.join(str(message).split())}"
    sys.stdout.flush()
    print(line, file=sys.stderr, flush=True)
    path = os.environ.get("TERMINATION_LOG") or TERMINATION_LOG
    if path == TERMINATION_LOG and not os.path.exists(path):
        return
    try:
        with open(path, "wb") as log:
            log.write(line.encode()[:4096])
    except OSError:
        pass


def json_env(name, default, kind):
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    try:
        value = json.loads(text)
    except ValueError as error:
        raise Refused("InvalidInput", f"{name} is not JSON: {error}") from None
    if not isinstance(value, kind):
        raise Refused("InvalidInput", f"{name} must be a JSON {'object' if kind is dict else 'array'}")
    return value


def int_env(name, default=None):
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    if not text.isdigit() or not 0 < int(text) < 65536:
        raise Refused("InvalidInput", f"{name} must be a port, got {text!r}")
    return int(text)


def replace_file(path, text, mode):
    """Writes `text` unless the file holds it already. Returns whether it wrote."""
    try:
        if path.read_text() == text:
            return False
    except (FileNotFoundError, UnicodeDecodeError):
        pass
    temporary = path.with_name(f".{path.name}.app-operator")
    temporary.unlink(missing_ok=True)
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w") as file:
        os.fchmod(file.fileno(), mode)
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    return True


def apps_of_image(bench):
    """App name → version of every importable app of the image; the framework first, the others by name."""
    found = {}
    for directory in sorted((bench / "apps").glob("*"), key=lambda d: (d.name != "frappe", d.name)):
        package = directory / directory.name / "__init__.py"
        if APP_NAME.match(directory.name) and package.is_file():
            version = VERSION.search(package.read_text(errors="replace"))
            found[directory.name] = version.group(1) if version else "unknown"
    if "frappe" not in found:
        raise Refused("AppNotInImage", f"{bench}/apps holds no frappe: this is not a bench image")
    return found


def check_wanted_apps(found):
    wanted = json_env("BENCH_APPS", [], list)
    missing = [str(app) for app in wanted if app not in found]
    if missing:
        raise Refused(
            "AppNotInImage", f"not in the image: {', '.join(missing)}; the image holds: {', '.join(found)}"
        )


def link_assets(bench):
    """Points sites/assets at the assets that each pod's own image holds (the target is constant)."""
    baked, link = bench / "assets", bench / "sites" / "assets"
    if not baked.is_dir():
        if os.environ.get("OLD_IMAGE_ASSETS") == "mounted":
            print("this image bakes no assets directory: left to the volume that the pods mount at sites/assets")
            return
        raise Refused(
            "AssetsNotInImage",
            f"the image has no {baked} (built before 2026-04): its assets lie below the sites volume and cannot be "
            "served; use a newer image, or mount a copy at sites/assets in every pod",
        )
    if link.is_symlink() and os.readlink(link) == str(baked):
        return
    if link.is_dir() and not link.is_symlink():
        stale = link.with_name(".assets.app-operator-old")
        shutil.rmtree(stale, ignore_errors=True)
        os.rename(link, stale)
    temporary = link.with_name(".assets.app-operator")
    temporary.unlink(missing_ok=True)
    os.symlink(baked, temporary)
    os.replace(temporary, link)
    print(f"linked {link} to {baked}")


def sweep(sites):
    """What an earlier run may have left behind when it was killed."""
    shutil.rmtree(sites / ".assets.app-operator-old", ignore_errors=True)


def redis_url(kind, default_port):
    url = os.environ.get(f"REDIS_{kind}_URL", "").strip()
    if url:
        return url
    host = os.environ.get("REDIS_HOST", "").strip()
    if not host:
        raise Refused("InvalidInput", f"REDIS_HOST or REDIS_{kind}_URL must be set")
    if ":" in host and not host.startswith("["):
        host = f"[{host}]"
    password = os.environ.get("REDIS_PASSWORD", "")
    login = f":{quote(password, safe='')}@" if password else ""
    return f"redis://{login}{host}:{int_env(f'REDIS_{kind}_PORT', default_port)}"


def our_config():
    queue = redis_url("QUEUE", 6380)
    config = {
        "redis_cache": redis_url("CACHE", 6379),
        "redis_queue": queue,
        "redis_socketio": queue,
        "socketio_port": int_env("SOCKETIO_PORT", 9000),
    }
    for key, value in (
        ("db_host", os.environ.get("DB_HOST", "").strip()),
        ("db_port", int_env("DB_PORT")),
        ("db_type", os.environ.get("DB_TYPE", "").strip()),
    ):
        if value:
            config[key] = value
    return config


def write_common_config(sites):
    """Merges our keys into common_site_config.json. Keys of others stay. Returns the whole."""
    path, ours = sites / "common_site_config.json", our_config()
    further = json_env("COMMON_CONFIG", {}, dict)
    clash = sorted(set(further) & (set(ours) | {"db_host", "db_port", "db_type"}))
    if clash:
        raise Refused("InvalidInput", f"COMMON_CONFIG may not set {', '.join(clash)}: they have settings of their own")
    try:
        existing = json.loads(path.read_text() or "{}")
        if not isinstance(existing, dict):
            raise ValueError("not an object")
    except FileNotFoundError:
        existing = {}
    except ValueError as error:
        # The framework rewrites this file in place and can leave half of it; a later read would silently ignore it.
        kept = path.with_name("common_site_config.json.broken")
        os.replace(path, kept)
        print(f"common_site_config.json was broken ({error}): kept as {kept.name}, written anew")
        existing = {}
    merged = {k: v for k, v in {**existing, **further, **ours}.items() if v is not None}
    if merged != existing or not path.exists():
        replace_file(path, json.dumps(merged, indent=1, sort_keys=True), 0o640)
        print("wrote common_site_config.json")
    return merged


def forget_asset_manifest(url):
    """The cache keeps the old image's list of bundles under one shared key: remove it, if the cache is up."""
    try:
        import redis

        client = redis.from_url(url, socket_timeout=2, socket_connect_timeout=2)
        print("removed assets_json from the cache" if client.delete("assets_json") else "no assets_json in the cache")
    except Exception as error:  # best effort: a cache that is not up holds no manifest either
        print(f"assets_json was not removed: the cache does not answer ({type(error).__name__})")


def main():
    bench = Path(os.environ.get("BENCH_DIR") or "/home/frappe/frappe-bench")
    sites = bench / "sites"
    sites.mkdir(exist_ok=True)
    found = apps_of_image(bench)
    check_wanted_apps(found)
    link_assets(bench)
    sweep(sites)
    if replace_file(sites / "apps.txt", "".join(f"{app}\n" for app in found), 0o664):
        print(f"wrote apps.txt: {', '.join(found)}")
    config = write_common_config(sites)
    forget_asset_manifest(config["redis_cache"])
    return {"apps": found}


if __name__ == "__main__":
    try:
        outcome = main()
    except Refused as refused:
        report(refused.reason, refused)
        sys.exit(1)
    except OSError as error:
        report("VolumeNotWritable", error)
        sys.exit(1)
    except Exception as error:
        report("InternalError", f"{type(error).__name__}: {error}")
        sys.exit(1)
    report("Succeeded", json.dumps(outcome))
