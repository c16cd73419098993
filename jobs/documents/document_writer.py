"""Compares documents of a site with their specification, and writes the differing ones.

Only specified values are compared, each as the database stores it. A document without a difference
is not written. The framework's own functions write, as Administrator and without permission checks.
"""

import html
import json
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from database_tls import encrypt_framework
from desk_entries import (
    ENTRIES,
    SIDEBAR,
    WORKSPACE,
    belongs_to_app,
    clear_cached,
    entries_of,
    has_entries,
)
from job_result import JobError, log
from secret_redaction import redact

MAX_MESSAGE = 500
# A login accepts no longer password.
MAX_PASSWORD = 512
ATTEMPTS = 3
# The framework sets this field of a document that belongs to an app's files. It is never written.
STANDARD = "is_standard"
# Of a User.
DEFAULT_WORKSPACE = "default_workspace"
# Errors that another process may cause by writing at the same time.
CONFLICTS = (
    "QueryDeadlockError",
    "QueryTimeoutError",
    "TimestampMismatchError",
    "DocumentLockedError",
)

# A specified document, see site_documents.py.
Document = dict[str, Any]
# Outcome, message and ignored fields.
Result = tuple[str, str, Sequence[str]]
# The framework and its documents have no types.
Frappe = Any
Doc = Any


class NotAllowed(Exception):
    """The document must not be written."""


class NotKept(Exception):
    """The framework stored other values than specified, and would do so each time."""


@contextmanager
def connected(site: str, wait_seconds: float) -> Iterator[Frappe]:
    """The framework, connected to this site. Sends no mail, and writes no file of an app."""
    import frappe

    encrypt_framework()
    frappe.init(site, sites_path=".")
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            frappe.connect()
            frappe.db.sql("select 1")
            break
        except Exception as error:  # the drivers share no class of errors
            if time.monotonic() >= deadline:
                message = f"{type(error).__name__}: {error}"
                raise JobError("DatabaseUnreachable", message) from None
            log(f"waiting for the database: {type(error).__name__}: {error}")
            time.sleep(2)
    try:
        if "frappe" not in frappe.get_installed_apps():
            raise JobError("SiteIncomplete", f"the framework is not installed on {site}")
        frappe.flags.mute_emails = True
        # In this process only: no limit of users, and no files in the folders of apps.
        frappe.local.conf.update(throttle_user_limit=10**9, developer_mode=0)
        disable_version_15_rules()
        yield frappe
    finally:
        frappe.destroy()


def disable_version_15_rules() -> None:
    """Disables rules of version-15 for saving a user, which version-16 does not have.

    While a site has no System Manager except Administrator, version-15 makes every user one, and
    refuses to disable or delete a user. It also clears the site's whole cache, because users of
    e-mail accounts may have changed.
    """
    from frappe.core.doctype.user import user
    from frappe.model.base_document import get_controller

    controller = get_controller("User")
    for rule in ("add_system_manager_role", "a_system_manager_should_exist"):
        if hasattr(controller, rule):
            setattr(controller, rule, lambda _: None)
    user.ask_pass_update = lambda: None


def text_of(value: object) -> str:
    return "" if value is None else str(value)


def one_line(text: object) -> str:
    """A message without HTML and secrets."""
    text = html.unescape(re.sub(r"<(/?[a-zA-Z][^<>]*)>", " ", redact(str(text))))
    return re.sub(r"\s+([,.;:])", r"\1", " ".join(text.split()))[:MAX_MESSAGE]


