"""The environment variables of site_init.py, validated."""

import os
from typing import Any

from job_environment import json_array_env, json_object_env, secret_env
from job_result import JobError
from site_records import read_site_config
from site_state import OWNER_KEY, SiteSettings
from site_tls import TLS_KEYS

RESERVED_KEYS = {
    *("db_name", "db_user", "db_password", "db_type", "db_host", "db_port", "encryption_key"),
    *(OWNER_KEY, "pause_scheduler", "app_operator_resting"),
    *TLS_KEYS,
}


class InitSettings(SiteSettings):
    def __init__(self) -> None:
        super().__init__()
        self.adopt = os.environ.get("ADOPT") == "1"
        self.db_password = self.stored("DB_PASSWORD", "db_password")
        # Without it, the Administrator of a site that is taken over keeps the password.
        self.admin_password = secret_env("ADMIN_PASSWORD", "" if self.adopt else None)
        self.encryption_key = secret_env("ENCRYPTION_KEY")
        self.apps = json_array_env("SITE_APPS")
        self.config = json_object_env("SITE_CONFIG")
        self.revision = os.environ.get("SITE_REVISION", "")
        self.image = os.environ.get("IMAGE", "")
        self.keep_closed = os.environ.get("KEEP_CLOSED") == "1"
        reserved = sorted(RESERVED_KEYS & set(self.config))
        if reserved:
            raise JobError("InvalidInput", f"SITE_CONFIG may not set {', '.join(reserved)}")

    def stored(self, name: str, key: str) -> str:
        """A secret of the environment, or of the configuration of a site that is taken over."""
        value = secret_env(name, "" if self.adopt else None)
        return value or str(read_site_config(self.site).get(key) or "")

    def credentials(self, with_user: bool) -> dict[str, Any]:
        """The keys of site_config.json that the operator always sets."""
        return {
            "db_name": self.db_name,
            "db_password": self.db_password,
            "db_type": self.db_type,
            "db_host": self.db_host,
            "db_port": self.db_port,
            "encryption_key": self.encryption_key,
            OWNER_KEY: self.owner,
            **({"db_user": self.db_user} if with_user else {}),
        }
