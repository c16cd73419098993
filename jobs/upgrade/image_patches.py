"""The patches of the image's apps, and those of the code that a site's data is of.

The image of an upgrade may not have the patches of the previous one any more. So each init Job
records the patches of its image beside the site's marker. That file is not part of the marker,
which is read for every request.
"""

import configparser
from collections.abc import Iterable
from pathlib import Path

from atomic_files import read_json, write_json
from image_apps import image_text
from job_result import JobError
from site_records import texts_in

PATCHES = ".app-operator-patches.json"


def without_tag(patch: str) -> str:
    """A patch of the group `finally:` is logged with or without that tag."""
    return patch.removeprefix("finally:").strip()


def patches_of(bench: Path, apps: Iterable[str]) -> list[str]:
    """The patches of these apps, as the framework reads and logs them."""
    return [
        without_tag(patch)
        for app in apps
        for patch in patches_in(image_text(bench, app, f"{app}/patches.txt"))
    ]


def patches_in(text: str) -> list[str]:
    """A comment behind a patch is part of it: another comment makes another patch."""
    parser = configparser.ConfigParser(
        allow_no_value=True, delimiters="\n", interpolation=None, strict=False
    )
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        parser.read_string(text)
    except configparser.MissingSectionHeaderError:  # a file without sections
        lines = (line.strip() for line in text.splitlines())
        return [line for line in lines if line and not line.startswith("#")]
    except configparser.Error:
        return []  # the framework reports it
    return [patch for section in parser.sections() for patch in parser[section]]


def record_patches(bench: Path, site: Path, apps: Iterable[str]) -> None:
    write_json(site / PATCHES, {"patches": sorted(set(patches_of(bench, apps)))})


def recorded_patches(site: Path) -> list[str] | None:
    """The patches of the code that the site's data is of; None if they are not known."""
    try:
        patches = read_json(site / PATCHES).get("patches")
    except JobError:
        return None
    return texts_in(patches) if isinstance(patches, list) else None
