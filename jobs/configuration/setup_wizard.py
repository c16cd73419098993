"""Answers the framework's setup wizard, with the functions that the desk calls.

Version-16 also takes the wizard of the framework for done where a site has users, and then leaves
the country empty: such a wizard is not done.
"""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any
from zoneinfo import available_timezones

from configuration_values import Refused
from job_result import log
from secret_redaction import redact
from site_connection import Frappe

Setup = Mapping[str, Any]

MAX_MESSAGE = 500
# The function of ERPNext that the desk's wizard calls.
CHARTS = (
    "erpnext.accounts.doctype.account.chart_of_accounts.chart_of_accounts.get_charts_for_country"
)
# The longest abbreviation of a company that ERPNext's wizard takes.
MAX_ABBREVIATION = 10


def complete_setup(frappe: Frappe, setup: Setup) -> bool:
    """Completes the wizard where it is not done. Returns whether it did."""
    if is_done(frappe):
        return False
    args = wizard_args(frappe, setup)
    reopen_wizard(frappe)
    # In this process only: the wizard is done when this function returns.
    frappe.local.conf.update(trigger_site_setup_in_background=0)
    from frappe.desk.page.setup_wizard.setup_wizard import setup_complete

    log("completing the setup wizard")
    try:
        setup_complete(args)
        frappe.db.commit()
    except Exception as error:
        frappe.db.rollback()
        text = redact(f"{type(error).__name__}: {error}")[:MAX_MESSAGE]
        raise Refused("SetupFailed", f"setup: the wizard failed: {text}") from None
    if not is_done(frappe):
        raise Refused("SetupFailed", "setup: the wizard ended, but the site does not call it done")
    return True


def is_done(frappe: Frappe) -> bool:
    """Whether the desk opens without the wizard, with a country."""
    single = frappe.db.get_single_value
    if not has_app_states(frappe):
        return bool(int(single("System Settings", "setup_complete") or 0))
    return bool(single("System Settings", "country")) and bool(frappe.is_setup_complete())


def has_app_states(frappe: Frappe) -> bool:
    """Whether this version has a wizard for each app."""
    return bool(frappe.db.has_column("Installed Application", "is_setup_complete"))


def reopen_wizard(frappe: Frappe) -> None:
    """Makes a framework's stage run that would be skipped: ERPNext's would get no country."""
    if not has_app_states(frappe) or frappe.db.get_single_value("System Settings", "country"):
        return
    frappe.db.set_value("Installed Application", {"app_name": "frappe"}, "is_setup_complete", 0)
    frappe.clear_document_cache("Installed Applications", "Installed Applications")


def wizard_args(frappe: Frappe, setup: Setup) -> dict[str, Any]:
    """What the desk's wizard sends."""
    language = frappe.db.get_value("Language", setup["language"], "language_name")
    country = frappe.db.get_value("Country", setup["country"], "name")
    currency = frappe.db.get_value("Currency", setup["currency"], "name")
    zones = available_timezones()  # none, where the image has no such files
    problems = [
        f'setup.{field}: "{setup[field]}" is not {what} of the site'
        for field, what, known in (
            ("language", "a Language", language),
            ("country", "a Country", country),
            ("currency", "a Currency", currency),
            ("timeZone", "a time zone", not zones or setup["timeZone"] in zones),
        )
        if not known
    ]
    if problems:
        raise Refused("ValueInvalid", "; ".join(problems))
    args = {
        "language": language,
        "lang": language,
        "country": country,
        "currency": currency,
        "timezone": setup["timeZone"],
        "enable_telemetry": 0,
    }
    if setup.get("company") and "erpnext" in frappe.get_installed_apps():
        args |= company_args(frappe, setup["company"], country)
    return args


def company_args(frappe: Frappe, company: Mapping[str, str], country: str) -> dict[str, Any]:
    charts = charts_of(frappe, country)
    chart = company.get("chartOfAccounts", charts[0] if charts else "Standard")
    if charts and chart not in charts:
        raise Refused(
            "ValueInvalid",
            f'setup.company.chartOfAccounts: "{chart}" is not offered for {country}; '
            f"use {', '.join(charts[:8])}",
        )
    start, end = fiscal_year(company["fiscalYearStart"], date.today())
    return {
        "company_name": company["name"],
        "company_abbr": company.get("abbreviation") or abbreviation_of(company["name"]),
        "chart_of_accounts": chart,
        "fy_start_date": start.isoformat(),
        "fy_end_date": end.isoformat(),
    }


def charts_of(frappe: Frappe, country: str) -> list[str]:
    """The charts of accounts that the desk's wizard offers."""
    return list(frappe.get_attr(CHARTS)(country, with_standard=True))


def abbreviation_of(name: str) -> str:
    """As the desk's wizard suggests it."""
    return "".join(word[0] for word in name.split())[:MAX_ABBREVIATION].upper()


def fiscal_year(start: str, today: date) -> tuple[date, date]:
    """The first and the last day of the fiscal year that has `today`."""
    month, day = (int(part) for part in start.split("-"))
    first = date(today.year, month, day)
    if first > today:
        first = date(today.year - 1, month, day)
    return first, date(first.year + 1, month, day) - timedelta(days=1)
