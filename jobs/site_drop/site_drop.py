"""Drops a site's database and files, or disables the site and retains its data.

Runs as the `<site>-drop` Job. It may be killed at any point and repeated.

Environment
  SITE_NAME, SITE_OWNER, DB_TYPE, DB_HOST, DB_PORT, DB_NAME, DB_USER
  DB_ADMIN_SOCKET  of database_admin.py; absent: a prepared database, which is retained
  KEEP_DATA        1: nothing is dropped; the site gets no scheduled jobs and shows its maintenance
                   page, until a site_init.py of the same owner enables it
  WAS_READY        1: the site was complete once, so the database is its own even if its files do
                   not exist
  DB_RECORDED_HOST, DB_RECORDED_PORT  the server that the status of the AppSite names, if it is not
                   the one of DB_HOST and DB_PORT
  WAIT_SECONDS, BENCH_DIR, TERMINATION_LOG

The Job refuses a directory of another owner or of none, and a database that the site does not
record. On another server than the recorded one, it drops the database only if the site's password
is accepted there. Without a record in the files, it drops no database if the status names another
server. It drops the database first: the files have the record of the site's database, so a repeated
Job still finds it.
"""

import os
from typing import Any

import recorded_server
from atomic_files import write_json
from database_admin_start import start_administrator_of_earlier_pod
from database_server import Server
from job_environment import address_of
from job_result import JobError, log, run_job
from site_access import MARKER
from site_locks import exclusive_site_lock
from site_records import CONFIG_FILE, read_marker, read_site_config
from site_state import (
    RETAINED_SITE_CONFIG,
    SiteSettings,
    check_owner,
    database_record,
    is_begun_in_database,
    is_fresh,
    is_incomplete,
    recorded_database,
    update_site_config,
)
from volume_files import exists, is_directory, is_file, remove_file, remove_tree, rename

OTHERWISE = ", or set the annotation skip-drop of the AppSite"


def check_ownership(settings: SiteSettings) -> None:
    """Fails unless the directory and its recorded database are the operator's, if they exist."""
    if is_fresh(settings.site):
        return
    if check_owner(settings.site, settings.owner) is None:
        raise JobError(
            "SiteNotOwned",
            f"{settings.site} records no owner: the operator has not created it; "
            "nothing was touched",
        )
    records = (
        read_site_config(settings.site).get("db_name"),
        read_marker(settings.site).get("dbName"),
    )
    for recorded in records:
        if recorded is not None and recorded != settings.db_name:
            raise JobError(
                "DatabaseNameMismatch",
                f"{settings.site_name} records the database {recorded}, not {settings.db_name}; "
                "nothing was touched",
            )


def has_database(settings: SiteSettings) -> bool:
    """Whether the site has a database on this server.

    It has none when its creation was refused because the database belongs to another site, or when
    its creation began on another server than the bench has now.
    """
    if is_fresh(settings.site):
        return os.environ.get("WAS_READY") == "1"
    return not is_incomplete(settings.site) or is_begun_in_database(settings)


def check_server_of_status(settings: SiteSettings) -> None:
    """Fails if the status names another server, and the files name none."""
    host, port = os.environ.get("DB_RECORDED_HOST"), os.environ.get("DB_RECORDED_PORT")
    if not host or recorded_database(settings)["dbHost"]:
        return
    recorded = address_of(host, port)
    raise JobError(
        "DatabaseServerMismatch",
        f"the database {settings.db_name} of {settings.site_name} is on {recorded} according to "
        "the status of its AppSite, and the site has no files that name "
        f"{address_of(settings.db_host, settings.db_port)}: a database {settings.db_name} there "
        "may belong to another site; nothing was touched; set the server back to "
        f"{recorded}{OTHERWISE}",
    )


def check_server(settings: SiteSettings, database: Server) -> None:
    """Fails if the site's database is on another server than the Job's."""
    if is_fresh(settings.site):
        return
    passwords = [read_site_config(settings.site).get("db_password", "")]
    if recorded_server.check_recorded_server(settings, database, passwords, OTHERWISE):
        # For a repeated Job: the password cannot be checked once the user is dropped.
        marker = {**read_marker(settings.site), **database_record(settings)}
        write_json(settings.site / MARKER, marker)


def remove_files(settings: SiteSettings) -> bool:
    """Renames the directory before it removes it, so that no half-removed site is visible."""
    trash = settings.workspace / f"dropped-{settings.site_name}"
    remove_tree(trash)
    if not exists(settings.site):
        return False
    rename(settings.site, trash)
    if is_directory(trash):
        remove_file(trash / CONFIG_FILE)
    remove_tree(trash)
    return True


def retain_data(settings: SiteSettings) -> dict[str, Any]:
    """Disables the site: the scheduler runs the jobs of every site on the volume."""
    if not is_file(settings.site / CONFIG_FILE):
        return {"resting": False}
    update_site_config(settings.site, RETAINED_SITE_CONFIG)
    log(f"{settings.site_name} is disabled: its data is retained")
    return {"resting": True}


def drop_database(settings: SiteSettings) -> bool:
    """Drops the site's own database. Returns whether it did."""
    if not settings.has_root:
        log(f"no administrator's login: the prepared database {settings.db_name} is retained")
        return False
    if not has_database(settings):
        log(
            f"{settings.site_name} has no database on this server: "
            f"a database {settings.db_name} is retained"
        )
        return False
    check_server_of_status(settings)
    database = recorded_server.database_server(settings)
    database.wait()
    try:
        check_server(settings, database)
        database.drop()
    except ConnectionError as error:
        raise JobError("DatabaseUnreachable", f"{database.address}: {error}") from None
    log(f"dropped the database {settings.db_name} and its user")
    return True


def main() -> dict[str, Any]:
    start_administrator_of_earlier_pod()
    settings = SiteSettings()
    if not settings.sites.is_dir():
        raise JobError("BenchMissing", f"{settings.sites} does not exist")
    with exclusive_site_lock(settings):
        check_ownership(settings)
        if os.environ.get("KEEP_DATA") == "1":
            return retain_data(settings)
        return {
            "databaseDropped": drop_database(settings),
            "filesRemoved": remove_files(settings),
        }


if __name__ == "__main__":
    run_job(main)
