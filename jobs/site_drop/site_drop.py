"""Drops a site's database and files, or puts the site to rest. Runs as the `<site>-drop` Job; what is gone already is fine.

Environment: SITE_NAME, SITE_OWNER, DB_TYPE, DB_HOST, DB_PORT, DB_NAME, DB_USER, DB_ROOT_USER, DB_ROOT_PASSWORD
(absent: a prepared database, which stays: whoever prepared it owns it), WAIT_SECONDS, BENCH_DIR, TERMINATION_LOG,
KEEP_DATA (1: nothing is dropped; the site gets no more scheduled jobs and shows its maintenance page, until a site_init.py
of the same owner wakes it), WAS_READY (1: the site was complete once, so the database is its own also where its files are gone).

Refuses a directory that belongs to another owner or to none, and a database that the site does not record. The
database goes first: the files hold the record of what belongs to the site, so a killed run still finds it.
"""

import os
import shutil

import site_database
from site_common import (
    MARKER,
    RESTING,
    Refused,
    Settings,
    check_owner,
    is_begun_there,
    is_fresh,
    is_half_made,
    only_one,
    read_json,
    run_job,
    say,
    update_site_config,
)


def check_is_ours(settings):
    """Whether there is a directory, and that it and its recorded database are the ones to drop."""
    if is_fresh(settings):
        return
    if check_owner(settings) is None:
        raise Refused("SiteNotOwned", f"{settings.site} records no owner: it was not made by this operator; nothing was touched")
    for file, key in (("site_config.json", "db_name"), (MARKER, "dbName")):
        recorded = read_json(settings.site / file).get(key)
        if recorded is not None and recorded != settings.db_name:
            raise Refused(
                "DatabaseNameMismatch", f"{settings.site_name} records the database {recorded}, not {settings.db_name}; nothing was touched"
            )


def has_database(settings):
    """
    Whether there is a database of the site's own. One that was refused, since somebody else's has the name, has none; nor
    has one that was begun on another server than the bench has now.
    """
    if is_fresh(settings):
        return os.environ.get("WAS_READY") == "1"
    return not is_half_made(settings) or is_begun_there(settings)


def remove_files(settings):
    """Moves the directory aside in one step, so that no half-removed site is ever seen, then removes it."""
    trash = settings.workspace / f"dropped-{settings.site_name}"
    shutil.rmtree(trash, ignore_errors=True)
    if settings.site.exists():
        os.rename(settings.site, trash)
        (trash / "site_config.json").unlink(missing_ok=True)
    if trash.exists():
        shutil.rmtree(trash)
        return True
    return False


def rest(settings):
    """The bench's scheduler works through every site that it finds, also one that nobody runs any more."""
    if not (settings.site / "site_config.json").exists():
        return {"resting": False}
    update_site_config(settings, RESTING)
    say(f"{settings.site_name} rests: its data stays")
    return {"resting": True}


def main():
    settings = Settings()
    if not settings.sites.is_dir():
        raise Refused("BenchMissing", f"{settings.sites} is not there")
    with only_one(settings):
        check_is_ours(settings)
        if os.environ.get("KEEP_DATA") == "1":
            return rest(settings)
        drops = settings.has_root and has_database(settings)
        if drops:
            database = site_database.server(settings)
            database.wait()
            try:
                database.drop()
            except ConnectionError as error:
                raise Refused("DatabaseUnreachable", f"{database.address}: {error}") from None
            say(f"dropped the database {settings.db_name} and its user")
        elif settings.has_root:
            say(f"{settings.site_name} has no database here: one that is named {settings.db_name} stays")
        else:
            say(f"no administrator's login: the prepared database {settings.db_name} stays")
        return {"databaseDropped": drops, "filesRemoved": remove_files(settings)}


if __name__ == "__main__":
    run_job(main)
