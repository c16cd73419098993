"""Creates a site, or brings an existing one to what is wanted. Runs as the `<site>-init` Job; safe to kill and to repeat.

Environment
  SITE_NAME, SITE_OWNER (`<namespace>/<name>` of the AppSite), SITE_APPS (JSON array), SITE_REVISION (kept in the marker)
  DB_TYPE mariadb|postgres, DB_HOST, DB_PORT, DB_NAME, DB_USER (default DB_NAME), DB_PASSWORD
  DB_ROOT_USER, DB_ROOT_PASSWORD   absent: the database and its user are prepared, and empty
  ADMIN_PASSWORD, ENCRYPTION_KEY
  SITE_CONFIG      JSON object of further site_config.json keys; null deletes a key
  IMAGE            optional: any text that names the image; a change migrates, like a change of the apps' code
  KEEP_CLOSED      1: site_reopen.py opens the site after a migration, when nothing of the old image runs any more
  WAIT_SECONDS     for the database and Redis (120)
  MAINTENANCE_SETTLE_SECONDS  between maintenance on and the first look at jobs; default 65 from version-16 on (it caches
                   the configuration for 60 s), 2 before
  JOBS_WAIT_SECONDS, CONNECTIONS_WAIT_SECONDS, see site_upgrade.py
  BENCH_DIR, TERMINATION_LOG

A migration is an upgrade: the site is closed, its jobs end, its database is backed up, then it is migrated (see
site_upgrade.py). With the image before it, the backup is loaded; with a third image too, which then migrates that.

A backup is restored with the site closed in the same way (see site_restore.py, and there for RESTORE_* and STORE_*).

The marker `sites/<site>/.app-operator.json` is written before creation starts; `state` turns from `creating` to
`complete` when the framework is in. Only what a marker of the same owner calls `creating` is ever thrown away, and only
the database that it records: dbName on dbHost and dbPort.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import site_database
from site_common import (
    MARKER,
    OWNER_KEY,
    Refused,
    Settings,
    check_owner,
    database_of,
    foretell,
    is_begun_there,
    is_fresh,
    is_half_made,
    json_env,
    only_one,
    read_json,
    redact,
    run_job,
    say,
    seconds_env,
    text_env,
    update_site_config,
    write_json,
)
from site_queues import SiteQueues
from site_restore import Restore
from site_upgrade import CLOSED_KEYS, Upgrade

SITE_FOLDERS = ("public/files", "private/files", "private/backups", "locks", "logs")
STEPS = Path(__file__).with_name("site_steps.py")
VERSION = re.compile(r"""^__version__\s*=\s*["']([^"']+)["']""", re.MULTILINE)
LOST_CONNECTION = re.compile(
    r"Lost connection|gone away|Can't connect to|server closed the connection|terminating connection|could not connect|Connection refused",
    re.IGNORECASE,
)
RESERVED_KEYS = {
    "db_name", "db_user", "db_password", "db_type", "db_host", "db_port", "encryption_key", OWNER_KEY,
    "pause_scheduler", "app_operator_resting",
}  # fmt: skip


class InitSettings(Settings):
    def __init__(self):
        super().__init__()
        self.db_password = text_env("DB_PASSWORD")
        self.admin_password = text_env("ADMIN_PASSWORD")
        self.encryption_key = text_env("ENCRYPTION_KEY")
        self.apps = json_env("SITE_APPS", [], list)
        self.config = json_env("SITE_CONFIG", {}, dict)
        self.revision = os.environ.get("SITE_REVISION", "")
        reserved = sorted(RESERVED_KEYS & set(self.config))
        if reserved:
            raise Refused("InvalidInput", f"SITE_CONFIG may not set {', '.join(reserved)}")


# --- the framework, in processes of its own -------------------------------------------------------------------------


def child_env(settings):
    """Ours, with what the steps read made explicit, and without overrides that would beat the site's configuration."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("FRAPPE_")}
    env.update(
        DB_TYPE=settings.db_type, DB_PORT=str(settings.db_port), DB_USER=settings.db_user,
        DB_ROOT_USER=settings.root_user, FRAPPE_DOCKER_BUILD="1", PYTHONUNBUFFERED="1",
    )  # fmt: skip
    return env


