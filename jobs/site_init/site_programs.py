"""Runs programs of the framework in a site: steps of framework_steps.py, and bench commands."""

import tempfile
from pathlib import Path
from secrets import token_urlsafe
from typing import Any, TypedDict

from framework_programs import bench_command, framework_env, run_program, script_command
from init_settings import InitSettings
from job_result import JobError
from site_records import check_framework_files
from volume_files import is_file, read_json_value

STEPS = Path(__file__).with_name("framework_steps.py")


class SiteFacts(TypedDict):
    """What the step read-site finds."""

    apps: list[str]
    scheduler: bool


def run_step(settings: InitSettings, name: str, reason: str) -> Any:
    """The result of a step of framework_steps.py, which gets the secrets of that step only."""
    secret = settings.admin_password if name == "admin-password" else ""
    further = creation_env(settings) if name == "create" else {}
    check_framework_files(settings.site)
    with tempfile.TemporaryDirectory() as directory:
        result = Path(directory) / "result.json"
        env = framework_env({**further, "STEP_RESULT": str(result)})
        run_program(settings.sites, reason, [*script_command(STEPS), name], env, secret)
        if not is_file(result):
            raise JobError(reason, f"{name} ended without a result")
        return read_json_value(result)


def creation_env(settings: InitSettings) -> dict[str, str]:
    """What the step `create` reads of the environment, besides what every program does."""
    return {
        "DB_TYPE": settings.db_type,
        "DB_PORT": str(settings.db_port),
        "DB_USER": settings.db_user,
        "DB_PASSWORD": settings.db_password,
        # Apps run their hooks while the site is created. `admin-password` sets the password.
        "ADMIN_PASSWORD": token_urlsafe(32),
    }


def read_site(settings: InitSettings, reason: str = "SiteIncomplete") -> SiteFacts:
    facts: SiteFacts = run_step(settings, "read-site", reason)
    return facts


def run_bench(settings: InitSettings, reason: str, *arguments: str) -> None:
    """Runs a bench command without the program `bench`, which needs a user with a name."""
    check_framework_files(settings.site)
    command = bench_command("--site", settings.site_name, *arguments)
    run_program(settings.sites, reason, command, framework_env())
