"""Creates a site, or updates an existing one. Runs as the `<site>-init` Job.

The steps that call the framework are in framework_steps.py and new_site.py. The Job may be killed
at any point and repeated.

Environment
  SITE_NAME, SITE_OWNER (`<namespace>/<name>` of the AppSite), SITE_APPS (JSON array)
  SITE_REVISION    recorded in the marker
  DB_TYPE mariadb|postgres, DB_HOST, DB_PORT, DB_NAME, DB_USER (default DB_NAME), DB_PASSWORD
  DB_ADMIN_SOCKET  of database_admin.py; absent: the database and its user are prepared, and empty
  ADMIN_PASSWORD, ENCRYPTION_KEY
  DB_TLS_MODE, DB_TLS_CA_DIR, DB_TLS_CLIENT_DIR: see database_tls.py; absent: nothing is encrypted
  SITE_CONFIG      JSON object of further site_config.json keys; null deletes a key
  IMAGE            optional: names the image; a change migrates, like a change of the apps' code
  KEEP_CLOSED      1: site_reopen.py opens the site after a migration, when no pod of the site runs
                   the previous image
  WAIT_SECONDS     for the database and Redis (120)
  MAINTENANCE_SETTLE_SECONDS  between turning on maintenance and the first check for jobs; default
                   65 from version-16 on (it caches the configuration for 60 s), 2 before
  JOBS_WAIT_SECONDS, CONNECTIONS_WAIT_SECONDS: see site_upgrade.py
  BENCH_DIR, TERMINATION_LOG

A migration is an upgrade: the site is closed, its jobs end, its database is backed up, then it is
migrated (see site_upgrade.py). With the previous image the Job loads the backup. With a third image
it loads the backup, and then migrates that. For another major version of the framework the open
site is checked first (see version_checks.py).

A restore closes the site in the same way (see site_restore.py, also for RESTORE_* and STORE_*).

The marker `sites/<site>/.app-operator.json` is written before creation starts. Its `state` changes
from `creating` to `complete` when the framework is installed. The Job discards only a site whose
marker has the same owner and the state `creating`, and only the database that it records: dbName on
dbHost and dbPort.
"""

import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from secrets import token_urlsafe
from typing import Any, TypedDict

import site_database
from atomic_files import write_json
from database_admin_client import AccessDenied, DatabaseNotFound
from database_admin_start import start_administrator_of_earlier_pod
from database_server import Server
from framework_cache import delete_asset_manifest, delete_site_keys
from framework_programs import (
    LOST_CONNECTION,
    ProgramFailed,
    bench_command,
    framework_env,
    run_program,
    script_command,
)
from image_apps import (
    apps_of_image,
    check_in_image,
    check_restorable,
    check_upgradable,
    code_record,
    major_of,
)
from image_patches import record_patches
from job_environment import json_array_env, json_object_env, number_env, text_env
from job_result import JobError, log, run_job, set_termination_message
from operator_constants import COMMON_CONFIG_FILE, MIGRATION_FAILED, RESTORE_FAILED
from site_access import MARKER
from site_locks import exclusive_site_lock
from site_queues import SiteQueues
from site_records import (
    CONFIG_FILE,
    check_apps_file,
    read_common_config,
    read_marker,
    read_site_config,
)
from site_restore import Restore
from site_state import (
    OWNER_KEY,
    SiteSettings,
    check_owner,
    database_record,
    is_begun_in_database,
    is_fresh,
    is_incomplete,
    update_site_config,
)
from site_tls import TLS_KEYS, remove_old_files, tls_config
from site_upgrade import CLOSED_KEYS, Upgrade
from version_checks import check_major_version
from volume_files import is_file, make_directory, read_json_value, remove_file

SITE_FOLDERS = ("public/files", "private/files", "private/backups", "locks", "logs")
STEPS = Path(__file__).with_name("framework_steps.py")
# What the steps read of the environment, besides what every program does.
STEP_VARIABLES = {
    "create": ("DB_TYPE", "DB_PORT", "DB_USER", "DB_PASSWORD", "ADMIN_PASSWORD"),
}
RESERVED_KEYS = {
    *("db_name", "db_user", "db_password", "db_type", "db_host", "db_port", "encryption_key"),
    *(OWNER_KEY, "pause_scheduler", "app_operator_resting"),
    *TLS_KEYS,
}
Versions = Mapping[str, str]


