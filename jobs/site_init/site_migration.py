"""Migrates a site's data to the code of the image, or loads a backup of it."""

from collections.abc import Mapping

from database_server import Server
from framework_cache import delete_asset_manifest, delete_site_keys
from image_apps import Versions, check_upgradable, code_record, major_of, version_number
from image_patches import patches_of, without_tag
from init_settings import InitSettings
from job_environment import number_env
from job_result import JobError, log, set_termination_message
from operator_constants import MIGRATION_FAILED, RESTORE_FAILED
from redis_servers import redis_unreachable
from site_programs import SiteFacts, read_site, run_bench
from site_queues import SiteQueues
from site_records import read_common_config, read_marker
from site_state import update_marker
from site_upgrade import Upgrade
from version_checks import check_major_version


def settle_seconds(code: Mapping[str, str]) -> int:
    """How long running processes may use the configuration that they have read."""
    default = 65 if major_of(code.get("frappe", "")) >= 16 else 2
    return number_env("MAINTENANCE_SETTLE_SECONDS", default)


def check_no_old_workers(settings: InitSettings, code: Mapping[str, str]) -> None:
    """Without KEEP_CLOSED, no worker of a Dedicated site may run the previous image."""
    prefix = settings.config.get("bench_id")
    is_same_image = code.get("image") == settings.image
    if is_same_image or not prefix or settings.keep_closed:
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
    if upgrade.must_restore(settings.image):
        load_backup(settings, upgrade)
    code = read_marker(settings.site).get("code", {})
    if not code and settings.adopt:
        code = adopted_code(settings, upgrade.database, versions)
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
    upgrade.close(settings.image, settle_seconds(code))
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


def adopted_code(settings: InitSettings, database: Server, versions: Versions) -> Versions:
    """The code of a site's data that the operator takes over, by its database.

    It is the image's code, which is then recorded, where nothing has to be migrated. The framework
    records no versions before a site's first migration: then no patch may be missing.
    """
    recorded = database.app_versions()
    apps = list(recorded) or read_site(settings)["apps"]
    is_current = all(app in versions for app in apps) and (
        all(version_number(versions[app]) == version_number(recorded[app]) for app in apps)
        if recorded
        else set(patches_of(settings.bench, apps))
        <= {without_tag(patch) for patch, _ in database.patch_log()}
    )
    if not is_current:
        return recorded
    code = code_record(settings.bench, versions, apps)
    update_marker(settings.site, {"code": code})
    log(f"took {settings.site_name} over")
    return code


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
        raise redis_unreachable("redis_cache", error) from None
