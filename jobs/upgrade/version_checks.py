"""What is checked before a site is closed for another major version of the framework.

A check that fails leaves the site open on its previous image. An upgrade within a major version is
not checked, so it takes no longer.
"""

import ast
import importlib
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from database_server import Server
from image_apps import Versions, app_name, image_text, version_number
from image_patches import patches_of, recorded_patches, without_tag
from job_result import JobError, all_of, log
from site_state import SiteSettings
from volume_files import free_bytes

# Older servers are not supported by version-15 and version-16: `check_compatible_versions` of
# frappe/database/mariadb/setup_db.py, which only new sites run.
MINIMUM_MARIADB = (10, 6)
# An upgrade keeps the dump of the previous one until the site opens.
DUMPS = 2
# A dump is compressed. An estimate on the safe side: SQL of a site is compressed more than this.
DATA_BYTES_PER_DUMP_BYTE = 4
SHOWN_PATCHES = 5
# A condition of a required version: operator, major version, and the other numbers.
CONDITION = re.compile(r"([<>=!~^]*)\s*v?(\d+)((?:\.\d+)*)[\w.+*-]*")


def check_major_version(
    settings: SiteSettings, database: Server, versions: Versions, code: Versions, apps: list[str]
) -> None:
    """Fails unless a site with these apps can be upgraded to the image's major version."""
    previous, wanted = code.get("frappe", ""), versions.get("frappe", "")
    if major(previous) is None or major(wanted) is None or major(previous) == major(wanted):
        return
    log(f"checking {settings.site_name} for the upgrade to version-{major(wanted)}")
    checks: tuple[Callable[[], None], ...] = (
        lambda: check_required_apps(settings.bench, versions, apps),
        lambda: check_versions_of_apps(settings.bench, versions, apps),
        lambda: check_server(database.address, database.version(), wanted),
        lambda: check_patches(settings, database, code),
        lambda: check_space(settings, database),
    )
    if problems := [problem for check in checks if (problem := problem_of(check)) is not None]:
        error = all_of(problems)
        raise JobError(error.reason, f"{error}; {settings.site_name} is open as before")


def problem_of(check: Callable[[], None]) -> JobError | None:
    try:
        check()
    except JobError as error:
        return error
    return None


def major(version: str) -> int | None:
    numbers = version_number(version)
    return numbers[0] if numbers else None


# --- apps ---------------------------------------------------------------------------------------


def check_required_apps(bench: Path, versions: Versions, apps: Iterable[str]) -> None:
    for app in apps:
        wanted = {*required_apps(bench, app), *required_versions(bench, app)}
        if missing := sorted(wanted - set(versions)):
            raise JobError(
                "AppNotInImage",
                f"{app} of the image requires apps that the image does not hold: "
                f"{', '.join(missing)}; use an image that holds them",
            )


def check_versions_of_apps(bench: Path, versions: Versions, apps: Iterable[str]) -> None:
    unsuitable = [
        f"{app} {versions[app]} is made for {name} {requirement}, not for {versions[name]}"
        for app in apps
        for name, requirement in required_versions(bench, app).items()
        if name in versions and not is_met(requirement, versions[name])
    ]
    if unsuitable:
        raise JobError(
            "AppUnsuitable",
            f"apps of the image are made for another version: {', '.join(unsuitable)}; "
            "use an image whose apps fit together",
        )


def required_apps(bench: Path, app: str) -> list[str]:
    """The hook `required_apps`, read without running code of the app."""
    try:
        tree = ast.parse(image_text(bench, app, f"{app}/hooks.py"))
    except (SyntaxError, ValueError):
        return []
    for node in tree.body:
        names = [target.id for target in targets_of(node) if isinstance(target, ast.Name)]
        if isinstance(node, ast.Assign) and "required_apps" in names:
            try:
                value = ast.literal_eval(node.value)
            except ValueError:
                return []
            values = value if isinstance(value, (list, tuple)) else []
            return [app_name(item) for item in values if isinstance(item, str)]
    return []


