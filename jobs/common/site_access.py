"""Whether code of an image may work on the data of a site.

The site's marker names the image that its data was migrated to, and an upgrade that is in progress.
Code of another image must not work on that data, older or newer. app_operator_wsgi.py, scheduler.py
and the Jobs that work in a site check this first.

The marker is opened for every check. A network volume may report an old size and time of a file for
a minute, but not an old content after opening it.
"""

import json
import os
from typing import Any

MARKER = ".app-operator.json"


def is_closed(site: str, sites: str = ".", image: str | None = None) -> bool:
    """Whether code of `image` (default: IMAGE) must not work on the site's data."""
    image = os.environ.get("IMAGE", "") if image is None else image
    # Without a marker the operator does not manage this site: the framework handles the request.
    return closed_reason(marker_of(site, sites) or {}, image) is not None


def is_scheduled(site: str) -> bool:
    """Whether jobs of the site are due: the operator has created it, and it is open."""
    marker = marker_of(site, ".")
    if marker is None or marker.get("state") == "creating":
        return False
    return closed_reason(marker, os.environ.get("IMAGE", "")) is None


def marker_of(site: str, sites: str) -> dict[str, Any] | None:
    if not site or "/" in site or site.startswith("."):
        return None
    try:
        # Neither a link nor a FIFO in its place stops the process.
        path = os.path.join(sites, site, MARKER)
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)) as file:
            marker = json.load(file)
    except (OSError, ValueError):
        return None
    return marker if isinstance(marker, dict) else None


def closed_reason(marker: dict[str, Any], image: str) -> str | None:
    """Why code of `image` must not work on the data of the site with this marker, or None."""
    if "upgrade" in marker:
        return "is being upgraded or restored"
    data_image = marker.get("code", {}).get("image")
    if image and data_image and data_image != image:
        return f"has data of image {data_image}, not of {image}"
    return None