class ProgramFailed(Refused):
    """A program's failure: its last words are the message, `output` are its last lines."""

    def __init__(self, reason, output, code):
        super().__init__(reason, " | ".join(output[-3:]) or f"exit code {code}")
        self.output = output


def run(settings, reason, arguments, env=None):
    """Runs a program in `sites/`, passing its output on without secrets; a failure names its last words."""
    process = subprocess.Popen(
        arguments, cwd=settings.sites, env=env or child_env(settings), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
    )  # fmt: skip
    last = []
    for line in process.stdout:  # universal newlines: a progress bar's \r ends a line too
        line = redact(line.rstrip())
        if not line or ": [" in line and line.endswith("%"):
            continue
        print(f"  {line}", flush=True)
        last = [*last[-29:], line]
    if code := process.wait():
        raise ProgramFailed(reason, last, code)


def step(settings, name, reason):
    with tempfile.TemporaryDirectory() as directory:
        result = Path(directory) / "result.json"
        run(settings, reason, [sys.executable, str(STEPS), name], {**child_env(settings), "STEP_RESULT": str(result)})
        if not result.exists():
            raise Refused(reason, f"{name} ended without a result")
        return json.loads(result.read_text())


def bench(settings, reason, *arguments):
    """A bench command for this site, without the bench program (which needs a known user and more)."""
    run(settings, reason, [sys.executable, "-m", "frappe.utils.bench_helper", "frappe", "--site", settings.site_name, *arguments])


# --- the image ------------------------------------------------------------------------------------------------------


def apps_of_image(settings):
    """App name → version of the image's code."""
    found = {}
    for directory in sorted((settings.bench / "apps").glob("*")):
        package = directory / directory.name / "__init__.py"
        if package.is_file():
            version = VERSION.search(package.read_text(errors="replace"))
            found[directory.name] = version.group(1) if version else "unknown"
    return found