class DesiredDocument:
    """The wanted values in this site's version, and the specified fields that it does not have."""

    def __init__(
        self,
        frappe: Frappe,
        document: Document,
        secrets: Mapping[tuple[str, str], Any],
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

    def set_secrets(
        self, document: Document, secrets: Mapping[tuple[str, str], Any], new: bool
    ) -> None:
        self.secret_fields = set(document.get("secrets") or [])
        if not new:
            self.secret_fields -= set(document.get("secretsWhenNew") or [])
        for field in sorted(self.secret_fields):
            value = secrets[document["id"], field]
            if not isinstance(value, str):
                raise NotAllowed(f"the Secret for {field} cannot be read, or lacks the key")
            if not value:
                raise NotAllowed(f"the Secret for {field} is empty")
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


class DocumentWriter:
    """Writes documents. `secrets` has the values by document id and field, or read errors."""

    def __init__(self, frappe: Frappe, secrets: Mapping[tuple[str, str], Any]) -> None:
        self.frappe, self.secrets = frappe, secrets

    def write(self, document: Document) -> Result:
        """Writes a document in one transaction."""
        states = {"present": self.present, "disabled": self.disabled, "absent": self.absent}
        attempt = 1
        while True:
            try:
                result = states[document["state"]](document)
                self.frappe.db.commit()
                return result
            except (Exception, SystemExit) as error:  # some of its functions end the interpreter
                message = self.message_of(error)
                self.roll_back(document, error)
                if type(error).__name__ not in CONFLICTS or attempt == ATTEMPTS:
                    return "Failed", message, []
                time.sleep(0.2 * attempt)
                attempt += 1
            finally:
                self.clear_caches()

    def roll_back(self, document: Document, error: BaseException) -> None:
        """Fails the Job when a server is unreachable: then the document is not at fault."""
        from redis import exceptions

        if isinstance(error, (exceptions.ConnectionError, exceptions.TimeoutError)):
            raise JobError("RedisUnreachable", error) from None
        try:
            self.frappe.db.rollback()
            self.frappe.db.sql("select 1")
        except Exception as lost:
            message = f"{type(lost).__name__}: {lost}"
            raise JobError("DatabaseUnreachable", message) from None
        self.frappe.clear_document_cache(document["doctype"], document["name"])

    def clear_caches(self) -> None:
        """The framework's messages and cached values of one document must not affect the next."""
        self.frappe.clear_messages()
        getattr(self.frappe.db, "value_cache", {}).clear()

    def message_of(self, error: BaseException) -> str:
        """`<class>: <text>`. The text of some errors is only in the framework's message log."""
        logged = [one_line(message) for message in self.logged_messages()]
        arguments = error.args
        text = ""
        if len(arguments) == 1 and isinstance(arguments[0], str):
            text = arguments[0].strip()
        if not text or type(error).__name__ == "MandatoryError":
            unique = "; ".join(dict.fromkeys(filter(None, logged)))
            text = unique or " ".join(text_of(argument) for argument in arguments)
        elif isinstance(error, NotKept):
            text = "; ".join([text, *logged])
        return one_line(f"{type(error).__name__}: {text}")

    def logged_messages(self) -> Iterator[str]:
        """Texts of the framework's messages to the user, which are JSON before version-16."""
        for entry in self.frappe.get_message_log():
            message = json.loads(entry) if isinstance(entry, str) else entry
            yield message.get("message", "")

    # --- states -------------------------------------------------------------------------------

    def present(self, document: Document) -> Result:
        frappe, doctype, name = self.frappe, document["doctype"], document["name"]
        self.check_not_standard_user(document)
        frappe.get_meta(doctype)  # its error for an unknown type is clearer than the database's
        stored = self.stored_name(document)
        desired = DesiredDocument(frappe, document, self.secrets, new=not stored)
        if stored not in (None, name):
            raise NotAllowed(f"the site has this {doctype} as {stored!r}, and ignores case")
        doc = frappe.get_doc(doctype, name) if stored else frappe.new_doc(doctype)
        if doc.get(STANDARD):
            raise NotAllowed(f"{doctype} {name} belongs to an app")
        if stored and document.get("createOnly"):
            return "Unchanged", "", desired.ignored
        differing = self.differences(doc, desired)
        if differing or not stored:
            was_enabled = stored and doc.get("enabled")
            self.set_values(doc, desired, differing)
            if stored:
                doc.save(ignore_permissions=True)
            else:
                self.insert(doc, document, desired)
            self.check_stored(frappe.get_doc(doctype, name), desired)
            if was_enabled and not doc.get("enabled"):
                self.end_sessions(document)
        changed = self.set_password(document, desired) or differing
        changed = self.show_on_desk(document, desired) or changed
        outcome = "Created" if not stored else "Changed" if changed else "Unchanged"
        return outcome, "", desired.ignored

    def disabled(self, document: Document) -> Result:
        self.check_not_standard_user(document)
        if self.stored_name(document) != document["name"]:
            return "Absent", "", []
        doc = self.frappe.get_doc(document["doctype"], document["name"])
        if not self.is_managed(doc, document):
            return "Absent", "", []
        if not doc.meta.has_field("enabled"):
            raise NotAllowed(f"a {document['doctype']} cannot be disabled")
        if doc.enabled:
            doc.enabled = 0
            doc.save(ignore_permissions=True)
        self.end_sessions(document)
        return "Disabled", "", []

    def absent(self, document: Document) -> Result:
        self.check_not_standard_user(document)
        if self.stored_name(document) != document["name"]:
            return "Absent", "", []
        doc = self.frappe.get_doc(document["doctype"], document["name"])
        if doc.get(STANDARD) or self.has_file(doc):  # a migration would create it again
            return "Absent", f"{doc.doctype} {doc.name} belongs to an app, and is retained", []
        if not self.is_managed(doc, document):
            return "Absent", "", []
        self.end_sessions(document)
        is_workspace = document["doctype"] == WORKSPACE
        is_on_desk = is_workspace and has_entries(self.frappe)
        if is_workspace:
            self.forget_default(document["name"])
        if is_on_desk and not doc.get("public"):
            self.add_my_workspaces()
        self.frappe.delete_doc(
            document["doctype"], document["name"], force=True, ignore_permissions=True
        )
        if is_on_desk and doc.get("public"):
            self.remove_from_desk(document["name"])
        return "Deleted", "", []

    def forget_default(self, name: str) -> None:
        """The desk of a user whose default workspace does not exist fails."""
        if self.frappe.get_meta("User").has_field(DEFAULT_WORKSPACE):
            self.frappe.db.set_value("User", {DEFAULT_WORKSPACE: name}, DEFAULT_WORKSPACE, None)
            clear_cached(self.frappe)

    # --- the desk of version-16 -----------------------------------------------------------------

    def show_on_desk(self, document: Document, desired: DesiredDocument) -> bool:
        """Writes the sidebar and the icon of a workspace. Returns whether anything differed."""
        if document["doctype"] != WORKSPACE or not has_entries(self.frappe):
            return False
        changed = self.forget_app(document["name"], desired)
        entries = entries_of(document)
        if not entries:
            return self.remove_from_desk(document["name"]) or changed
        written = [
            self.present(entry)[0]
            for entry in entries
            if not self.frappe.db.exists(entry["doctype"], entry["name"])
            or not belongs_to_app(self.frappe, entry["doctype"], entry["name"])
        ]
        if changed or any(outcome != "Unchanged" for outcome in written):
            clear_cached(self.frappe)
            return True
        return False

    def forget_app(self, name: str, desired: DesiredDocument) -> bool:
        """A migration deletes a public workspace with a module and an app that has no file of it.

        The framework sets the app on each save, and finds it by the module where it is empty.
        """
        doc = self.frappe.get_doc(WORKSPACE, name)
        if desired.fields.get("app") or not doc.get("app") or not doc.get("module"):
            return False
        if self.has_file(doc):
            return False
        self.frappe.db.set_value(WORKSPACE, name, "app", None)
        return True

    def remove_from_desk(self, name: str) -> bool:
        frappe = self.frappe
        found = [
            doctype
            for doctype in reversed(ENTRIES)
            if frappe.db.exists(doctype, name) and not belongs_to_app(frappe, doctype, name)
        ]
        for doctype in found:
            frappe.delete_doc(doctype, name, force=True, ignore_permissions=True)
        if found:
            clear_cached(frappe)
        return bool(found)

    def add_my_workspaces(self) -> None:
        """Version 16.4 does not delete a private workspace where this sidebar does not exist."""
        name = f"My Workspaces-{self.frappe.session.user}"
        if not self.frappe.db.exists(SIDEBAR, name):
            sidebar = self.frappe.new_doc(SIDEBAR)
            sidebar.set("title", name)
            sidebar.insert(ignore_permissions=True)

    # --- checks -------------------------------------------------------------------------------

    def is_managed(self, doc: Doc, document: Document) -> bool:
        """With `onlyAs`, the operator may not have written the document: then its values decide."""
        wanted = document.get("onlyAs")
        if not wanted:
            return True
        return not self.differences(doc, DesiredDocument(self.frappe, wanted, self.secrets))

    def check_not_standard_user(self, document: Document) -> None:
        standard = (user.lower() for user in self.frappe.STANDARD_USERS)
        if document["doctype"] == "User" and document["name"].lower() in standard:
            raise NotAllowed(f"{document['name']} belongs to the framework")

    def has_file(self, doc: Doc) -> bool:
        """Whether an app contains this document: a file in the folder of its module."""
        kind, name = self.frappe.scrub(doc.doctype), self.frappe.scrub(doc.name)
        module = doc.get("module")
        try:
            return bool(module) and os.path.exists(
                self.frappe.get_module_path(module, kind, name, f"{name}.json")
            )
        except Exception:  # the module's app is not installed
            return False

    def stored_name(self, document: Document) -> str | None:
        """The name in the site's database. MariaDB ignores case when it compares names."""
        name: str | None = self.frappe.db.get_value(document["doctype"], document["name"], "name")
        return name

    # --- writing ------------------------------------------------------------------------------

    def insert(self, doc: Doc, document: Document, desired: DesiredDocument) -> None:
        is_user = document["doctype"] == "User"
        named_by_field = is_user or (doc.meta.autoname or "").startswith("field:")
        welcome = is_user and desired.fields.get("send_welcome_email")
        doc.flags.no_welcome_mail = not welcome
        self.frappe.flags.mute_emails = not welcome
        try:
            set_name = None if named_by_field else document["name"]
            doc.insert(ignore_permissions=True, set_name=set_name)
        finally:
            self.frappe.flags.mute_emails = True
        if doc.name != document["name"]:
            raise NotKept(f"the site names it {doc.name!r}")

    def set_password(self, document: Document, desired: DesiredDocument) -> bool:
        """Sets the password if it differs, and ends the user's sessions. Returns whether it did."""
        if desired.password is None:
            return False
        from frappe.utils.password import check_password, update_password

        try:
            check_password(document["name"], desired.password, delete_tracker_cache=False)
            return False
        except self.frappe.AuthenticationError:
            update_password(document["name"], desired.password, logout_all_sessions=True)
            return True

    def end_sessions(self, document: Document) -> None:
        if document["doctype"] == "User":
            from frappe.sessions import clear_sessions

            clear_sessions(user=document["name"], force=True)

    def set_values(self, doc: Doc, desired: DesiredDocument, differing: Sequence[str]) -> None:
        for field in differing:
            if field in desired.tables:
                self.set_rows(doc, field, desired.tables[field])
            elif field in desired.json:
                value = desired.json[field]
                doc.set(field, None if value is None else json.dumps(value, ensure_ascii=False))
            else:
                doc.set(field, desired.hidden.get(field, desired.fields.get(field)))

    def set_rows(self, doc: Doc, table: str, rows: Sequence[dict[str, Any]]) -> None:
        """Keeps equal rows, so that they keep their names."""
        kept, existing = [], list(doc.get(table))
        for row in rows:
            same = next((old for old in existing if self.same_row(old, row)), None)
            if same:
                existing.remove(same)
            kept.append(same or dict(row))
        doc.set(table, [])
        for index, row in enumerate(kept, 1):
            doc.append(table, row).idx = index

    def check_stored(self, doc: Doc, desired: DesiredDocument) -> None:
        differing = self.differences(doc, desired)
        if differing:
            raise NotKept("; ".join(self.loss(doc, desired, field) for field in differing))

    def loss(self, doc: Doc, desired: DesiredDocument, field: str) -> str:
        """Describes how the stored field differs, without secrets."""
        if field in desired.fields and field not in desired.secret_fields:
            return f"the site stores {field} as {text_of(doc.get(field))!r}"
        if field in desired.tables:
            missing = [
                row
                for row in desired.tables[field]
                if not any(self.same_row(stored, row) for stored in doc.get(field))
            ]
            if missing:
                rows = json.dumps(missing, ensure_ascii=False)
                return f"the site does not keep these rows of {field}: {rows}"
        return f"the site changes {field}"

    # --- comparing ----------------------------------------------------------------------------

    def differences(self, doc: Doc, desired: DesiredDocument) -> list[str]:
        """Names of the specified fields whose stored values differ."""
        field_of, stored = doc.meta.get_field, doc.get
        return [
            *(
                field
                for field, value in desired.fields.items()
                if not self.same(field_of(field), stored(field), value)
            ),
            *(
                field
                for field, value in desired.json.items()
                if not same_json(stored(field), value)
            ),
            *(
                table
                for table, rows in desired.tables.items()
                if not self.same_rows(field_of(table), stored(table), rows)
            ),
            *(
                field
                for field, value in desired.hidden.items()
                if not self.same_hidden(doc, field, value)
            ),
        ]

    def same(self, field: Any, have: Any, want: Any) -> bool:
        from frappe.utils import cint, flt, get_datetime, getdate

        kind = field.fieldtype
        if kind in ("Check", "Int"):
            return bool(cint(have) == cint(want))
        if kind in ("Float", "Currency", "Percent"):
            return bool(round(flt(have), 9) == round(flt(want), 9))
        if kind in ("Date", "Datetime") and have and want:
            cast = getdate if kind == "Date" else get_datetime
            return bool(cast(have) == cast(want))
        return text_of(have) == text_of(want)

    def same_row(self, have: Doc, row: Mapping[str, Any]) -> bool:
        return all(
            self.same(have.meta.get_field(column), have.get(column), value)
            for column, value in row.items()
        )

    def same_rows(self, field: Any, have: Sequence[Doc], rows: Sequence[Mapping[str, Any]]) -> bool:
        if len(have) != len(rows):
            return False
        if field.options == "Has Role":  # the order of roles has no meaning
            roles = sorted(text_of(row.get("role")) for row in rows)
            return sorted(text_of(row.role) for row in have) == roles
        return all(self.same_row(*pair) for pair in zip(have, rows, strict=True))

    def same_hidden(self, doc: Doc, field: str, value: str) -> bool:
        """The framework deletes a secret on saving when its column, which has stars, is empty."""
        from frappe.utils.password import get_decrypted_password

        if doc.is_new() or not doc.get(field):
            return False
        try:
            stored = get_decrypted_password(doc.doctype, doc.name, field, raise_exception=False)
            return bool(stored == value)
        except self.frappe.ValidationError:  # it was encrypted with another key
            return False


def same_json(have: str | None, want: object) -> bool:
    if have in (None, ""):
        return want is None
    try:
        return bool(json.loads(have or "") == want)
    except ValueError:
        return False
