"""What site_init.py and site_drop.py share: settings, the last line, files that are replaced whole."""

import fcntl
import json
import os
import re
import sys
from contextlib import contextmanager
from pathlib import Path

from site_gate import obstacle

TERMINATION_LOG = "/dev/termination-log"
LAST_WORDS = 4096
MARKER = ".app-operator.json"
OWNER_KEY = "app_operator_owner"
SITE_NAME = re.compile(r"^(?!.*\.\.)[a-z0-9][a-z0-9._-]{0,252}$")
DB_IDENTIFIER = re.compile(r"^[a-z_][a-z0-9_]*$")
SYSTEM_NAMES = {
    "mysql", "information_schema", "performance_schema", "sys", "root", "mariadb.sys",
    "postgres", "template0", "template1", "public",
}  # fmt: skip
SECRETS = ("DB_PASSWORD", "DB_ROOT_PASSWORD", "ADMIN_PASSWORD", "ENCRYPTION_KEY", "S3_SECRET_ACCESS_KEY")


# Of a site whose AppSite was deleted while its data stays. The last key tells a later Job to take the others away.
RESTING = {"pause_scheduler": 1, "maintenance_mode": 1, "bench_id": None, "app_operator_resting": 1}


class Refused(Exception):
    """Ends the Job: a reason in CamelCase and one sentence for a person."""

    def __init__(self, reason, message):
        super().__init__(message)
        self.reason = reason


# Values of secrets that are files.
read_secrets = set()


def redact(text):
    """No secret of ours is ever printed, not even inside another program's error."""
    for value in sorted({*read_secrets, *(os.environ.get(name, "") for name in SECRETS)}, key=len, reverse=True):
        if len(value) >= 4:
            text = text.replace(value, "***")
    return text


def report(reason, message):
    """Prints the last line and leaves it where the kubelet picks it up."""
    sys.stdout.flush()
    print(foretell(reason, message), file=sys.stderr, flush=True)


def foretell(reason, message):
    """Leaves a last line for the case that this process is killed before it can say one. Returns the line."""
    line = redact(f"app-operator: {reason}: {' '.join(str(message).split())}")
    leave(line)
    return line


def leave(text):
    """Writes the pod's termination message, of which the kubelet reads LAST_WORDS bytes."""
    path = os.environ.get("TERMINATION_LOG") or TERMINATION_LOG
    if path == TERMINATION_LOG and not os.path.exists(path):
        return
    try:
        with open(path, "wb") as log:
            log.write(text.encode()[:LAST_WORDS])
    except OSError:
        pass


def say(message):
    print(redact(message), flush=True)


def run_job(main, succeed=lambda outcome: report("Succeeded", json.dumps(outcome))):
    """Runs `main` so that whatever happens ends in exactly one last line. `succeed` is given what `main` returns."""
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
    succeed(outcome)


def text_env(name, default=None):
    """A setting that must be there when it has no default."""
    value = os.environ.get(name, "")
    if value:
        return value
    if default is None:
        raise Refused("InvalidInput", f"{name} is not set")
    return default


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


def seconds_env(name, default):
    text = os.environ.get(name, "").strip()
    if text and not text.isdigit():
        raise Refused("InvalidInput", f"{name} must be a number of seconds, got {text!r}")
    return int(text) if text else default


class Settings:
    """The environment both Jobs read, checked once."""

    def __init__(self):
        self.bench = Path(os.environ.get("BENCH_DIR") or "/home/frappe/frappe-bench")
        self.sites = self.bench / "sites"
        self.site_name = text_env("SITE_NAME")
        if not SITE_NAME.match(self.site_name) or self.site_name in ("assets", "archived_sites"):
            raise Refused("InvalidInput", f"SITE_NAME {self.site_name!r} is not a host name")
        self.site = self.sites / self.site_name
        self.workspace = self.sites / ".app-operator"
        self.owner = text_env("SITE_OWNER")
        self.db_type = text_env("DB_TYPE", "mariadb")
        if self.db_type not in ("mariadb", "postgres"):
            raise Refused("InvalidInput", f"DB_TYPE must be mariadb or postgres, got {self.db_type!r}")
        self.db_host = text_env("DB_HOST")
        port = text_env("DB_PORT", "3306" if self.db_type == "mariadb" else "5432")
        if not port.isdigit():
            raise Refused("InvalidInput", f"DB_PORT must be a number, got {port!r}")
        self.db_port = int(port)
        self.db_name = text_env("DB_NAME")
        self.db_user = text_env("DB_USER", self.db_name)
        self.root_user = text_env("DB_ROOT_USER", "root" if self.db_type == "mariadb" else "postgres")
        self.root_password = os.environ.get("DB_ROOT_PASSWORD", "")
        self.wait_seconds = seconds_env("WAIT_SECONDS", 120)
        for name, value in (("DB_NAME", self.db_name), ("DB_USER", self.db_user)):
            if not DB_IDENTIFIER.match(value) or value in SYSTEM_NAMES or len(value) > 63:
                raise Refused("InvalidInput", f"{name} {value!r} cannot be used: [a-z_][a-z0-9_]*, at most 63, no system name")
        if self.root_user == self.db_user:
            raise Refused("InvalidInput", "DB_USER is the administrator's account")

    @property
    def has_root(self):
        return bool(self.root_password)


