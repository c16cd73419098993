"""Compares documents of a site with what they should be, and writes those that differ, by the framework's own functions.

Only what is given is compared, each value as the database holds it. A document that is as it should be is not written.
Everything happens as Administrator, whose permissions are not asked for.
"""

import html
import json
import os
import re
import time
from contextlib import contextmanager

from site_common import Refused, redact, say

MAX_MESSAGE = 500
# More than a login takes: such a password could never be used.
MAX_PASSWORD = 512
ATTEMPTS = 3
# Fields by which the framework says that a document belongs to an app's files: never written.
STANDARD = "is_standard"


class NotAllowed(Exception):
    """This document is not to be touched."""


class NotKept(Exception):
    """The framework stored something else than it was given, and would do so each time."""


@contextmanager
def connected(site, wait_seconds):
    """The framework with this site, once its database answers. Sends no mail, writes no file of an app."""
    import frappe

    frappe.init(site, sites_path=".")
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            frappe.connect()
            frappe.db.sql("select 1")
            break
        except Exception as error:  # the drivers have nothing in common
            if time.monotonic() >= deadline:
                raise Refused("DatabaseUnreachable", f"{type(error).__name__}: {error}") from None
            say(f"waiting for the database: {type(error).__name__}: {error}")
            time.sleep(2)
    try:
        if "frappe" not in frappe.get_installed_apps():
            raise Refused("SiteIncomplete", f"the framework is not installed on {site}")
        frappe.flags.mute_emails = True
        # Of this process only: as many users as are asked for, and no files in the folders of apps.
        frappe.local.conf.update(throttle_user_limit=10**9, developer_mode=0)
        as_version_16()
        yield frappe
    finally:
        frappe.destroy()


def as_version_16():
    """Three things that version-15 does whenever a user is saved, which version-16 has given up.

    As long as a site has no other System Manager than Administrator, who is always there, it makes anybody one, and lets
    nobody be disabled or deleted. And it clears the whole cache of the site, to tell that users of e-mail accounts may
    have changed.
    """
    from frappe.core.doctype.user import user
    from frappe.model.base_document import get_controller

    controller = get_controller("User")
    for rule in ("add_system_manager_role", "a_system_manager_should_exist"):
        if hasattr(controller, rule):
            setattr(controller, rule, lambda self: None)
    user.ask_pass_update = lambda: None


def text_of(value):
    return "" if value is None else str(value)


def one_line(text):
    """What a message says, without its HTML and our secrets."""
    text = html.unescape(re.sub(r"<(/?[a-zA-Z][^<>]*)>", " ", redact(str(text))))
    return re.sub(r"\s+([,.;:])", r"\1", " ".join(text.split()))[:MAX_MESSAGE]