class SiteFacts(TypedDict):
    """What the step read-site finds."""

    apps: list[str]
    scheduler: bool


class InitSettings(SiteSettings):
    def __init__(self) -> None:
        super().__init__()
        self.db_password = text_env("DB_PASSWORD")
        self.admin_password = text_env("ADMIN_PASSWORD")
        self.encryption_key = text_env("ENCRYPTION_KEY")
        self.apps = json_array_env("SITE_APPS")
        self.config = json_object_env("SITE_CONFIG")
        self.revision = os.environ.get("SITE_REVISION", "")
        reserved = sorted(RESERVED_KEYS & set(self.config))
        if reserved:
            raise JobError("InvalidInput", f"SITE_CONFIG may not set {', '.join(reserved)}")


# --- programs of the framework ------------------------------------------------------------------


def run_step(settings: InitSettings, name: str, reason: str) -> Any:
    """The result of a step of framework_steps.py, which gets the secrets of that step only."""
    known = {
        "DB_TYPE": settings.db_type,
        "DB_PORT": str(settings.db_port),
        "DB_USER": settings.db_user,
        "DB_PASSWORD": settings.db_password,
        # Apps run their hooks while the site is created. `admin-password` sets the password.
        "ADMIN_PASSWORD": token_urlsafe(32),
    }
    secret = settings.admin_password if name == "admin-password" else ""
    env = {key: known[key] for key in STEP_VARIABLES.get(name, ())}
    check_files_of_framework(settings)
    with tempfile.TemporaryDirectory() as directory:
        result = Path(directory) / "result.json"
        env = framework_env({**env, "STEP_RESULT": str(result)})
        run_program(settings.sites, reason, [*script_command(STEPS), name], env, secret)
        if not is_file(result):
            raise JobError(reason, f"{name} ended without a result")
        return read_json_value(result)


def read_site(settings: InitSettings, reason: str = "SiteIncomplete") -> SiteFacts:
    facts: SiteFacts = run_step(settings, "read-site", reason)
    return facts


def run_bench(settings: InitSettings, reason: str, *arguments: str) -> None:
    """Runs a bench command without the program `bench`, which needs a user with a name."""
    check_files_of_framework(settings)
    command = bench_command("--site", settings.site_name, *arguments)
    run_program(settings.sites, reason, command, framework_env())


def check_files_of_framework(settings: InitSettings) -> None:
    """The framework opens these files as they are: it would follow a link, or wait for a FIFO."""
    check_apps_file(settings.sites)
    read_common_config(settings.sites)
    read_site_config(settings.site)


# --- waiting ------------------------------------------------------------------------------------


def wait_for_redis(settings: InitSettings) -> None:
    common = read_common_config(settings.sites)
    deadline = time.monotonic() + settings.wait_seconds
    for key in ("redis_cache", "redis_queue"):
        url = common.get(key)
        if not url:
            raise JobError(
                "BenchNotInitialized",
                f"{COMMON_CONFIG_FILE} has no {key}: the bench's init Job has not run",
            )
        while problem := redis_problem(key, url):
            if time.monotonic() >= deadline:
                raise problem
            log(f"waiting for Redis: {problem.reason}: {problem}")
            time.sleep(2)


def redis_problem(key: str, url: str) -> JobError | None:
    import redis

    try:
        redis.from_url(url, socket_timeout=5, socket_connect_timeout=5).ping()
        return None
    except redis.exceptions.BusyLoadingError as error:
        return JobError("RedisUnreachable", f"{key}: {error}")
    except (redis.exceptions.AuthenticationError, redis.exceptions.ResponseError) as error:
        return JobError("RedisAccessDenied", f"{key}: {error}")
    except (redis.exceptions.RedisError, OSError) as error:
        return JobError("RedisUnreachable", f"{key}: {type(error).__name__}")


# --- creation -----------------------------------------------------------------------------------


