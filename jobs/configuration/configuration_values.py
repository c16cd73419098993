"""The values of `siteConfig`, as site_configuration.py gets them: from the Job and from files.

The files are of Secrets and ConfigMaps. The kubelet writes them, outside of the sites volume.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from job_result import JobError
from operator_constants import (
    CONFIG_FIELD_KEYS,
    CONFIG_LOGIN_KEYS,
    CONFIG_OWNED_KEYS,
    CONFIG_OWNED_PREFIXES,
    CONFIG_STATE_KEYS,
)
from secret_redaction import file_secrets

MAX_VALUE_BYTES = 64 << 10
# Levels of lists and objects.
MAX_DEPTH = 64

Entry = Mapping[str, Any]


class Refused(Exception):
    """A value cannot be used: only a change of the Secret or of the spec helps."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


# What is left out, by its place, such as `siteConfig[0]`.
LeftOut = dict[str, Refused]


def is_owned(key: str) -> bool:
    """Whether the operator itself sets the key."""
    owned = (*CONFIG_OWNED_KEYS, *CONFIG_FIELD_KEYS, *CONFIG_STATE_KEYS, *CONFIG_LOGIN_KEYS)
    return key in owned or key.startswith(CONFIG_OWNED_PREFIXES)


def wanted_values(entries: list[Any], folder: Path) -> tuple[dict[str, Any], LeftOut]:
    """Value by key. One that cannot be used keeps no other from being set."""
    values: dict[str, Any] = {}
    left_out: LeftOut = {}
    for index, entry in enumerate(entries):
        key = entry["key"]
        if is_owned(key):
            raise JobError("InvalidInput", f"SITE_CONFIG may not set {key}: the operator owns it")
        try:
            values[key] = entry["value"] if "value" in entry else value_of_file(entry, folder)
        except Refused as problem:
            left_out[f"siteConfig[{index}]"] = problem
    return values, left_out


def content_of_file(entry: Entry, folder: Path) -> bytes:
    """The value that a Secret or a ConfigMap has."""
    if "missing" in entry:
        raise Refused(entry["reason"], entry["missing"])
    where = f"{entry['key']}: {entry['from']}"
    try:
        with open(folder / entry["file"], "rb") as file:
            content = file.read(MAX_VALUE_BYTES + 1)
    except FileNotFoundError:
        raise Refused("KeyMissing", f"{where} does not exist; add the key") from None
    if len(content) > MAX_VALUE_BYTES:
        raise Refused("ValueInvalid", f"{where} is longer than {MAX_VALUE_BYTES} bytes")
    return content


def value_of_file(entry: Entry, folder: Path) -> Any:
    """The value of a key. No error repeats any of it."""
    content = content_of_file(entry, folder)
    where = f"{entry['key']}: {entry['from']}"
    is_json = entry["format"] == "JSON"
    try:
        text = content.decode("utf-8-sig" if is_json else "utf-8")
    except UnicodeDecodeError:
        raise Refused("ValueInvalid", f"{where} is not UTF-8 text") from None
    if text:
        file_secrets.add(text)
    if not is_json:
        return text
    try:
        value = json.loads(text, parse_constant=no_constant)
    except (ValueError, RecursionError):
        raise Refused("ValueInvalid", f"{where} is not JSON, which its format says") from None
    if value is None:
        raise Refused("ValueInvalid", f"{where} is null; remove the entry to delete the key")
    if depth_of(value) > MAX_DEPTH:
        raise Refused("ValueInvalid", f"{where} nests more than {MAX_DEPTH} levels")
    file_secrets.update(texts_in(value))
    return value


def no_constant(name: str) -> Any:
    raise ValueError(name)


def children_of(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def depth_of(value: Any) -> int:
    """Levels of lists and objects, counted without recursion."""
    depth, level = 0, [value]
    while containers := [one for one in level if isinstance(one, dict | list)]:
        depth += 1
        level = [child for one in containers for child in children_of(one)]
    return depth


def texts_in(value: Any) -> Iterator[str]:
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, str) and one:
            yield one
        left += children_of(one)
