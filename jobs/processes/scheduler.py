"""The framework's scheduler, for the sites whose data is of this image (see site_access.py).

During an upgrade of a bench its sites are on two images. The scheduled jobs of the other sites
wait, and run when the site is upgraded. For a folder that the operator has not made a site of, the
framework would print a traceback at each tick. Runs in the bench's directory. With a framework that
lacks the functions it runs `bench schedule`, for all sites.
"""

import os

from database_tls import encrypt_framework
from site_access import is_scheduled


def main() -> None:
    import frappe.utils.scheduler as scheduler

    get_sites, start_scheduler = scheduler.get_sites, scheduler.start_scheduler
    os.chdir("sites")
    encrypt_framework()
    scheduler.get_sites = lambda *args, **kwargs: [
        site for site in get_sites(*args, **kwargs) if is_scheduled(site)
    ]
    start_scheduler()


if __name__ == "__main__":
    try:
        main()
    except (ImportError, AttributeError) as error:
        print(f"app-operator: the scheduler runs for all sites: {error}", flush=True)
        os.execvp("bench", ["bench", "schedule"])
