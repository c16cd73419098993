"""Settings of a Job from its environment variables."""

import json
import os
import re
from pathlib import Path
from typing import Any

from job_result import JobError
from job_secrets import stored_value
from operator_constants import BENCH_DIR
from secret_text import secret_text

SITE_NAME = re.compile(r"^(?!.*\.\.)[a-z0-9][a-z0-9._-]{0,252}$")
# Directories below `sites/` that are no sites.
RESERVED_DIRECTORIES = ("assets", "archived_sites")


def bench_dir() -> Path:
    return Path(os.environ.get("BENCH_DIR") or BENCH_DIR)


def address_of(host: str, port: object) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def text_env(name: str, default: str | None = None) -> str:
    """The value of a variable. It is required when it has no default."""
    value = os.environ.get(name, "")
    if value:
        return value
    if default is None:
        raise JobError("InvalidInput", f"{name} is not set")
    return default


def secret_env(name: str, default: str | None = None) -> str:
    """The text of a variable whose value is of a Secret. It is required when it has no default."""
    value = stored_value(name)
    if value is None:
        return text_env(name, default)
    source = str(dict(json_array_env("ENV_SOURCES")).get(name, name))
    text = secret_text(value, source)
    if not text and default is None:
        raise JobError("SecretInvalid", f"{source} is empty")
    return text or default or ""


def json_object_env(name: str) -> dict[str, Any]:
    value = _json_env(name, {})
    if not isinstance(value, dict):
        raise JobError("InvalidInput", f"{name} must be a JSON object")
    return value


def json_array_env(name: str) -> list[Any]:
    value = _json_env(name, [])
    if not isinstance(value, list):
        raise JobError("InvalidInput", f"{name} must be a JSON array")
    return value


def _json_env(name: str, default: object) -> object:
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    try:
        return json.loads(text)
    except ValueError as error:
        raise JobError("InvalidInput", f"{name} is not JSON: {error}") from None


def number_env(name: str, default: int, unit: str = "seconds") -> int:
    text = os.environ.get(name, "").strip()
    if text and not text.isdigit():
        raise JobError("InvalidInput", f"{name} must be a number of {unit}, got {text!r}")
    return int(text) if text else default


def site_name_env() -> str:
    name = text_env("SITE_NAME")
    if not SITE_NAME.match(name):
        raise JobError("InvalidInput", f"SITE_NAME {name!r} is not a host name")
    return name


class SiteLocation:
    """The directories of the site that SITE_NAME names."""

    def __init__(self) -> None:
        self.bench = bench_dir()
        self.sites = self.bench / "sites"
        self.site_name = site_name_env()
        if self.site_name in RESERVED_DIRECTORIES:
            raise JobError("InvalidInput", f"SITE_NAME {self.site_name!r} is not a host name")
        self.site = self.sites / self.site_name
        # The operator's own files on the volume: locks, and directories that are being removed.
        self.workspace = self.sites / ".app-operator"
