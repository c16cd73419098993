"""Installs apps on a site."""

from image_apps import Versions, code_record
from init_settings import InitSettings
from job_result import JobError, log
from site_programs import SiteFacts, read_site, run_bench, run_step
from site_records import read_marker
from site_state import update_marker


def install_missing_apps(settings: InitSettings, versions: Versions, facts: SiteFacts) -> SiteFacts:
    """Installs the wanted apps that the site does not have. Returns what the site then is."""
    interrupted = read_marker(settings.site).get("installing")
    # The framework lists an app as installed before its installation has ended.
    half_installed = interrupted if interrupted in facts["apps"] else None
    if half_installed is None and all(app in facts["apps"] for app in settings.apps):
        return facts
    ordered = run_step(settings, "apps-in-order", "AppInstallFailed")
    if half_installed is not None and half_installed not in ordered:
        raise JobError(
            "AppInstallFailed",
            f"{half_installed} is half installed on {settings.site_name}, and not wanted: add it "
            "to the apps to complete it, or uninstall it: "
            "docs/upgrade-sites.md#an-app-is-half-installed",
        )
    for app in ordered:
        # Only --force completes the installation of a Job that was killed.
        force = app == interrupted
        if app not in versions or (app in facts["apps"] and not force):
            continue
        update_marker(settings.site, {"installing": app})
        log(f"installing {app}")
        options = ["--force"] if force else []
        run_bench(settings, "AppInstallFailed", "install-app", app, *options)
        before = facts["apps"]
        facts = read_site(settings)
        if app not in facts["apps"]:
            raise JobError("AppInstallFailed", f"{app} is not installed after install-app")
        added = [name for name in facts["apps"] if name not in before or name == app]
        recorded = read_marker(settings.site).get("code", {})
        code = {**recorded, **code_record(settings.bench, versions, added)}
        update_marker(settings.site, {"installing": None, "code": code})
    return facts
