"""Sets the keys of `siteConfig` in site_config.json or common_site_config.json, and no others.

Runs as the `<site>-configuration` or `<bench>-configuration` Job. It uses the code of the framework
for SITE_SETUP and SITE_SSO only: these come first, before a user can exist.

Environment
  REQUEST      identifies the request in the result
  SITE_NAME    the site; absent: the bench's common_site_config.json
  SITE_OWNER   with SITE_NAME: `<namespace>/<name>` of the AppSite
  SITE_CONFIG  JSON array of {"key", "value"}, {"key", "file", "from", "format": Text|JSON} and
               {"key", "reason", "missing"}: why there is no file
  VALUES       a folder with the files of values, from Secrets and ConfigMaps
  SITE_SETUP   JSON object: the answers of the setup wizard, see setup_wizard.py; absent: none
  SITE_SSO     JSON array: identity providers, see social_logins.py; absent: none are changed
  IMAGE        with the last two: the image of this Job
  BENCH_DIR, TERMINATION_LOG

The file itself lists the keys that were set, in `app_operator_keys`: a key that is listed and no
longer wanted is deleted. `app_operator_social_logins` lists the identity providers. The file is
replaced in one step, and not at all where nothing differs.

A value that cannot be used is left out: its key, or its identity provider, stays as it is.

The termination message is {"results": {REQUEST: [outcome, reason, message, [keys]]}}. The outcome
is Changed, Unchanged or Failed; the keys are those that differed. No value is in the message. Where
something is left out, the places of that follow, such as "siteConfig[0]" and "sso[1]".
"""

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from atomic_files import write_json
from configuration_values import LeftOut, Refused, is_owned, wanted_values
from job_environment import bench_dir, json_array_env, number_env, site_name_env, text_env
from job_result import JobError, log, run_job, write_termination_message
from operator_constants import (
    COMMON_CONFIG_FILE,
    CONFIG_KEYS_FIELD,
    TERMINATION_MESSAGE_BYTES,
)
from secret_redaction import file_secrets, redact
from setup_wizard import complete_setup
from site_connection import connected
from site_locks import common_config_lock, documents_lock, shared_site_lock
from site_records import (
    CONFIG_FILE,
    check_framework_files,
    read_common_config,
    read_site_config,
    texts_in,
)
from site_state import (
    check_owner,
    require_created,
    require_open,
    site_config_lock,
    update_site_config,
)
from social_logins import name_of, place_of, read_values, write_logins

# Key of site_config.json that lists the Social Login Keys that `sso` has written.
LOGINS_FIELD = "app_operator_social_logins"

# Outcome, reason, message, the keys that differed, and the places of what is left out.
Result = tuple[str, str, str, list[str], list[str]]


# --- the file -----------------------------------------------------------------------------------


def recorded_keys(config: Mapping[str, Any]) -> list[str]:
    """The keys that were set before. Site code can write the list: it never names an owned key."""
    return [key for key in texts_in(config.get(CONFIG_KEYS_FIELD)) if not is_owned(key)]


def merged(
    config: Mapping[str, Any], wanted: Mapping[str, Any], kept: Collection[str]
) -> tuple[dict[str, Any], list[str]]:
    """The configuration with the wanted keys, and the keys that differed. Kept ones stay."""
    result = {key: value for key, value in config.items() if key != CONFIG_KEYS_FIELD}
    recorded = recorded_keys(config)
    for key in recorded:
        if key not in wanted and key not in kept:
            result.pop(key, None)
    result |= wanted
    differed = sorted(
        key for key in {*config, *result} - {CONFIG_KEYS_FIELD} if not same(key, config, result)
    )
    if keys := sorted({*wanted, *(key for key in recorded if key in kept)}):
        result[CONFIG_KEYS_FIELD] = keys
    return result, differed