def targets_of(node: ast.stmt) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else []


def required_versions(bench: Path, app: str) -> dict[str, str]:
    """App → versions of it, by `[tool.bench.frappe-dependencies]` of the app's pyproject.toml."""
    section: Any = toml_values(image_text(bench, app, "pyproject.toml"))
    for name in ("tool", "bench", "frappe-dependencies"):
        section = section.get(name) if isinstance(section, dict) else None
    if not isinstance(section, dict):
        return {}
    return {name: value for name, value in section.items() if isinstance(value, str)}


def toml_values(text: str) -> dict[str, Any]:
    try:
        tomllib: Any = importlib.import_module("tomllib")
    except ImportError:
        return {}  # Python 3.10, which only images up to version-15 have
    try:
        values: dict[str, Any] = tomllib.loads(text)
    except ValueError:
        return {}
    return values


def is_met(requirement: str, version: str) -> bool:
    """Whether some version of the same major version meets the requirement."""
    actual = major(version)
    if actual is None:
        return True
    return any(
        all(
            allows_major(operator, int(number), minor, actual)
            for operator, number, minor in CONDITION.findall(alternative)
        )
        for alternative in requirement.split("||")
    )


def allows_major(operator: str, number: int, minor: str, actual: int) -> bool:
    if operator.startswith(">"):
        return actual >= number
    if operator.startswith("<"):
        is_exclusive = operator == "<" and not any(int(part) for part in minor.split(".")[1:])
        return actual < number if is_exclusive else actual <= number
    return operator.startswith("!") or actual == number


# --- database and volume ------------------------------------------------------------------------


def check_server(address: str, server: str, wanted: str) -> None:
    """Fails if the version of a database server is too old for the wanted version."""
    number = re.search(r"(\d+(?:\.\d+)+)-MariaDB", server)
    if number is None or version_number(number.group(1)) >= MINIMUM_MARIADB:
        return
    minimum = ".".join(map(str, MINIMUM_MARIADB))
    raise JobError(
        "DatabaseUnsupported",
        f"{address}: version-{major(wanted)} needs MariaDB {minimum} or later: {server}; upgrade "
        "the database server",
    )


def check_patches(settings: SiteSettings, database: Server, code: Versions) -> None:
    """Patches of the previous code must have run: the image's code may not have them any more."""
    rows = [(without_tag(patch), bool(skipped)) for patch, skipped in database.patch_log()]
    done = {patch for patch, skipped in rows if not skipped}
    wanted = recorded_patches(settings.site)
    if wanted is None:  # no init Job of this operator has run with the previous image
        failed = {patch for patch, skipped in rows if skipped}
        installed = [app for app in code if app != "image"]
        wanted = [patch for patch in patches_of(settings.bench, installed) if patch in failed]
    if pending := [patch for patch in wanted if patch not in done]:
        more = len(pending) - SHOWN_PATCHES
        names = ", ".join(pending[:SHOWN_PATCHES]) + (f" and {more} more" if more > 0 else "")
        raise JobError(
            "PatchesPending",
            f"patches of frappe {code['frappe'].split('+')[0]} or its apps have not run on "
            f"{settings.site_name}: {names}; set the previous image again, run `migrate` there "
            "with a SiteJob, then upgrade",
        )


def check_space(settings: SiteSettings, database: Server) -> None:
    free, size = free_bytes(settings.sites), database.data_bytes()
    needed = DUMPS * size // DATA_BYTES_PER_DUMP_BYTE
    if free < needed:
        raise JobError(
            "VolumeFull",
            f"the sites volume has no room for {DUMPS} dumps of {settings.site_name}: "
            f"{mebibytes(free)} free, {mebibytes(needed)} needed for {mebibytes(size)} of data; "
            "enlarge the volume, or remove old backups from it",
        )


def mebibytes(count: int) -> str:
    return f"{count / (1 << 20):,.1f} MiB"