def site_credentials(settings: InitSettings, with_user: bool) -> dict[str, Any]:
    return {
        "db_name": settings.db_name,
        "db_password": settings.db_password,
        "db_type": settings.db_type,
        "db_host": settings.db_host,
        "db_port": settings.db_port,
        "encryption_key": settings.encryption_key,
        OWNER_KEY: settings.owner,
        **({"db_user": settings.db_user} if with_user else {}),
    }


def check_database_is_free(settings: InitSettings, database: Server) -> None:
    """Data of another owner is never overwritten: only the marker's database is the site's."""
    not_begun = f"{settings.site_name} was not begun in it; nothing was touched"
    if settings.has_root:
        if database.exists():
            raise JobError(
                "DatabaseExists",
                f"the database {settings.db_name} exists on {database.address}, and {not_begun}",
            )
    elif tables := database.tables():
        raise JobError(
            "DatabaseExists",
            f"the prepared database {settings.db_name} on {database.address} is not empty "
            f"({len(tables)} tables), and {not_begun}",
        )


def begin_site(
    settings: InitSettings, database: Server, repair: bool
) -> tuple[dict[str, bool], bool]:
    """Creates the directory with its marker.

    Returns the capabilities of the framework's version, and whether there is a site to repair: in
    another database than the marker's the site is new.
    """
    capabilities = run_step(settings, "capabilities", "FrameworkUnusable")
    if settings.db_user != settings.db_name and not capabilities["dbUser"]:
        raise JobError(
            "DatabaseUserUnsupported",
            f"this version of the framework needs the database's user ({settings.db_user}) to have "
            f"the name of the database ({settings.db_name})",
        )
    if not capabilities["noSetupDb"] and not settings.has_root:
        raise JobError(
            "NoRootRights",
            "this version of the framework cannot use a prepared database: "
            "set the administrator's login",
        )
    repair = repair and is_begun_in_database(settings)
    if not repair:
        check_database_is_free(settings, database)
    # Only reads: a right that is missing shows before anything is created.
    database.check_rights()
    make_directory(settings.site)
    marker = {
        "owner": settings.owner,
        "state": "creating",
        **database_record(settings),
        "revision": settings.revision,
    }
    write_json(settings.site / MARKER, marker)
    # It may name the database of an earlier attempt.
    remove_file(settings.site / CONFIG_FILE)
    return capabilities, repair


def create_database(
    settings: InitSettings, database: Server, repair: bool, capabilities: Mapping[str, bool]
) -> None:
    """Creates an empty database, and the site's configuration."""
    if not settings.has_root:
        database.empty()
    else:
        if repair:
            database.drop()
        database.create()
    credentials = site_credentials(settings, capabilities["dbUser"])
    # Before the framework connects for the first time.
    encryption = tls_config(settings.site, database.tls, {})
    update_site_config(settings.site, {**credentials, **encryption})


def create_site(settings: InitSettings, database: Server, repair: bool) -> SiteFacts:
    capabilities, repair = begin_site(settings, database, repair)
    create_database(settings, database, repair, capabilities)
    log(f"creating {settings.site_name}")
    run_step(settings, "create", "SiteCreationFailed")
    facts = read_site(settings, "SiteCreationFailed")
    code = code_record(settings.bench, apps_of_image(settings.bench), facts["apps"])
    marker = settings.site / MARKER
    write_json(marker, {**read_marker(settings.site), "state": "complete", "code": code})
    return facts


def create_from_backup(
    settings: InitSettings, database: Server, restore: Restore, repair: bool
) -> None:
    """Creates a site with an empty database, and fetches a backup. `converge` loads the backup."""
    capabilities, repair = begin_site(settings, database, repair)
    manifest, new = restore.fetch()
    create_database(settings, database, repair, capabilities)
    for folder in SITE_FOLDERS:
        make_directory(settings.site / folder)
    restore.record(manifest, new, None, state="complete")


# --- update of an existing site -----------------------------------------------------------------


def check_encryption_key(settings: InitSettings, config: Mapping[str, Any]) -> None:
    """The site's key never changes: stored passwords cannot be decrypted with another one."""
    key = config.get("encryption_key")
    if key and key != settings.encryption_key and not Restore(settings).is_known_key(key):
        raise JobError(
            "EncryptionKeyMismatch",
            f"the encryption key of {settings.site_name} is not the Secret's; put the site's key "
            "into the Secret",
        )