def same(key: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """As JSON: for Python, 1 and 1.0 and True are the same."""
    if (key in one) != (key in other):
        return False
    return json.dumps(one[key], sort_keys=True) == json.dumps(other[key], sort_keys=True)


@contextmanager
def open_site(sites: Path, site_name: str) -> Iterator[Path]:
    """The site's configuration file, while no Job creates, restores or drops the site."""
    site = sites / site_name
    with shared_site_lock(sites, site_name):
        require_created(site)
        check_owner(site, text_env("SITE_OWNER"))
        with site_config_lock(site):
            yield site / CONFIG_FILE


def read_config(file: Path) -> dict[str, Any]:
    if file.name == CONFIG_FILE:
        return read_site_config(file.parent)
    config = read_common_config(file.parent)
    if not config.get("redis_cache"):
        raise JobError(
            "BenchNotInitialized",
            f"{COMMON_CONFIG_FILE} has no redis_cache: the bench's init Job has not run",
        )
    return config


@contextmanager
def open_bench(sites: Path) -> Iterator[Path]:
    with common_config_lock(sites):
        yield sites / COMMON_CONFIG_FILE


def set_keys(wanted: Mapping[str, Any], kept: Collection[str]) -> tuple[bool, list[str]]:
    """Writes the file where it differs. Returns whether it did, and the keys that differed."""
    sites = bench_dir() / "sites"
    is_site = bool(os.environ.get("SITE_NAME"))
    with open_site(sites, site_name_env()) if is_site else open_bench(sites) as file:
        config, differed = merged(read_config(file), wanted, kept)
        wrote = write_json(file, config)
    if differed:
        log(f"set in {file.name}: {', '.join(differed)}")
    return wrote, differed


# --- the framework --------------------------------------------------------------------------------


def prepare_first_login(left_out: LeftOut) -> list[str]:
    """Completes the setup wizard, and writes the identity providers. Names what differed."""
    setup, logins = (os.environ.get(name) for name in ("SITE_SETUP", "SITE_SSO"))
    if setup is None and logins is None:
        return []
    wanted = None if logins is None else json.loads(logins)
    values, unread = read_values(wanted or [], Path(text_env("VALUES")))
    left_out.update(unread)
    file_secrets.update(values.values())
    sites, site_name = bench_dir() / "sites", site_name_env()
    site, wait_seconds = sites / site_name, number_env("WAIT_SECONDS", 60)
    os.chdir(sites)  # the framework opens its log files relative to it
    with documents_lock(sites, site_name, wait_seconds), shared_site_lock(sites, site_name):
        require_open(site)
        check_owner(site, text_env("SITE_OWNER"))
        check_framework_files(site)
        # The Social Login Keys of earlier Jobs. Code of the site can change the list.
        recorded = texts_in(read_site_config(site).get(LOGINS_FIELD))
        names = declared_names(wanted or [], unread, recorded)
        if wanted is not None:
            # Before they are written: one whose Job is killed is deleted with its entry.
            update_site_config(site, {LOGINS_FIELD: sorted({*recorded, *names}) or None})
        with connected(site_name, wait_seconds) as frappe:
            completed = setup is not None and complete_setup(frappe, json.loads(setup))
            changed = ["setup"] if completed else []
            if wanted is not None:
                changed += write_logins(frappe, wanted, values, recorded, left_out)
        if wanted is not None:
            names = declared_names(wanted, left_out, recorded)
            update_site_config(site, {LOGINS_FIELD: sorted(names) or None})
    return changed


def declared_names(
    logins: Sequence[Mapping[str, Any]], left_out: LeftOut, recorded: Collection[str]
) -> list[str]:
    """The Social Login Keys of the Job: of what is left out, those of earlier Jobs."""
    return [
        name_of(login)
        for index, login in enumerate(logins)
        if place_of(index) not in left_out or name_of(login) in recorded
    ]


# --- the Job ------------------------------------------------------------------------------------


def main() -> Result:
    try:
        entries = json_array_env("SITE_CONFIG")
        wanted, left_out = wanted_values(entries, Path(text_env("VALUES")))
        kept = {entry["key"] for entry in entries if entry["key"] not in wanted}
        prepared = prepare_first_login(left_out)
        wrote, keys = set_keys(wanted, kept)
    except Refused as problem:
        log(f"nothing was set: {problem.reason}: {problem}")
        return "Failed", problem.reason, redact(str(problem)), [], []
    for place, refused in left_out.items():
        log(f"left out: {place}: {refused.reason}: {refused}")
    reason = next((refused.reason for refused in left_out.values()), "")
    message = redact("; ".join(str(refused) for refused in left_out.values()))
    outcome = "Changed" if prepared or wrote else "Unchanged"
    return outcome, reason, message, [*prepared, *keys], list(left_out)


def termination_message(request: str, result: Result) -> str:
    """The result, small enough for a termination message."""
    outcome, reason, message, keys, left_out = result
    places = [left_out] if left_out else []
    for length, count in ((2000, 64), (1000, 16), (500, 4), (200, 0)):
        shown = [outcome, reason, message[:length], keys[:count], *places]
        text = json.dumps({"results": {request: shown}}, ensure_ascii=False)
        if len(text.encode()) <= TERMINATION_MESSAGE_BYTES:
            return text
    return json.dumps({"results": {request: [outcome, reason, "", [], *places]}})


def report_result(result: Result) -> None:
    write_termination_message(termination_message(text_env("REQUEST"), result).encode())
    log(f"app-operator: Succeeded: {result[0]}")


if __name__ == "__main__":
    run_job(main, report_result)
