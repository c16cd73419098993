"""Creates a site: its directory, its empty database, and what the framework or a backup puts there.

The marker is written before anything else. A repeated Job discards what a killed one has created.
"""

from collections.abc import Mapping

from atomic_files import write_json
from database_server import Server
from image_apps import apps_of_image, code_record
from init_settings import InitSettings
from job_result import JobError, log
from site_access import MARKER
from site_programs import SiteFacts, read_site, run_step
from site_records import CONFIG_FILE
from site_restore import Restore
from site_state import database_record, is_begun_in_database, update_marker, update_site_config
from site_tls import tls_config
from volume_files import make_directory, remove_file

SITE_FOLDERS = ("public/files", "private/files", "private/backups", "locks", "logs")


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
    # Only reads: what is missing shows before anything is created.
    database.check_client()
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
    if settings.has_root:
        if repair:
            database.drop()
        database.create()
    elif repair:
        database.empty()
    credentials = settings.credentials(capabilities["dbUser"])
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
    update_marker(settings.site, {"state": "complete", "code": code})
    return facts


def create_from_backup(
    settings: InitSettings, database: Server, restore: Restore, repair: bool
) -> None:
    """Creates a site with an empty database, and fetches a backup. `converge` loads the backup."""
    capabilities, repair = begin_site(settings, database, repair)
    manifest, new = restore.fetch()
    create_database(settings, database, repair, capabilities)
    manifest = restore.inspect(manifest, new)
    for folder in SITE_FOLDERS:
        make_directory(settings.site / folder)
    restore.record(manifest, new, None, state="complete")