def check_complete(settings: InitSettings, database: Server) -> dict[str, Any]:
    """Fails unless the site's database can be used. Sets a changed password where possible."""
    name, address = settings.site_name, database.address
    config = read_site_config(settings.site)
    if not config.get("db_name"):
        raise JobError(
            "SiteIncomplete",
            f"{settings.site} has no site_config.json with a database, and the operator has not "
            "created it",
        )
    if config["db_name"] != settings.db_name:
        raise JobError(
            "DatabaseNameMismatch",
            f"{name} uses the database {config['db_name']}, not {settings.db_name}; "
            "nothing was touched",
        )
    check_encryption_key(settings, config)
    if settings.has_root and not database.exists():
        raise JobError(
            "SiteIncomplete",
            f"the files of {name} exist, but {address} has no database {settings.db_name}",
        )
    if is_incomplete(settings.site) and not is_begun_in_database(settings):
        # The database would be emptied for the backup that the site is created from.
        check_database_is_free(settings, database)
    # `db_password` is the present one if the Secret was replaced since.
    passwords = (settings.db_password, config.get("db_password", ""))
    site_database.check_recorded_server(settings, database, passwords)
    set_changed_password(settings, database)
    loading = (Upgrade(settings).state or {}).get("restoring")
    if not loading and not database.tables():
        raise JobError("SiteIncomplete", f"the database {settings.db_name} of {name} is empty")
    return config


def set_changed_password(settings: InitSettings, database: Server) -> None:
    """Gives the database's user the password of the Secret, if it has another one."""
    if database.user_can_connect():
        return
    if not settings.has_root:
        raise JobError(
            "DatabaseAccessDenied",
            f"{database.address} refuses {settings.db_user} on {settings.db_name}",
        )
    log(f"setting the database password of {settings.db_user}")
    database.set_user_password()
    update_site_config(settings.site, {"db_password": settings.db_password})


def install_missing_apps(settings: InitSettings, versions: Versions, facts: SiteFacts) -> SiteFacts:
    """Installs the wanted apps that the site does not have. Returns what the site then is."""
    marker = settings.site / MARKER
    interrupted = read_marker(settings.site).get("installing")
    if all(app in facts["apps"] and app != interrupted for app in settings.apps):
        return facts
    for app in run_step(settings, "apps-in-order", "AppInstallFailed"):
        # The framework lists an app as installed before its installation has ended. Only --force
        # completes the installation of a Job that was killed.
        force = app == interrupted
        if app not in versions or (app in facts["apps"] and not force):
            continue
        write_json(marker, {**read_marker(settings.site), "installing": app})
        log(f"installing {app}")
        options = ["--force"] if force else []
        run_bench(settings, "AppInstallFailed", "install-app", app, *options)
        before = facts["apps"]
        facts = read_site(settings)
        if app not in facts["apps"]:
            raise JobError("AppInstallFailed", f"{app} is not installed after install-app")
        state = {k: v for k, v in read_marker(settings.site).items() if k != "installing"}
        added = [name for name in facts["apps"] if name not in before or name == app]
        code = code_record(settings.bench, versions, added)
        write_json(marker, {**state, "code": {**state.get("code", {}), **code}})
    return facts


def settle_seconds(code: Mapping[str, str]) -> int:
    """How long running processes may use the configuration that they have read."""
    default = 65 if major_of(code.get("frappe", "")) >= 16 else 2
    return number_env("MAINTENANCE_SETTLE_SECONDS", default)


def check_no_old_workers(settings: InitSettings, code: Mapping[str, str]) -> None:
    """Without KEEP_CLOSED, no worker of a Dedicated site may run the previous image."""
    prefix = settings.config.get("bench_id")
    is_same_image = code.get("image") == os.environ.get("IMAGE", "")
    if is_same_image or not prefix or os.environ.get("KEEP_CLOSED") == "1":
        return
    if SiteQueues(settings, prefix).has_workers():
        raise JobError(
            "UpgradeUnknown",
            f"the data of {settings.site_name} is of {code.get('image')}, whose workers still run, "
            "but status.image does not name that image: use that image again first",
        )