class Plan:
    """What a document should be in this site's version, and the given fields that this version does not have."""

    def __init__(self, frappe, document, secrets, new=False):
        self.meta = frappe.get_meta(document["doctype"])
        self.fields = dict(document.get("fields") or {})
        self.json = dict(document.get("json") or {})
        self.tables = dict(document.get("tables") or {})
        self.hidden, self.password = {}, None
        self.set_names(document)
        self.set_secrets(document, secrets, new)
        self.ignored = []
        for part in (self.fields, self.json, self.tables, self.hidden):
            for field in [field for field in part if field == STANDARD or not self.meta.has_field(field)]:
                del part[field]
                self.ignored.append(field)
        self.tables = {table: self.known_columns(frappe, table, rows) for table, rows in self.tables.items()}

    def set_names(self, document):
        if document["doctype"] == "User":
            self.fields.setdefault("email", document["name"])
            self.set_roles()
        elif (self.meta.autoname or "").startswith("field:"):
            self.fields.setdefault(self.meta.autoname[6:], document["name"])

    def set_roles(self):
        """A role profile, which version-16 has in a table and earlier ones in a field, replaces the user's roles."""
        if "role_profile" not in self.fields and "roles" not in self.tables:
            return
        profile = self.fields.pop("role_profile", None)
        if profile:
            self.tables.pop("roles", None)
        if self.meta.has_field("role_profiles"):
            self.tables["role_profiles"] = [{"role_profile": profile}] if profile else []
        else:
            self.fields["role_profile_name"] = profile

    def set_secrets(self, document, secrets, new):
        self.secret = set(document.get("secrets") or [])
        if not new:
            self.secret -= set(document.get("secretsWhenNew") or [])
        for field in sorted(self.secret):
            value = secrets[document["id"], field]
            if not isinstance(value, str):
                raise NotAllowed(f"the Secret for {field} cannot be read, or lacks the key")
            if not value:
                raise NotAllowed(f"the Secret for {field} is empty")
            if document["doctype"] == "User" and field == "password":
                if len(value) > MAX_PASSWORD:
                    raise NotAllowed(f"the password is longer than {MAX_PASSWORD} characters, which is the most that a login takes")
                self.password = value
            elif self.meta.has_field(field) and self.meta.get_field(field).fieldtype == "Password":
                self.hidden[field] = value
            else:
                self.fields[field] = value

    def known_columns(self, frappe, table, rows):
        meta = frappe.get_meta(self.meta.get_field(table).options)
        unknown = {column for row in rows for column in row if not meta.has_field(column)}
        self.ignored += [f"{table}.{column}" for column in sorted(unknown)]
        return [{column: value for column, value in row.items() if column not in unknown} for row in rows]


