"""Writes documents of a site that differ from their specification, and removes documents.

The framework's own functions write, as Administrator and without permission checks.
"""

import html
import json
import re
import time
from collections.abc import Iterator, Sequence
from typing import Any

from desired_document import STANDARD, DesiredDocument, Document, NotAllowed, Secrets
from desk_entries import WORKSPACE, Desk, has_entries, has_file
from document_comparison import Doc, differences, same_row, text_of
from job_result import JobError
from secret_redaction import redact
from site_connection import Frappe

MAX_MESSAGE = 500
ATTEMPTS = 3
# Errors that another process may cause by writing at the same time.
CONFLICTS = (
    "QueryDeadlockError",
    "QueryTimeoutError",
    "TimestampMismatchError",
    "DocumentLockedError",
)

# Outcome, message and ignored fields.
Result = tuple[str, str, Sequence[str]]


class NotKept(Exception):
    """The framework stored other values than specified, and would do so each time."""


def one_line(text: object) -> str:
    """A message without HTML and secrets."""
    text = html.unescape(re.sub(r"<(/?[a-zA-Z][^<>]*)>", " ", redact(str(text))))
    return re.sub(r"\s+([,.;:])", r"\1", " ".join(text.split()))[:MAX_MESSAGE]


class DocumentWriter:
    """Writes documents."""

    def __init__(self, frappe: Frappe, secrets: Secrets) -> None:
        self.frappe, self.secrets = frappe, secrets
        self.desk = Desk(frappe, lambda document: self.present(document)[0])

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
        differing = differences(doc, desired)
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
        changed = self.desk.show(document, desired) or changed
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
        if doc.get(STANDARD) or has_file(self.frappe, doc):  # a migration would create it again
            return "Absent", f"{doc.doctype} {doc.name} belongs to an app, and is retained", []
        if not self.is_managed(doc, document):
            return "Absent", "", []
        self.end_sessions(document)
        is_workspace = document["doctype"] == WORKSPACE
        if is_workspace:
            self.desk.prepare_deletion(doc)
        self.frappe.delete_doc(
            document["doctype"], document["name"], force=True, ignore_permissions=True
        )
        if is_workspace and doc.get("public") and has_entries(self.frappe):
            self.desk.remove(document["name"])
        return "Deleted", "", []

    # --- checks -------------------------------------------------------------------------------

    def is_managed(self, doc: Doc, document: Document) -> bool:
        """With `onlyAs`, the operator may not have written the document: then its values decide."""
        wanted = document.get("onlyAs")
        if not wanted:
            return True
        return not differences(doc, DesiredDocument(self.frappe, wanted, self.secrets))

    def check_not_standard_user(self, document: Document) -> None:
        standard = (user.lower() for user in self.frappe.STANDARD_USERS)
        if document["doctype"] == "User" and document["name"].lower() in standard:
            raise NotAllowed(f"{document['name']} belongs to the framework")

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
            same = next((old for old in existing if same_row(old, row)), None)
            if same:
                existing.remove(same)
            kept.append(same or dict(row))
        doc.set(table, [])
        for index, row in enumerate(kept, 1):
            doc.append(table, row).idx = index

    def check_stored(self, doc: Doc, desired: DesiredDocument) -> None:
        differing = differences(doc, desired)
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
                if not any(same_row(stored, row) for stored in doc.get(field))
            ]
            if missing:
                rows = json.dumps(missing, ensure_ascii=False)
                return f"the site does not keep these rows of {field}: {rows}"
        return f"the site changes {field}"
