"""The specification of a document, in the terms of the site's version."""

from collections.abc import Mapping, Sequence
from typing import Any

from site_connection import Frappe

# A login accepts no longer password.
MAX_PASSWORD = 512
# The framework sets this field of a document that belongs to an app's files. It is never written.
STANDARD = "is_standard"

# A specified document, see site_documents.py.
Document = dict[str, Any]
# The values of secret fields by document id and field, or the errors of reading them.
Secrets = Mapping[tuple[str, str], Any]


class NotAllowed(Exception):
    """The document must not be written."""


def secret_source(document: Document, field: str) -> str:
    """The key of the Secret that a field's value is of."""
    return str((document.get("secretKeys") or {}).get(field, f"the Secret for {field}"))


class DesiredDocument:
    """The wanted values in this site's version, and the specified fields that it does not have."""

    def __init__(
        self,
        frappe: Frappe,
        document: Document,
        secrets: Secrets,
        new: bool = False,
    ) -> None:
        self.meta = frappe.get_meta(document["doctype"])
        self.fields: dict[str, Any] = dict(document.get("fields") or {})
        self.json: dict[str, Any] = dict(document.get("json") or {})
        self.tables: dict[str, Any] = dict(document.get("tables") or {})
        # Values of password fields, which the database stores encrypted.
        self.hidden: dict[str, str] = {}
        # A user's password, of which the database stores a hash.
        self.password: str | None = None
        self.secret_fields: set[str] = set()
        self.set_names(document)
        self.set_secrets(document, secrets, new)
        self.ignored: list[str] = []
        for part in (self.fields, self.json, self.tables, self.hidden):
            for field in [field for field in part if not self.is_writable(field)]:
                del part[field]
                self.ignored.append(field)
        self.tables = {
            table: self.known_columns(frappe, table, rows) for table, rows in self.tables.items()
        }

    def is_writable(self, field: str) -> bool:
        return field != STANDARD and bool(self.meta.has_field(field))

    def set_names(self, document: Document) -> None:
        if document["doctype"] == "User":
            self.fields.setdefault("email", document["name"])
            self.set_roles()
        elif (self.meta.autoname or "").startswith("field:"):
            self.fields.setdefault(self.meta.autoname[6:], document["name"])

    def set_roles(self) -> None:
        """A role profile replaces the user's roles: a table in version-16, a field before."""
        if "role_profile" not in self.fields and "roles" not in self.tables:
            return
        profile = self.fields.pop("role_profile", None)
        if profile:
            self.tables.pop("roles", None)
        if self.meta.has_field("role_profiles"):
            self.tables["role_profiles"] = [{"role_profile": profile}] if profile else []
        else:
            self.fields["role_profile_name"] = profile

    def set_secrets(self, document: Document, secrets: Secrets, new: bool) -> None:
        self.secret_fields = set(document.get("secrets") or [])
        if not new:
            self.secret_fields -= set(document.get("secretsWhenNew") or [])
        for field in sorted(self.secret_fields):
            value = secrets[document["id"], field]
            if not isinstance(value, str):
                raise value
            if not value:
                raise NotAllowed(f"{secret_source(document, field)} is empty")
            if document["doctype"] == "User" and field == "password":
                if len(value) > MAX_PASSWORD:
                    raise NotAllowed(f"the password is longer than {MAX_PASSWORD} characters")
                self.password = value
            elif self.meta.has_field(field) and self.meta.get_field(field).fieldtype == "Password":
                self.hidden[field] = value
            else:
                self.fields[field] = value

    def known_columns(
        self, frappe: Frappe, table: str, rows: Sequence[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        meta = frappe.get_meta(self.meta.get_field(table).options)
        unknown = {column for row in rows for column in row if not meta.has_field(column)}
        self.ignored += [f"{table}.{column}" for column in sorted(unknown)]
        return [
            {column: value for column, value in row.items() if column not in unknown}
            for row in rows
        ]