class DocumentWriter:
    """`secrets`: the values by document id and field; what is no text could not be read."""

    def __init__(self, frappe, secrets):
        self.frappe, self.secrets = frappe, secrets

    def write(self, document):
        """(outcome, message, ignored fields). Commits what it did, or leaves nothing of it."""
        for attempt in range(ATTEMPTS):
            try:
                outcome, message, ignored = getattr(self, document["state"])(document)
                self.frappe.db.commit()
                return outcome, message, ignored
            except (Exception, SystemExit) as error:  # the framework ends the interpreter here and there
                words = self.words_of(error)
                self.undo(document, error)
                if not self.passes(error) or attempt + 1 == ATTEMPTS:
                    return "Failed", words, []
                time.sleep(0.2 * (attempt + 1))
            finally:
                self.forget()

    def undo(self, document, error):
        """Also tells a broken document from broken servers: those end the Job, and another one goes on."""
        from redis.exceptions import ConnectionError, TimeoutError

        if isinstance(error, (ConnectionError, TimeoutError)):
            raise Refused("RedisUnreachable", error) from None
        try:
            self.frappe.db.rollback()
            self.frappe.db.sql("select 1")
        except Exception as lost:
            raise Refused("DatabaseUnreachable", f"{type(lost).__name__}: {lost}") from None
        self.frappe.clear_document_cache(document["doctype"], document["name"])

    def passes(self, error):
        """Whether somebody else's write was in the way."""
        names = ("QueryDeadlockError", "QueryTimeoutError", "TimestampMismatchError", "DocumentLockedError")
        return type(error).__name__ in names

    def forget(self):
        """What the framework remembers of one document must not be true of the next."""
        self.frappe.clear_messages()
        getattr(self.frappe.db, "value_cache", {}).clear()

    def words_of(self, error):
        """`<class>: <text>`; the framework says some things to the user only, and raises an error without words."""
        said = [one_line(message.get("message", "")) for message in map(self.as_message, self.frappe.get_message_log())]
        text = error.args[0].strip() if len(error.args) == 1 and isinstance(error.args[0], str) else ""
        if not text or type(error).__name__ == "MandatoryError":
            text = "; ".join(dict.fromkeys(filter(None, said))) or " ".join(text_of(arg) for arg in error.args)
        elif isinstance(error, NotKept):
            text = "; ".join([text, *said])
        return one_line(f"{type(error).__name__}: {text}")

    def as_message(self, message):
        return json.loads(message) if isinstance(message, str) else message

    # --- states

    def present(self, document):
        frappe, doctype, name = self.frappe, document["doctype"], document["name"]
        self.check(document)
        frappe.get_meta(doctype)  # where there is no such type, this says so in better words than the database
        stored = self.stored_name(document)
        plan = Plan(frappe, document, self.secrets, new=not stored)
        if stored not in (None, name):
            raise NotAllowed(f"the site has this {doctype} as {stored!r}, and tells no capitals from small letters")
        doc = frappe.get_doc(doctype, name) if stored else frappe.new_doc(doctype)
        if doc.get(STANDARD):
            raise NotAllowed(f"{doctype} {name} belongs to an app")
        differing = self.differences(doc, plan)
        if differing or not stored:
            was_enabled = stored and doc.get("enabled")
            self.put(doc, plan, differing)
            if stored:
                doc.save(ignore_permissions=True)
            else:
                self.insert(doc, document, plan)
            self.check_kept(frappe.get_doc(doctype, name), plan)
            if was_enabled and not doc.get("enabled"):
                self.end_sessions(document)
        changed = self.set_password(document, plan) or differing
        return ("Created" if not stored else "Changed" if changed else "Unchanged"), "", plan.ignored

    def disabled(self, document):
        self.check(document)
        if self.stored_name(document) != document["name"]:
            return "Absent", "", []
        doc = self.frappe.get_doc(document["doctype"], document["name"])
        if not self.ours(doc, document):
            return "Absent", "", []
        if not doc.meta.has_field("enabled"):
            raise NotAllowed(f"a {document['doctype']} cannot be disabled")
        if doc.enabled:
            doc.enabled = 0
            doc.save(ignore_permissions=True)
        self.end_sessions(document)
        return "Disabled", "", []

    def absent(self, document):
        self.check(document)
        if self.stored_name(document) != document["name"]:
            return "Absent", "", []
        doc = self.frappe.get_doc(document["doctype"], document["name"])
        if doc.get(STANDARD) or self.has_file(doc):  # never ours alone, and a migration would bring it back
            return "Absent", f"{doc.doctype} {doc.name} belongs to an app, and stays", []
        if not self.ours(doc, document):
            return "Absent", "", []
        self.end_sessions(document)
        self.frappe.delete_doc(document["doctype"], document["name"], force=True, ignore_permissions=True)
        return "Deleted", "", []

    # --- parts

    def ours(self, doc, document):
        """What may not have been written, `onlyAs`, is ours only where it is as it would have been written."""
        wanted = document.get("onlyAs")
        return not wanted or not self.differences(doc, Plan(self.frappe, wanted, self.secrets))

    def check(self, document):
        if document["doctype"] == "User" and document["name"].lower() in (user.lower() for user in self.frappe.STANDARD_USERS):
            raise NotAllowed(f"{document['name']} belongs to the framework")

    def has_file(self, doc):
        """Whether an app brings this document: it is in the folder of its module."""
        kind, name, module = self.frappe.scrub(doc.doctype), self.frappe.scrub(doc.name), doc.get("module")
        try:
            return bool(module) and os.path.exists(self.frappe.get_module_path(module, kind, name, f"{name}.json"))
        except Exception:  # a module of an app that is not there
            return False

    def stored_name(self, document):
        """As the site writes it: MariaDB finds it whatever its capitals are."""
        return self.frappe.db.get_value(document["doctype"], document["name"], "name")

    def insert(self, doc, document, plan):
        named_by_field = document["doctype"] == "User" or (doc.meta.autoname or "").startswith("field:")
        welcome = document["doctype"] == "User" and plan.fields.get("send_welcome_email")
        doc.flags.no_welcome_mail = not welcome
        self.frappe.flags.mute_emails = not welcome
        try:
            doc.insert(ignore_permissions=True, set_name=None if named_by_field else document["name"])
        finally:
            self.frappe.flags.mute_emails = True
        if doc.name != document["name"]:
            raise NotKept(f"the site names it {doc.name!r}")

    def set_password(self, document, plan):
        """Whether the password was another one. Ends the user's sessions then."""
        if plan.password is None:
            return False
        from frappe.utils.password import check_password, update_password

        try:
            check_password(document["name"], plan.password, delete_tracker_cache=False)
            return False
        except self.frappe.AuthenticationError:
            update_password(document["name"], plan.password, logout_all_sessions=True)
            return True

    def end_sessions(self, document):
        if document["doctype"] == "User":
            from frappe.sessions import clear_sessions

            clear_sessions(user=document["name"], force=True)

    def put(self, doc, plan, differing):
        for field in differing:
            if field in plan.tables:
                self.put_rows(doc, field, plan.tables[field])
            elif field in plan.json:
                value = plan.json[field]
                doc.set(field, None if value is None else json.dumps(value, ensure_ascii=False))
            else:
                doc.set(field, plan.hidden.get(field, plan.fields.get(field)))

    def put_rows(self, doc, table, rows):
        """Rows that are right stay the rows they are."""
        kept, have = [], list(doc.get(table))
        for row in rows:
            same = next((old for old in have if self.same_row(old, row)), None)
            if same:
                have.remove(same)
            kept.append(same or dict(row))
        doc.set(table, [])
        for index, row in enumerate(kept, 1):
            doc.append(table, row).idx = index

    def check_kept(self, doc, plan):
        lost = self.differences(doc, plan)
        if lost:
            raise NotKept("; ".join(self.loss(doc, plan, field) for field in lost))

    def loss(self, doc, plan, field):
        if field in plan.fields and field not in plan.secret:
            return f"the site stores {field} as {text_of(doc.get(field))!r}"
        if field in plan.tables:
            missing = [row for row in plan.tables[field] if not any(self.same_row(have, row) for have in doc.get(field))]
            if missing:
                return f"the site does not keep these rows of {field}: {json.dumps(missing, ensure_ascii=False)}"
        return f"the site changes {field}"

    # --- comparing

    def differences(self, doc, plan):
        """Names of the given fields whose values are others."""
        fields = [field for field, value in plan.fields.items() if not self.same(doc.meta.get_field(field), doc.get(field), value)]
        texts = [field for field, value in plan.json.items() if not same_json(doc.get(field), value)]
        tables = [table for table, rows in plan.tables.items() if not self.same_rows(doc.meta.get_field(table), doc.get(table), rows)]
        hidden = [field for field, value in plan.hidden.items() if not self.same_hidden(doc, field, value)]
        return fields + texts + tables + hidden

    def same(self, field, have, want):
        from frappe.utils import cint, flt, get_datetime, getdate

        kind = field.fieldtype
        if kind in ("Check", "Int"):
            return cint(have) == cint(want)
        if kind in ("Float", "Currency", "Percent"):
            return round(flt(have), 9) == round(flt(want), 9)
        if kind in ("Date", "Datetime") and have and want:
            cast = getdate if kind == "Date" else get_datetime
            return cast(have) == cast(want)
        return text_of(have) == text_of(want)

    def same_row(self, have, row):
        return all(self.same(have.meta.get_field(column), have.get(column), value) for column, value in row.items())

    def same_rows(self, field, have, rows):
        if len(have) != len(rows):
            return False
        if field.options == "Has Role":  # whose order means nothing
            return sorted(text_of(row.role) for row in have) == sorted(text_of(row.get("role")) for row in rows)
        return all(self.same_row(*pair) for pair in zip(have, rows))

    def same_hidden(self, doc, field, value):
        """The framework removes a secret on saving when its column, which holds stars, is empty."""
        from frappe.utils.password import get_decrypted_password

        if doc.is_new() or not doc.get(field):
            return False
        try:
            return get_decrypted_password(doc.doctype, doc.name, field, raise_exception=False) == value
        except self.frappe.ValidationError:  # another key encrypted it
            return False


def same_json(have, want):
    if have in (None, ""):
        return want is None
    try:
        return json.loads(have) == want
    except ValueError:
        return False