def fingerprint(settings, app):
    """Changes whenever a migrate could have something to do: versions do not tell on develop or a floating tag."""
    package = settings.bench / "apps" / app / app
    digest = hashlib.sha256()
    for path in sorted([package / "patches.txt", package / "hooks.py", *package.glob("**/doctype/*/*.json")]):
        if path.is_file():
            digest.update(str(path.relative_to(package)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def code_of(settings, versions, apps):
    code = {app: f"{versions[app]}+{fingerprint(settings, app)}" for app in apps if app in versions}
    if os.environ.get("IMAGE"):
        code["image"] = os.environ["IMAGE"]
    return code


# --- waiting --------------------------------------------------------------------------------------------------------


def wait_for_redis(settings):
    import redis

    common = read_json(settings.sites / "common_site_config.json")
    deadline = time.monotonic() + settings.wait_seconds
    for key in ("redis_cache", "redis_queue"):
        url = common.get(key)
        if not url:
            raise Refused("BenchNotInitialized", f"common_site_config.json has no {key}: the bench's init Job has not run")
        while True:
            try:
                redis.from_url(url, socket_timeout=5, socket_connect_timeout=5).ping()
                break
            except redis.exceptions.BusyLoadingError as error:
                problem = Refused("RedisUnreachable", f"{key}: {error}")
            except (redis.exceptions.AuthenticationError, redis.exceptions.ResponseError) as error:
                problem = Refused("RedisAccessDenied", f"{key}: {error}")
            except (redis.exceptions.RedisError, OSError) as error:
                problem = Refused("RedisUnreachable", f"{key}: {type(error).__name__}")
            if time.monotonic() >= deadline:
                raise problem
            say(f"waiting for Redis: {problem.reason}: {problem}")
            time.sleep(2)


# --- creation -------------------------------------------------------------------------------------------------------


def site_credentials(settings, can_name_user):
    config = {
        "db_name": settings.db_name, "db_password": settings.db_password, "db_type": settings.db_type,
        "db_host": settings.db_host, "db_port": settings.db_port,
        "encryption_key": settings.encryption_key, OWNER_KEY: settings.owner,
    }  # fmt: skip
    if can_name_user:
        config["db_user"] = settings.db_user
    return config


def check_database_is_free(settings, database):
    """Nothing of another's is ever overwritten: what our marker does not record is not ours."""
    if settings.has_root:
        if database.exists():
            raise Refused(
                "DatabaseExists",
                f"the database {settings.db_name} exists on {database.address}, and {settings.site_name} was not begun in it; nothing was touched",
            )
    elif tables := database.tables():
        raise Refused(
            "DatabaseExists",
            f"the prepared database {settings.db_name} on {database.address} is not empty ({len(tables)} tables), and {settings.site_name} was not begun in it; nothing was touched",
        )


def begin_site(settings, database, repair):
    """
    The directory with its marker. Returns what this version of the framework can do, and whether there is something to
    repair: in another database than the one that was begun the site is a new one.
    """
    can = step(settings, "capabilities", "FrameworkUnusable")
    if settings.db_user != settings.db_name and not can["dbUser"]:
        raise Refused(
            "DatabaseUserUnsupported",
            f"this version of the framework needs the database's user ({settings.db_user}) to be named like the database ({settings.db_name})",
        )
    if not can["noSetupDb"] and not settings.has_root:
        raise Refused("NoRootRights", "this version of the framework cannot use a prepared database: give the administrator's login")
    repair = repair and is_begun_there(settings)
    if not repair:
        check_database_is_free(settings, database)
    settings.site.mkdir(exist_ok=True)
    marker = {"owner": settings.owner, "state": "creating", **database_of(settings), "revision": settings.revision}
    write_json(settings.site / MARKER, marker)
    (settings.site / "site_config.json").unlink(missing_ok=True)  # it may name the database that was begun before
    return can, repair


def make_database(settings, database, repair, can):
    """An empty database, and the site's configuration."""
    if not settings.has_root:
        database.empty()
    elif can["noSetupDb"]:
        if repair:
            database.drop()
        database.create()
    update_site_config(settings, site_credentials(settings, can["dbUser"]))


def create(settings, database, repair):
    can, repair = begin_site(settings, database, repair)
    make_database(settings, database, repair, can)
    say(f"creating {settings.site_name}")
    step(settings, "create", "SiteCreationFailed")
    installed = step(settings, "installed-apps", "SiteCreationFailed")
    code = code_of(settings, apps_of_image(settings), installed)
    marker = settings.site / MARKER
    write_json(marker, {**read_json(marker), "state": "complete", "code": code})


def create_from_backup(settings, database, versions, restore, repair):
    """A site that has an empty database, and a backup that `converge` loads."""
    can, repair = begin_site(settings, database, repair)
    manifest, new = restore.fetch(backup_check(versions))
    make_database(settings, database, repair, {**can, "noSetupDb": True})
    for folder in SITE_FOLDERS:
        (settings.site / folder).mkdir(parents=True, exist_ok=True)
    restore.record(manifest, new, None, state="complete")


# --- convergence ----------------------------------------------------------------------------------------------------


def check_encryption_key(settings, config):
    """The site's key stays, whatever we are given: with another one its stored passwords cannot be read."""
    key = config.get("encryption_key")
    if key and key != settings.encryption_key and not Restore(settings, None).known_key(key):
        raise Refused("EncryptionKeyMismatch", f"{settings.site_name} has an encryption key of its own that is not the Secret's; put that key into the Secret")


def check_complete(settings, database):
    """The site's database is there and can be used with the wanted password; a changed one is set where that is possible."""
    config = read_json(settings.site / "site_config.json")
    if not config.get("db_name"):
        raise Refused("SiteIncomplete", f"{settings.site} has no site_config.json with a database, and was not begun by this operator")
    if config["db_name"] != settings.db_name:
        raise Refused(
            "DatabaseNameMismatch", f"{settings.site_name} uses the database {config['db_name']}, not {settings.db_name}; nothing was touched"
        )
    check_encryption_key(settings, config)
    if settings.has_root and not database.exists():
        raise Refused("SiteIncomplete", f"the files of {settings.site_name} are there, but {database.address} has no database {settings.db_name}")
    if is_half_made(settings) and not is_begun_there(settings):
        check_database_is_free(settings, database)  # it would be emptied for the backup of a site that is still to be made
    if not database.user_can_connect():
        if not settings.has_root:
            raise Refused("DatabaseAccessDenied", f"{database.address} refuses {settings.db_user} on {settings.db_name}")
        say(f"setting the database password of {settings.db_user}")
        database.set_user_password()
        update_site_config(settings, {"db_password": settings.db_password})
    loading = (Upgrade(settings).state or {}).get("restoring")
    if not loading and not database.tables():
        raise Refused("SiteIncomplete", f"the database {settings.db_name} of {settings.site_name} is empty")
    return config


def install_missing(settings, versions, marker):
    installed = step(settings, "installed-apps", "SiteIncomplete")
    begun = read_json(marker).get("installing")
    if all(app in installed and app != begun for app in settings.apps):
        return installed
    for app in step(settings, "apps-in-order", "AppInstallFailed"):
        # The framework calls an app installed before it has done all. What a run that was killed has left, only --force makes whole.
        again = app == begun
        if app not in versions or (app in installed and not again):
            continue
        write_json(marker, {**read_json(marker), "installing": app})
        say(f"installing {app}")
        bench(settings, "AppInstallFailed", "install-app", app, *(["--force"] if again else []))
        before, installed = installed, step(settings, "installed-apps", "SiteIncomplete")
        if app not in installed:
            raise Refused("AppInstallFailed", f"{app} is not installed after install-app")
        state = {k: v for k, v in read_json(marker).items() if k != "installing"}
        added = [name for name in installed if name not in before or name == app]
        state["code"] = {**state.get("code", {}), **code_of(settings, versions, added)}
        write_json(marker, state)
    return installed


def settle_seconds(code):
    """How long old processes may go on with the configuration that they have read."""
    major = code.get("frappe", "0").split(".")[0]
    return seconds_env("MAINTENANCE_SETTLE_SECONDS", 65 if major.isdigit() and int(major) >= 16 else 2)


def number(version):
    """15.44.2+c0ffee → (15, 44, 2)."""
    return tuple(int(part) for part in re.findall(r"\d+", re.match(r"[\d.]*", version).group()))


def check_image(settings, versions, code):
    """Whether the image's code can take over the site's data. Asked while the site is open, so that a no changes nothing."""
    installed = [app for app in code if app != "image"]
    if gone := [app for app in installed if app not in versions]:
        raise Refused("AppNotInImage", f"installed on {settings.site_name}, but not in the image: {', '.join(gone)}")
    older = [app for app in installed if number(versions[app]) < number(code[app])]
    if older:
        words = ", ".join(f"{app} {versions[app]} for data of {code[app].split('+')[0]}" for app in older)
        raise Refused("Downgrade", f"older code cannot work on {settings.site_name}: {words}; put the newer image back, or restore a backup")


def backup_check(versions):
    """What is asked of a backup before anything is touched for it: whether the image's code can work on its data."""

    def check(location, apps):
        if gone := [app for app in apps if app not in versions]:
            raise Refused("AppNotInImage", f"{location} is of a site with {', '.join(gone)}, which the image does not hold")
        newer = [f"{app} {version} (image: {versions[app]})" for app, version in apps.items() if number(version) > number(versions[app])]
        if newer:
            raise Refused("BackupNewer", f"{location} is of newer code: {', '.join(newer)}; older code cannot work on its data")

    return check


def check_no_old_workers(settings, upgrade, code):
    """Without the operator's word that nothing of the old image runs any more, the site's own workers must be gone."""
    prefix = settings.config.get("bench_id")
    if code.get("image") == os.environ.get("IMAGE", "") or not prefix or os.environ.get("KEEP_CLOSED") == "1":
        return
    if SiteQueues(settings, prefix).has_workers():
        raise Refused(
            "UpgradeUnknown",
            f"the data of {settings.site_name} is of {code.get('image')}, whose workers still run, and status.image does not say so: put that image back first",
        )


def migrate(settings, database, versions, marker):
    """
    Brings the site to the image's code where it is not there yet: closes it, backs it up, migrates. It stays closed.
    Returns the installed apps where it did, else None.
    """
    upgrade, image = Upgrade(settings, database), os.environ.get("IMAGE", "")
    if upgrade.must_restore(image):
        restore(settings, upgrade)
    code = read_json(marker).get("code", {})
    known = [app for app in code if app != "image"] or step(settings, "installed-apps", "SiteIncomplete")
    if code == code_of(settings, versions, known) and all(app in versions for app in known):
        return None  # where an upgrade is under way, it is back where it began, or all but done
    check_image(settings, versions, code)
    check_no_old_workers(settings, upgrade, code)
    upgrade.close(image, settle_seconds(code))
    stays = upgrade.stays
    upgrade.record({"changed": True})
    foretell("MigrationFailed", f"{stays}: ended in the middle, perhaps for want of memory")
    say(f"migrating {settings.site_name}")
    try:
        bench(settings, "MigrationFailed", "migrate")
        installed = step(settings, "installed-apps", "SiteIncomplete")
    except Refused as error:
        raise Refused("MigrationFailed", f"{stays}: {error}") from None
    forget_asset_manifest(settings)
    upgrade.record({"changed": None, "migrated": True}, code=code_of(settings, versions, installed))
    return installed


def restore(settings, upgrade):
    foretell("RestoreFailed", f"{upgrade.stays}: ended in the middle of loading {upgrade.backup}")
    forget_cache(settings)
    try:
        upgrade.restore()
    except Exception as error:  # of a damaged dump, and a driver's own
        raise Refused("RestoreFailed", f"{upgrade.stays}: {error}") from None


def forget_cache(settings):
    """What the framework remembers of the data before: documents, and who is logged in."""
    import redis

    url = read_json(settings.sites / "common_site_config.json").get("redis_cache")
    try:
        cache = redis.from_url(url, socket_timeout=30, socket_connect_timeout=5)
        for key in cache.scan_iter(match=f"{settings.db_name}|*", count=1000):
            cache.delete(key)
    except (redis.exceptions.RedisError, OSError) as error:
        raise Refused("RedisUnreachable", f"redis_cache: {type(error).__name__}") from None


def forget_asset_manifest(settings):
    """The cache keeps the old image's list of bundles under one key that all sites share."""
    import redis

    url = read_json(settings.sites / "common_site_config.json").get("redis_cache")
    try:
        redis.from_url(url, socket_timeout=2, socket_connect_timeout=2).delete("assets_json")
    except (redis.exceptions.RedisError, OSError) as error:  # a cache that is not up holds no manifest either
        say(f"assets_json was not removed: the cache does not answer ({type(error).__name__})")


def converge(settings, database, versions, restore):
    config = check_complete(settings, database)
    marker = settings.site / MARKER
    upgrade = Upgrade(settings, database)
    state = read_json(marker)
    write_json(marker, {**state, "owner": settings.owner, "state": "complete", **database_of(settings), "revision": settings.revision})
    wanted = {**settings.config, **site_credentials(settings, "db_user" in config)}
    wanted["encryption_key"] = config.get("encryption_key") or settings.encryption_key
    if "app_operator_resting" in config:
        wanted = {"maintenance_mode": 0, **wanted, "pause_scheduler": None, "app_operator_resting": None}
    if upgrade.state is not None:  # until it has ended the site stays closed, whatever is wanted
        wanted = {k: v for k, v in wanted.items() if k not in CLOSED_KEYS}
    update_site_config(settings, wanted)
    restore.bring(backup_check(versions), settle_seconds(state.get("code", {})))
    migrated = migrate(settings, database, versions, marker)
    closed = upgrade.state is not None
    try:
        installed = finish(settings, versions, marker)
    except Refused as error:
        if not closed or not (upgrade.state or {}).get("migrated"):
            raise
        raise Refused("MigrationFailed", f"{upgrade.stays}: {error.reason}: {error}") from None
    restore.end()
    if closed and os.environ.get("KEEP_CLOSED") != "1":
        upgrade.open(settings.config)
    restore.tidy()
    return {"apps": {app: versions[app] for app in installed}, "migrated": migrated is not None}


def finish(settings, versions, marker):
    """What is done on data that is of the image's code. Returns the installed apps."""
    installed = install_missing(settings, versions, marker)
    if gone := [app for app in installed if app not in versions]:
        raise Refused("AppNotInImage", f"installed on {settings.site_name}, but not in the image: {', '.join(gone)}")
    if step(settings, "admin-password", "AdminPasswordFailed"):
        say("set the Administrator's password")
    if step(settings, "enable-scheduler", "SchedulerFailed"):
        say("enabled the scheduler")
    return installed


@contextmanager
def open_when_refused(settings):
    """A refusal opens the site again where a Job before this one was killed while it closed it."""
    check_owner(settings)
    try:
        yield
    except Refused as error:
        upgrade = Upgrade(settings)
        if upgrade.state is None or "backup" in upgrade.state:
            raise
        upgrade.open()
        raise Refused(error.reason, f"{error}; {settings.site_name} is open as before") from None


def main():
    settings = InitSettings()
    versions = apps_of_image(settings)
    with only_one(settings), open_when_refused(settings):
        missing = [str(app) for app in settings.apps if app not in versions]
        if missing:
            raise Refused("AppNotInImage", f"not in the image: {', '.join(missing)}; the image holds: {', '.join(versions)}")
        database = site_database.server(settings)
        database.wait()
        wait_for_redis(settings)
        restore = Restore(settings, database)
        restore.forget_unborn()
        state = read_json(settings.site / MARKER).get("state")
        created = is_fresh(settings) or state == "creating"
        what, begun = "created" if created else "brought up to date", time.monotonic()
        try:
            if created and restore.wanted:
                create_from_backup(settings, database, versions, restore, repair=state == "creating")
            elif created:
                create(settings, database, repair=state == "creating")
            outcome = converge(settings, database, versions, restore)
            if restore.may_begin():  # what was under way is undone by now
                outcome = converge(settings, database, versions, restore)
            return {"created": created, **outcome, **restore.outcome()}
        except ConnectionError as error:
            raise Refused("DatabaseConnectionLost", f"{database.address}, while {settings.site_name} was {what}: {error}") from None
        except ProgramFailed as error:
            if error.reason == "MigrationFailed" or not lost_database(database, error, begun):
                raise
            raise Refused("DatabaseConnectionLost", f"{database.address}, while {settings.site_name} was {what}: {error}") from None


def lost_database(database, error, begun):
    """Whether a program failed because the server went away. Its own words need not say so: the framework keeps a client's to itself."""
    if any(LOST_CONNECTION.search(line) for line in error.output):
        return True
    try:
        return database.seconds_up() < time.monotonic() - begun
    except ConnectionError:
        return True
    except (site_database.Denied, site_database.NoDatabase):
        return False


if __name__ == "__main__":
    run_job(main)
