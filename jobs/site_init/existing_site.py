"""What an existing site must have: a database that can be used, and its configuration."""

from collections.abc import Mapping
from typing import Any

from database_server import Server
from init_settings import InitSettings
from job_environment import secret_env
from job_result import JobError, log
from recorded_server import check_recorded_server
from site_creation import check_database_is_free
from site_records import read_common_config, read_site_config
from site_restore import Restore
from site_state import check_owner, is_begun_in_database, is_incomplete, update_site_config
from site_upgrade import CLOSED_KEYS, Upgrade


def check_encryption_key(settings: InitSettings, config: Mapping[str, Any]) -> None:
    """The site's key never changes: stored passwords cannot be decrypted with another one."""
    if settings.adopt:
        return  # the site keeps its own key, which no Secret has
    key = config.get("encryption_key")
    # Earlier releases wrote the line break at the end of the Secret's value, which the key ignores.
    if key and key.strip() != settings.encryption_key and not Restore(settings).is_known_key(key):
        raise JobError(
            "EncryptionKeyMismatch",
            f"the encryption key of {settings.site_name} is not the Secret's; put the site's key "
            "into the Secret",
        )


def check_database_name(settings: InitSettings, config: Mapping[str, Any]) -> None:
    if config["db_name"] != settings.db_name:
        raise JobError(
            "DatabaseNameMismatch",
            f"{settings.site_name} uses the database {config['db_name']}, not {settings.db_name}; "
            "nothing was touched",
        )


def check_adoption(settings: InitSettings) -> None:
    """What was not made by the operator is taken over where the spec asks for it, never created.

    Only reads. Files and database of another AppSite are refused by their owner before.
    """
    site, name = settings.site, settings.site_name
    config = read_site_config(site)
    if not settings.adopt:
        if config.get("db_name") and not check_owner(site, settings.owner):
            raise JobError(
                "SiteNotOwned",
                f"the folder of {name} has a site that the operator has not made; to take it over, "
                "set spec.adopt; nothing was touched",
            )
        return
    if not config.get("db_name"):
        raise JobError(
            "SiteMissing",
            f"spec.adopt is true, but {site} has no site_config.json with a database: there is "
            "nothing to take over, and nothing was created",
        )
    if is_incomplete(site):
        raise JobError(
            "SiteIncomplete",
            f"{name} is being created by the operator: spec.adopt is for a site that exists; "
            "remove it",
        )
    check_database_name(settings, config)
    if config.get("db_user", settings.db_user) != settings.db_user:
        raise JobError(
            "DatabaseUserUnsupported",
            f"the database's user of {name} is {config['db_user']}: it needs the name of the "
            f"database ({settings.db_name}); nothing was touched",
        )
    check_adopted_server(settings, config)
    if not settings.db_password:
        raise JobError(
            "SiteIncomplete",
            f"{site}/site_config.json has no db_password: add it, or set spec.dbConfig.secretRef",
        )


def check_adopted_server(settings: InitSettings, config: Mapping[str, Any]) -> None:
    """A password of the site's own configuration is sent to no other server than the site's."""
    host = config.get("db_host") or read_common_config(settings.sites).get("db_host")
    if secret_env("DB_PASSWORD", "") or host == settings.db_host:
        return
    raise JobError(
        "DatabaseServerMismatch",
        f"the database of {settings.site_name} is on {host}, not on {settings.db_host}: write "
        "spec.dbConfig.host as there, or set spec.dbConfig.secretRef; nothing was touched",
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
    check_database_name(settings, config)
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
    check_recorded_server(settings, database, passwords)
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


def wanted_config(
    settings: InitSettings, config: Mapping[str, Any], is_closed: bool
) -> dict[str, Any]:
    wanted = {**settings.config, **settings.credentials("db_user" in config)}
    wanted["encryption_key"] = config.get("encryption_key") or settings.encryption_key
    if "app_operator_resting" in config:
        # The AppSite was deleted with its data retained, and created again.
        opened = {"pause_scheduler": None, "app_operator_resting": None}
        wanted = {"maintenance_mode": 0, **wanted, **opened}
    if is_closed:  # the site stays closed until its upgrade has ended
        wanted = {k: v for k, v in wanted.items() if k not in CLOSED_KEYS}
    return wanted