def read_json(path):
    """The object in a file, {} when there is none; a broken file is refused, never guessed at."""
    try:
        value = json.loads(path.read_text() or "{}")
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise Refused("SiteIncomplete", f"{path} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise Refused("SiteIncomplete", f"{path} is not a JSON object")
    return value


def write_json(path, value, mode=0o640):
    """Replaces the file in one step; equal content is left alone. Returns whether it wrote."""
    text = json.dumps(value, indent=1, sort_keys=True)
    if path.exists() and path.read_text() == text:
        return False
    temporary = path.with_name(f".{path.name}.app-operator")
    temporary.unlink(missing_ok=True)
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w") as file:
        os.fchmod(file.fileno(), mode)
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    return True


@contextmanager
def only_one(settings):
    """Two Jobs of one site never work at once (a Job's pod can be replaced before the old one is gone)."""
    settings.workspace.mkdir(parents=True, exist_ok=True)
    with open(settings.workspace / f"{settings.site_name}.lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused("SiteBusy", f"another Job works on {settings.site_name}") from None
        yield


@contextmanager
def held_open(sites, site_name):
    """Keeps Jobs that create, change, upgrade, restore or drop the site from beginning. Others that hold it open are no hindrance."""
    workspace = sites / ".app-operator"
    workspace.mkdir(exist_ok=True)
    with open(workspace / f"{site_name}.lock", "a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused("SiteClosed", f"another Job changes {site_name}: nothing was done") from None
        yield


def check_open(site):
    """Refuses what would only do harm, or fail with words that nobody understands. Asked while the site is held open."""
    site_name = site.name
    if not (site / "site_config.json").is_file():
        raise Refused("SiteMissing", f"there is no site {site_name} in {site.parent}")
    marker = read_json(site / MARKER)
    if marker.get("state") == "creating":
        raise Refused("SiteIncomplete", f"{site_name} is being created: nothing was done")
    if why := obstacle(marker, os.environ.get("IMAGE", "")):
        raise Refused("SiteClosed", f"{site_name} {why}: nothing was done")


@contextmanager
def site_config_lock(settings):
    """The lock that the framework itself takes for writing a site's configuration."""
    locks = settings.site / "locks"
    locks.mkdir(exist_ok=True)
    with open(locks / "site_config.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def update_site_config(settings, changes):
    """Merges `changes` into site_config.json; None deletes a key. Returns the whole."""
    path = settings.site / "site_config.json"
    with site_config_lock(settings):
        config = {k: v for k, v in {**read_json(path), **changes}.items() if v is not None}
        write_json(path, config)
    return config


def is_fresh(settings):
    """Whether nothing of a site is there: no directory, or one in which nothing but our own lock or temporary file lies."""
    if not settings.site.exists():
        return True
    return all(entry.name.startswith(".") and entry.name != MARKER for entry in settings.site.iterdir())


def database_of(settings):
    """What the marker records of the database."""
    return {"dbName": settings.db_name, "dbHost": settings.db_host, "dbPort": settings.db_port}


def is_begun_there(settings):
    """Whether the site was begun in this very database. Since then the spec may name another one, or the bench another server."""
    marker = read_json(settings.site / MARKER)
    if "dbHost" in marker:
        begun = {key: marker.get(key) for key in database_of(settings)}
    else:  # of an operator that recorded no server: it wrote the configuration when the database was the site's
        config = read_json(settings.site / "site_config.json")
        begun = {"dbName": config.get("db_name"), "dbHost": config.get("db_host"), "dbPort": config.get("db_port")}
    return begun == database_of(settings)


def is_half_made(settings):
    """Whether the site is still to be made, or to get the backup that it begins with."""
    marker = read_json(settings.site / MARKER)
    restore = marker.get("restore")
    return marker.get("state") == "creating" or (restore is not None and "before" not in restore)


def check_owner(settings):
    """The site's recorded owner, None when none is recorded; refuses another one's."""
    config_owner = read_json(settings.site / "site_config.json").get(OWNER_KEY)
    marker_owner = read_json(settings.site / MARKER).get("owner")
    for owner in (config_owner, marker_owner):
        if owner is not None and owner != settings.owner:
            raise Refused("SiteOwnedByOther", f"{settings.site_name} belongs to {owner}, not to {settings.owner}")
    return config_owner or marker_owner
