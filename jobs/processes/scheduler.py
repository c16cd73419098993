"""The framework's scheduler, for the sites that are open for this image's code (see site_gate.py).

While a bench is upgraded its sites are on two images: a site whose turn has not come waits with its scheduled jobs until it
has, and what is due by then runs. Runs in the bench's directory. A framework without the functions that this uses runs unfiltered, as
`bench schedule`.
"""

import os

from site_gate import closed


def main():
    import frappe.utils.scheduler as scheduler

    all_sites, start = scheduler.get_sites, scheduler.start_scheduler
    os.chdir("sites")
    scheduler.get_sites = lambda *args, **kwargs: [site for site in all_sites(*args, **kwargs) if not closed(site)]
    start()


if __name__ == "__main__":
    try:
        main()
    except (ImportError, AttributeError) as error:
        print(f"app-operator: the scheduler runs for all sites: {error}", flush=True)
        os.execvp("bench", ["bench", "schedule"])
