"""Opens a site after its upgrade. Runs as the `<site>-reopen` Job, when no pod of the site runs the
previous image.

Environment: that of site_init.py without its passwords; SITE_CONFIG and IMAGE as there.
"""

import os
from typing import Any

from job_environment import json_object_env
from job_result import JobError, log, run_job
from site_locks import exclusive_site_lock
from site_records import read_marker
from site_state import SiteSettings, check_owner
from site_upgrade import Upgrade


def main() -> dict[str, Any]:
    settings = SiteSettings()
    config = json_object_env("SITE_CONFIG")
    image = os.environ.get("IMAGE", "")
    with exclusive_site_lock(settings):
        check_owner(settings.site, settings.owner)
        upgrade = Upgrade(settings)
        if upgrade.state is None:
            return {"opened": False}
        data_image = read_marker(settings.site).get("code", {}).get("image", "")
        unfinished = {"changed", "restoring"} & set(upgrade.state)
        if data_image != image or unfinished:
            actual = data_image or "an unknown image"
            raise JobError(
                "UpgradeUnfinished",
                f"{settings.site_name} has data of {actual}, not of {image}",
            )
        upgrade.open(config)
        log(f"opened {settings.site_name}")
        return {"opened": True}


if __name__ == "__main__":
    run_job(main)