def migrate(settings: InitSettings, upgrade: Upgrade, versions: Versions) -> SiteFacts | None:
    """Migrates the data to the image's code if it differs. Returns what the site then is, or None.

    Closes the site, backs it up, and migrates it. The site stays closed.
    """
    image = os.environ.get("IMAGE", "")
    if upgrade.must_restore(image):
        load_backup(settings, upgrade)
    code = read_marker(settings.site).get("code", {})
    recorded = [app for app in code if app != "image"]
    apps = recorded or read_site(settings)["apps"]
    current = code_record(settings.bench, versions, apps)
    if code == current and all(app in versions for app in apps):
        return None  # an upgrade in progress is either undone or almost complete
    # Checked while the site is open, so that a failure changes nothing.
    check_upgradable(versions, settings.site_name, code)
    check_no_old_workers(settings, code)
    if upgrade.state is None:
        wanted = list(dict.fromkeys([*apps, *settings.apps]))
        check_major_version(settings, upgrade.database, versions, code, wanted)
    upgrade.close(image, settle_seconds(code))
    closed = upgrade.closed_message
    upgrade.record({"changed": True})
    set_termination_message(
        MIGRATION_FAILED, f"{closed}: the Job was killed, for example by its memory limit"
    )
    log(f"migrating {settings.site_name}")
    try:
        run_bench(settings, MIGRATION_FAILED, "migrate")
        facts = read_site(settings)
    except JobError as error:
        raise JobError(MIGRATION_FAILED, f"{closed}: {error}") from None
    delete_asset_manifest(redis_cache_url(settings))
    code = code_record(settings.bench, versions, facts["apps"])
    upgrade.record({"changed": None, "migrated": True}, code=code)
    return facts


def load_backup(settings: InitSettings, upgrade: Upgrade) -> None:
    closed = upgrade.closed_message
    set_termination_message(
        RESTORE_FAILED, f"{closed}: the Job was killed while it loaded {upgrade.backup}"
    )
    clear_cache(settings)
    try:
        upgrade.restore()
    except Exception as error:  # also of a damaged dump, or of the database's driver
        raise JobError(RESTORE_FAILED, f"{upgrade.closed_message}: {error}") from None


def redis_cache_url(settings: InitSettings) -> str:
    return str(read_common_config(settings.sites).get("redis_cache"))


def clear_cache(settings: InitSettings) -> None:
    import redis

    try:
        delete_site_keys(redis_cache_url(settings), settings.db_name)
    except (redis.exceptions.RedisError, OSError) as error:
        raise JobError("RedisUnreachable", f"redis_cache: {type(error).__name__}") from None


def converge(
    settings: InitSettings,
    database: Server,
    versions: Versions,
    restore: Restore,
    created: SiteFacts | None = None,
) -> dict[str, Any]:
    """Brings a site to the wanted configuration, data and code.

    `created` is what this Job has created; None: the site existed.
    """
    config = check_complete(settings, database)
    marker = settings.site / MARKER
    upgrade = Upgrade(settings, database)
    state = read_marker(settings.site)
    complete = {"owner": settings.owner, "state": "complete", "revision": settings.revision}
    write_json(marker, {**state, **complete, **database_record(settings)})
    encryption = tls_config(settings.site, database.tls, config)
    wanted = {**wanted_config(settings, config, upgrade.state is not None), **encryption}
    remove_old_files(settings.site, {**update_site_config(settings.site, wanted)})
    restore.prepare(settle_seconds(state.get("code", {})))
    migrated = migrate(settings, upgrade, versions)
    was_closed = upgrade.state is not None
    try:
        facts = install_missing_apps(settings, versions, migrated or created or read_site(settings))
        check_in_image(versions, settings.site_name, facts["apps"])
        set_admin_password(settings)
        enable_scheduler(settings, facts)
    except JobError as error:
        if not was_closed or not (upgrade.state or {}).get("migrated"):
            raise
        message = f"{upgrade.closed_message}: {error.reason}: {error}"
        raise JobError(MIGRATION_FAILED, message) from None
    record_patches(settings.bench, settings.site, facts["apps"])
    restore.finish()
    if was_closed and os.environ.get("KEEP_CLOSED") != "1":
        upgrade.open(settings.config)
    restore.remove_leftovers()
    apps = {app: versions[app] for app in facts["apps"]}
    return {"apps": apps, "migrated": migrated is not None}


