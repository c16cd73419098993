"""Writes the Social Login Keys of a site, as `sso` declares them.

The addresses of a provider that the framework knows are those of the site's version. The values of
Secrets are read from files, and are in no message.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from configuration_values import LeftOut, Refused, content_of_file
from desired_document import Document
from document_writer import DocumentWriter
from job_result import JobError
from secret_text import secret_text
from site_connection import Frappe

DOCTYPE = "Social Login Key"
# Field of the spec, and of the document.
FIELDS = {
    "baseURL": "base_url",
    "authorizeURL": "authorize_url",
    "accessTokenURL": "access_token_url",
    "redirectURL": "redirect_url",
    "apiEndpoint": "api_endpoint",
    "userIDProperty": "user_id_property",
    "signUps": "sign_ups",
}
JSON_FIELDS = {"apiEndpointParameters": "api_endpoint_args", "authorizeParameters": "auth_url_data"}
REDIRECT = "/api/method/frappe.integrations.oauth2_logins.custom/"
# What a provider that the framework does not know is asked for.
CUSTOM_DATA = {"response_type": "code", "scope": "openid email profile"}
# The framework sets these itself.
NOT_WRITTEN = ("provider_name", "enable_social_login", "icon", "custom_base_url")

Login = Mapping[str, Any]
Values = dict[tuple[str, str], str]


def name_of(login: Login) -> str:
    """The name that the framework gives to the document."""
    return str(login["provider"]).replace(" ", "_").replace("-", "_").lower()


def place_of(index: int) -> str:
    """Where a provider stands in SITE_SSO."""
    return f"sso[{index}]"


def read_values(logins: Sequence[Login], folder: Path) -> tuple[Values, LeftOut]:
    """The ids and secrets of clients, by name of the document and field."""
    values: Values = {}
    left_out: LeftOut = {}
    for index, login in enumerate(logins):
        try:
            for field, column in (("clientID", "client_id"), ("clientSecret", "client_secret")):
                value = login.get(field) or read_value(login, field, folder)
                values[name_of(login), column] = value
        except Refused as problem:
            left_out[place_of(index)] = problem
    return values, left_out


def read_value(login: Login, field: str, folder: Path) -> str:
    entry = {"key": f"sso[{login['provider']}].{field}", **login["files"][field]}
    content = content_of_file(entry, folder)
    where = f"{entry['key']}: {entry['from']}"
    try:
        value = secret_text(content, where)
    except JobError as error:
        raise Refused("ValueInvalid", str(error)) from None
    if value and value == value.strip():
        return value
    problem = "has white space at its start or end" if value else "is empty"
    raise Refused("ValueInvalid", f"{where} {problem}")


def write_logins(
    frappe: Frappe,
    logins: Sequence[Login],
    values: Values,
    recorded: Sequence[str],
    left_out: LeftOut,
) -> list[str]:
    """Writes the keys, and deletes the recorded ones that are not declared. Names what differed.

    One that is left out stays as it is. One that the site refuses is left out, too.
    """
    writer = DocumentWriter(frappe, values)
    changed: list[str] = []
    for index, login in enumerate(logins):
        if place_of(index) in left_out:
            continue
        document = document_of(frappe, login)
        outcome, message, _ = writer.write(document)
        if outcome == "Failed":
            left_out[place_of(index)] = Refused(
                "ValueInvalid", f"sso[{login['provider']}]: {message}"
            )
        elif outcome != "Unchanged":
            changed.append(f"sso.{document['name']}")
    names = {name_of(login) for login in logins}
    for name in recorded:
        if name not in names and removed(writer, name):
            changed.append(f"sso.{name}")
    return changed


def removed(writer: DocumentWriter, name: str) -> bool:
    """Deletes a key that is not declared any more. Returns whether it was there."""
    document: Document = {"id": name, "doctype": DOCTYPE, "name": name, "state": "absent"}
    outcome, message, _ = writer.write(document)
    if outcome == "Failed":
        raise Refused("ValueInvalid", f"sso[{name}]: {message}")
    return outcome not in ("Unchanged", "Absent")


def document_of(frappe: Frappe, login: Login) -> Document:
    provider, name = login["provider"], name_of(login)
    known = frappe.new_doc(DOCTYPE).get_social_login_provider(provider)
    is_known = isinstance(known, Mapping) and "redirect_url" in known
    defaults = dict(known) if is_known else {"redirect_url": REDIRECT + name}
    fields = {key: value for key, value in defaults.items() if key not in NOT_WRITTEN}
    parameters = {key: fields.pop(key, None) for key in JSON_FIELDS.values()}
    if not is_known:
        parameters["auth_url_data"] = CUSTOM_DATA
    fields |= {column: login[field] for field, column in FIELDS.items() if field in login}
    fields |= {
        "social_login_provider": provider if is_known else "Custom",
        "provider_name": provider,
        "enable_social_login": int(login["enabled"]),
        "custom_base_url": int("baseURL" in login),
    }
    declared = {column: login[field] for field, column in JSON_FIELDS.items() if field in login}
    return {
        "id": name,
        "doctype": DOCTYPE,
        "name": name,
        "title": provider,
        "state": "present",
        "fields": fields,
        "json": {key: parsed(value) for key, value in (parameters | declared).items()},
        "secrets": ["client_id", "client_secret"],
    }


def parsed(value: Any) -> Any:
    """The framework gives parameters as JSON, or none."""
    return json.loads(value) if isinstance(value, str) else value
