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
  ADOPT            1: the site exists, and the operator has not made it: it is taken over with its
                   files, its database and its keys, and never created. Then DB_PASSWORD (by default
                   that of site_config.json) and ADMIN_PASSWORD (by default not set) are optional
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

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from app_installation import install_missing_apps
from database_admin_client import AccessDenied, DatabaseNotFound
from database_admin_start import start_administrator_of_earlier_pod
from database_server import Server
from existing_site import check_adoption, check_complete, wanted_config
from framework_programs import LOST_CONNECTION, ProgramFailed
from image_apps import Versions, apps_of_image, check_in_image, check_restorable, check_wanted
from image_patches import record_patches
from init_settings import InitSettings
from job_result import JobError, log, run_job
from operator_constants import MIGRATION_FAILED
from recorded_server import database_server
from redis_servers import wait_for_redis
from site_creation import create_from_backup, create_site
from site_locks import exclusive_site_lock
from site_migration import migrate, settle_seconds
from site_programs import SiteFacts, read_site, run_step
from site_records import read_marker
from site_restore import Restore
from site_state import check_owner, database_record, is_fresh, update_marker, update_site_config
from site_tls import remove_old_files, tls_config
from site_upgrade import Upgrade


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
    upgrade = Upgrade(settings, database)
    state = read_marker(settings.site)
    complete = {"owner": settings.owner, "state": "complete", "revision": settings.revision}
    update_marker(settings.site, {**complete, **database_record(settings)})
    encryption = tls_config(settings.site, database.tls, config)
    wanted = {**wanted_config(settings, config, upgrade.state is not None), **encryption}
    remove_old_files(settings.site, update_site_config(settings.site, wanted))
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
    if was_closed and not settings.keep_closed:
        upgrade.open(settings.config)
    restore.remove_leftovers()
    apps = {app: versions[app] for app in facts["apps"]}
    return {"apps": apps, "migrated": migrated is not None}


def set_admin_password(settings: InitSettings) -> None:
    if not settings.admin_password:
        return
    if run_step(settings, "admin-password", "AdminPasswordFailed"):
        log("set the Administrator's password")


def enable_scheduler(settings: InitSettings, facts: SiteFacts) -> None:
    # A site that is taken over keeps its setting: it may be a copy that must not send mails.
    if not facts["scheduler"] and not settings.adopt:
        run_step(settings, "enable-scheduler", "SchedulerFailed")
        log("enabled the scheduler")


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
        check_wanted(versions, settings.apps)
        check_adoption(settings)
        database = database_server(settings)
        database.wait()
        wait_for_redis(settings.sites, settings.wait_seconds)
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