def wanted_config(
    settings: InitSettings, config: Mapping[str, Any], is_closed: bool
) -> dict[str, Any]:
    wanted = {**settings.config, **site_credentials(settings, "db_user" in config)}
    wanted["encryption_key"] = config.get("encryption_key") or settings.encryption_key
    if "app_operator_resting" in config:
        # The AppSite was deleted with its data retained, and created again.
        opened = {"pause_scheduler": None, "app_operator_resting": None}
        wanted = {"maintenance_mode": 0, **wanted, **opened}
    if is_closed:  # the site stays closed until its upgrade has ended
        wanted = {k: v for k, v in wanted.items() if k not in CLOSED_KEYS}
    return wanted


def set_admin_password(settings: InitSettings) -> None:
    if run_step(settings, "admin-password", "AdminPasswordFailed"):
        log("set the Administrator's password")


def enable_scheduler(settings: InitSettings, facts: SiteFacts) -> None:
    if not facts["scheduler"]:
        run_step(settings, "enable-scheduler", "SchedulerFailed")
        log("enabled the scheduler")


# --- the Job ------------------------------------------------------------------------------------


@contextmanager
def reopen_on_error(settings: InitSettings) -> Iterator[None]:
    """On an error, opens a site that a killed Job was closing."""
    check_owner(settings.site, settings.owner)
    try:
        yield
    except JobError as error:
        upgrade = Upgrade(settings)
        if upgrade.state is None or "backup" in upgrade.state:
            raise
        upgrade.open()
        message = f"{error}; {settings.site_name} is open as before"
        raise JobError(error.reason, message) from None


def main() -> dict[str, Any]:
    start_administrator_of_earlier_pod()
    settings = InitSettings()
    versions = apps_of_image(settings.bench)
    with exclusive_site_lock(settings), reopen_on_error(settings):
        missing = [str(app) for app in settings.apps if app not in versions]
        if missing:
            raise JobError(
                "AppNotInImage",
                f"not in the image: {', '.join(missing)}; the image holds: {', '.join(versions)}",
            )
        database = site_database.database_server(settings)
        database.wait()
        wait_for_redis(settings)
        return create_or_update(settings, database, versions)


def create_or_update(
    settings: InitSettings, database: Server, versions: Versions
) -> dict[str, Any]:
    restore = Restore(settings, database, partial(check_restorable, versions))
    restore.discard_unwanted()
    state = read_marker(settings.site).get("state")
    creates = is_fresh(settings.site) or state == "creating"
    started = time.monotonic()
    activity = f"while {settings.site_name} was {'created' if creates else 'updated'}"
    created = None
    try:
        if creates and restore.is_wanted:
            create_from_backup(settings, database, restore, repair=state == "creating")
        elif creates:
            created = create_site(settings, database, repair=state == "creating")
        outcome = converge(settings, database, versions, restore, created)
        if restore.may_begin():  # converge has only undone an earlier restore
            outcome = converge(settings, database, versions, restore)
        return {"created": creates, **outcome, **restore.outcome()}
    except ConnectionError as error:
        message = f"{database.address}, {activity}: {error}"
        raise JobError("DatabaseConnectionLost", message) from None
    except ProgramFailed as error:
        if error.reason == MIGRATION_FAILED or not is_connection_lost(database, error, started):
            raise
        message = f"{database.address}, {activity}: {error}"
        raise JobError("DatabaseConnectionLost", message) from None


def is_connection_lost(database: Server, error: ProgramFailed, started: float) -> bool:
    """Whether a program failed because its connection to the database was lost.

    The program's output may not show the error of the database's client: then a server that is
    unreachable, or has restarted since, is taken as the cause.
    """
    if any(LOST_CONNECTION.search(line) for line in error.output):
        return True
    try:
        return database.uptime_seconds() < time.monotonic() - started
    except ConnectionError:
        return True
    except (AccessDenied, DatabaseNotFound):
        return False


if __name__ == "__main__":
    run_job(main)
