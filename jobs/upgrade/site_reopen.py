"""Opens a site after its upgrade. Runs as the `<site>-reopen` Job, when nothing of the old image runs for the site any more.

Environment: that of site_init.py without its passwords; SITE_CONFIG and IMAGE as there.
"""

import os

from site_common import MARKER, Refused, Settings, check_owner, json_env, only_one, read_json, run_job, say
from site_upgrade import Upgrade


def main():
    settings = Settings()
    config = json_env("SITE_CONFIG", {}, dict)
    image = os.environ.get("IMAGE", "")
    with only_one(settings):
        check_owner(settings)
        upgrade = Upgrade(settings)
        if upgrade.state is None:
            return {"opened": False}
        brought_to = read_json(settings.site / MARKER).get("code", {}).get("image", "")
        unfinished = {"changed", "restoring"} & set(upgrade.state)
        if brought_to != image or unfinished:
            raise Refused("UpgradeUnfinished", f"the data of {settings.site_name} is of {brought_to or 'an unknown image'}, not of {image}")
        upgrade.open(config)
        say(f"opened {settings.site_name}")
        return {"opened": True}


if __name__ == "__main__":
    run_job(main)
