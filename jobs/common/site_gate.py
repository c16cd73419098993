"""Whether a site is open for the code of this image: asked by wsgi.py, scheduler.py, and Jobs that work in a site, before they touch it.

The site's marker names the image that its data was brought to, and tells of an upgrade that is under way. Old code never
works on data that newer code has changed, nor new code on data that it has not. The marker is opened each time: a volume
on the network may show an old size and time of a file for a minute, but never an old content.
"""

import json
import os

MARKER = ".app-operator.json"


def closed(site, sites=".", image=None):
    """True while the site is closed for an upgrade, or its data is of another image than ours (default: IMAGE)."""
    image = os.environ.get("IMAGE", "") if image is None else image
    if not site or "/" in site or site.startswith("."):
        return False
    try:
        with open(os.path.join(sites, site, MARKER)) as file:
            marker = json.load(file)
    except (OSError, ValueError):
        return False  # no site, or none of ours: the framework decides
    return obstacle(marker, image) is not None


def obstacle(marker, image):
    """Why code of `image` must not work on the data of the site with this marker; None where it may."""
    if "upgrade" in marker:
        return "is being upgraded or restored"
    brought_to = marker.get("code", {}).get("image")
    return f"is of {brought_to} by now, and not of {image}" if image and brought_to and brought_to != image else None
