"""The apps that the image holds, and versions of their code."""

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from job_result import JobError, all_of

# App → version of its code.
Versions = Mapping[str, str]

VERSION = re.compile(r"""^__version__\s*=\s*["']([^"']+)["']""", re.MULTILINE)


def app_version(directory: Path) -> str | None:
    """The version of the app in a directory of `apps/`; None if it is no app."""
    package = directory / directory.name / "__init__.py"
    if not package.is_file():
        return None
    version = VERSION.search(package.read_text(errors="replace"))
    return version.group(1) if version else "unknown"


def major_of(version: str) -> int:
    """0 for a version that is no number."""
    major = version.split(".")[0]
    return int(major) if major.isdigit() else 0


def apps_of_image(bench: Path) -> dict[str, str]:
    """The apps by name."""
    found = {}
    for directory in sorted((bench / "apps").glob("*")):
        version = app_version(directory)
        if version is not None:
            found[directory.name] = version
    return found


def image_text(bench: Path, app: str, name: str) -> str:
    """A file below `apps/APP` of the image; empty if it cannot be read."""
    try:
        return (bench / "apps" / app / name).read_text(errors="replace")
    except OSError:
        return ""


def app_name(requirement: str) -> str:
    """The app of a requirement, which may be an URL or name an organisation and a branch."""
    return requirement.rstrip("/").split("/")[-1].split("@")[0].removesuffix(".git")


def fingerprint(bench: Path, app: str) -> str:
    """Changes when a migration may be necessary. A version may not: for example on develop."""
    package = bench / "apps" / app / app
    digest = hashlib.sha256()
    schemas = package.glob("**/doctype/*/*.json")
    for path in sorted([package / "patches.txt", package / "hooks.py", *schemas]):
        if path.is_file():
            name = str(path.relative_to(package)).encode()
            digest.update(name + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def code_record(bench: Path, versions: Versions, apps: Iterable[str]) -> dict[str, str]:
    """What the marker records about the code of these apps, and the image."""
    code = {app: f"{versions[app]}+{fingerprint(bench, app)}" for app in apps if app in versions}
    if os.environ.get("IMAGE"):
        code["image"] = os.environ["IMAGE"]
    return code


def version_number(version: str) -> tuple[int, ...]:
    """15.44.2+c0ffee → (15, 44, 2)."""
    release = re.match(r"[\d.]*", version)
    assert release is not None
    return tuple(int(part) for part in re.findall(r"\d+", release.group()))


def check_restorable(versions: Versions, location: str, backup_versions: Versions) -> None:
    """Fails unless the image's code can work on a backup of apps in these versions."""
    problems = []
    if missing := [app for app in backup_versions if app not in versions]:
        problems.append(
            JobError(
                "AppNotInImage",
                f"{location} is of a site with {', '.join(missing)}, which the image does not hold",
            )
        )
    newer = [
        f"{app} {version} (image: {versions[app]})"
        for app, version in backup_versions.items()
        if app in versions and version_number(version) > version_number(versions[app])
    ]
    if newer:
        problems.append(
            JobError(
                "BackupNewer",
                f"{location} is of newer code: {', '.join(newer)}; older code cannot work on its "
                "data",
            )
        )
    if problems:
        raise all_of(problems)


def check_upgradable(versions: Versions, site_name: str, site_code: Versions) -> None:
    """Fails unless the image's code can take over the data of the site's code."""
    installed = [app for app in site_code if app != "image"]
    check_in_image(versions, site_name, installed)
    older = [
        f"{app} {versions[app]} for data of {site_code[app].split('+')[0]}"
        for app in installed
        if version_number(versions[app]) < version_number(site_code[app])
    ]
    if older:
        raise JobError(
            "Downgrade",
            f"older code cannot work on {site_name}: {', '.join(older)}; use the newer image "
            "again, or restore a backup",
        )


def check_wanted(versions: Versions, wanted: Iterable[object], advice: str = "") -> None:
    if missing := [str(app) for app in wanted if app not in versions]:
        raise JobError(
            "AppNotInImage",
            f"not in the image: {', '.join(missing)}; the image holds: {', '.join(versions)}"
            f"{advice}",
        )


def check_in_image(versions: Versions, site_name: str, installed: Iterable[str]) -> None:
    if missing := [app for app in installed if app not in versions]:
        raise JobError(
            "AppNotInImage",
            f"installed on {site_name}, but not in the image: {', '.join(missing)}; use an image "
            "that holds them, or uninstall them with the previous image first",
        )
