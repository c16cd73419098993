"""TEST CODE: documents with child tables, checked and stored in the framework's order and with its words.

Not here: permissions, versions, workflows, virtual and dynamic fields, hooks of apps, the cleaning of HTML.
"""

import frappe
from frappe.model.base_document import get_controller
from frappe.schema import LONG, TABLES
from frappe.utils import cint, flt, now

NUMBERS = {"Check": cint, "Int": cint, "Float": flt}


def get_doc(doctype, name=None):
    """A stored document, or a new one of a mapping."""
    if isinstance(doctype, dict):
        return get_controller(doctype["doctype"])(doctype)
    row = stored(doctype, {"name": name})
    if not row:
        frappe.throw(f"{doctype} {name} not found", frappe.DoesNotExistError)
    doc = get_controller(doctype)({"doctype": doctype, **row[0]}, new=False)
    doc.load_tables()
    return doc


def new_doc(doctype):
    doc = get_controller(doctype)({"doctype": doctype})
    doc.set_defaults()
    return doc


def stored(doctype, where, order_by=None):
    return frappe.db.select(doctype, frappe.get_meta(doctype).columns, where, order_by=order_by)


class Document:
    def __init__(self, values, new=True):
        self.flags = frappe._dict()
        self.doctype, self.name, self._new, self._before = values["doctype"], None, new, None
        for field in self.meta.fields:
            self.__dict__.setdefault(field.fieldname, [] if field.fieldtype in TABLES else None)
        for name, value in values.items():
            self.set(name, value)

    @property
    def meta(self):
        return frappe.get_meta(self.__dict__["doctype"])

    def get(self, name):
        return self.__dict__.get(name)

    def set(self, name, value):
        field = self.meta.get_field(name)
        if field and field.fieldtype in TABLES:
            self.__dict__[name] = []
            for row in value or []:
                self.append(name, row)
        else:
            self.__dict__[name] = value

    def append(self, table, row=None):
        """`row`: a mapping, whose doctype is set here, or a document."""
        if not isinstance(row, Document):
            row = {} if row is None else row
            row["doctype"] = self.meta.get_field(table).options
            row = get_controller(row["doctype"])(row)
        row.parent, row.parenttype, row.parentfield = self.name, self.doctype, table
        row.idx = row.get("idx") or len(self.get(table)) + 1
        self.get(table).append(row)
        return row

    def is_new(self):
        return self._new

    def children(self):
        return [row for field in self.meta.get_table_fields() for row in self.get(field.fieldname)]

    def load_tables(self):
        for field in self.meta.get_table_fields():
            where = {"parent": self.name, "parenttype": self.doctype, "parentfield": field.fieldname}
            rows = stored(field.options, where, order_by="idx")
            self.__dict__[field.fieldname] = [get_controller(field.options)({"doctype": field.options, **row}, new=False) for row in rows]

    def has_value_changed(self, name):
        return self._before is None or self._before.get(name) != self.get(name)

    # --- what a controller may have

    def autoname(self):
        pass

    before_insert = validate = after_insert = on_update = on_trash = after_delete = autoname

    # --- storing

    def insert(self, ignore_permissions=None, set_name=None):
        self.set_defaults()
        self.modified = self.creation = now()
        self.owner = frappe.session.user or "Administrator"
        self.validate_links()
        self.before_insert()
        self.set_name(set_name)
        self.validate()
        self.check()
        self.store()
        for row in self.children():
            row.store()
        self.after_insert()
        self.flags.in_insert = True
        self.on_update()
        self.flags.in_insert = False
        self._new = False
        return self

    def save(self, ignore_permissions=None):
        if self._new:
            return self.insert()
        self.set_defaults()
        read, self._before = self.modified, get_doc(self.doctype, self.name)
        if str(self._before.modified) != str(read):
            words = f"Error: Document has been modified after you have opened it ({self._before.modified}, {read}). "
            frappe.msgprint(words + "Please refresh to get the latest document.", frappe.TimestampMismatchError)
        self.modified = now()
        self.validate_links()
        self.validate()
        self.check()
        self.check_constants()
        self.store()
        self.store_tables()
        self.on_update()
        return self

    def set_defaults(self):
        for doc in [*([self] if self._new else []), *(row for row in self.children() if row._new)]:
            for field in doc.meta.fields:
                if field.default is not None and doc.get(field.fieldname) is None:
                    doc.set(field.fieldname, field.default)

    def set_name(self, name):
        self.name = name
        if not name:
            self.autoname()
        if not self.name and (self.meta.autoname or "").startswith("field:"):
            field = self.meta.autoname[6:]
            self.name = self.get(field)
            if not self.name:
                frappe.throw(f"{self.meta.get_label(field)} is required")
        self.name = self.name or frappe.generate_hash(10)

    def row(self):
        """The columns' values as the database takes them."""
        values = {}
        for name in self.meta.columns:
            field, value = self.meta.get_field(name), self.get(name)
            kind = field.fieldtype if field else None
            if kind in NUMBERS:
                value = min(NUMBERS[kind](value), 1) if kind == "Check" else NUMBERS[kind](value)
            elif value == "" and (kind in ("Date", "Datetime") or (field and field.unique)):
                value = None
            values[name] = value
        return values

    def store(self):
        if self.meta.istable and self._new:
            self.name, self.creation, self.modified = frappe.generate_hash(10), now(), now()
        row = self.row()
        try:
            if self._new:
                frappe.db.insert(self.doctype, **row)
            else:
                del row["name"]
                frappe.db.set_value(self.doctype, self.name, **row)
        except Exception as error:
            if not frappe.db.is_duplicate_entry(error):
                raise
            self.refuse_duplicate(error)
        self._new = self._new and not self.meta.istable

    def refuse_duplicate(self, error):
        if "PRIMARY" in str(error) or "_pkey" in str(error):
            frappe.msgprint(f"{self.doctype} {frappe.bold(self.name)} already exists")
            raise frappe.DuplicateEntryError(self.doctype, self.name, error)
        column = next((field for field in self.meta.fields if field.unique and f"_{field.fieldname}" in str(error)), None)
        frappe.msgprint(f"{column.label if column else 'Name'} must be unique")
        raise frappe.UniqueValidationError(self.doctype, self.name, error)

    def store_tables(self):
        for field in self.meta.get_table_fields():
            rows = self.get(field.fieldname)
            kept = {row.name for row in rows}
            where = {"parent": self.name, "parenttype": self.doctype, "parentfield": field.fieldname}
            for old in stored(field.options, where):
                if old.name not in kept:
                    frappe.db.delete(field.options, name=old.name)
            for row in rows:
                row.parent = self.name
                row.store()

    # --- checking

    def validate_links(self):
        missing = []
        for doc in (self, *self.children()):
            for field in doc.meta.fields:
                name = doc.get(field.fieldname)
                if not name or field.fieldtype not in ("Link", "Dynamic Link"):
                    continue
                doctype = field.options if field.fieldtype == "Link" else doc.get(field.options)
                if not doctype:
                    frappe.throw(f"{doc.meta.get_label(field.options)} must be set first")
                found = frappe.db.get_value(doctype, name, "name", cache=True)
                if found:
                    doc.set(field.fieldname, found)  # as the site writes it
                else:
                    place = f"Row #{doc.idx}: " if doc.meta.istable else ""
                    missing.append(f"{place}{field.label}: {name}")
        if missing:
            frappe.throw(f"Could not find {', '.join(missing)}", frappe.LinkValidationError)

    def check(self):
        for row in self.children():
            row.parent = self.name
        self.check_mandatory()
        for doc in (self, *self.children()):
            doc.check_selects()
            doc.check_lengths()
        self.save_passwords()

    def check_mandatory(self):
        missing = [entry for doc in (self, *self.children()) for entry in doc.missing_fields()]
        for _, words in missing:
            frappe.msgprint(words)
        if missing:
            raise frappe.MandatoryError(f"[{self.doctype}, {self.name}]: {', '.join(name for name, _ in missing)}")

    def missing_fields(self):
        for field in self.meta.fields:
            value = self.get(field.fieldname)
            if not field.reqd or (value != [] and str("" if value is None else value).strip()):
                continue
            if field.fieldtype in TABLES:
                colon = "" if frappe.VERSION >= (16, 0) else ":"
                yield field.fieldname, f"Error: Data missing in table{colon} {field.label}"
            elif self.meta.istable:
                yield field.fieldname, f"Error: {frappe.bold(self.doctype)} Row #{self.idx}: Value missing for: {field.label}"
            else:
                yield field.fieldname, f"Error: Value missing for {self.doctype}: {field.label}"

    def check_selects(self):
        for field in self.meta.fields:
            value, options = self.get(field.fieldname), (field.options or "").split("\n")
            if field.fieldtype != "Select" or not value or not any(options):
                continue
            self.set(field.fieldname, str(value).strip())
            if self.get(field.fieldname) not in options:
                place = f"Row #{self.idx}:" if self.meta.istable else ""
                known = '", "'.join(options)
                frappe.throw(f'{place} {self.meta.get_label(field.fieldname)} cannot be "{value}". It should be one of "{known}"')

    def check_lengths(self):
        for field in self.meta.fields:
            value = self.get(field.fieldname)
            if field.fieldtype in (*TABLES, *LONG, *NUMBERS, "Date", "Datetime") or len(str(value or "")) <= 140:
                continue
            words = f"{self.doctype} {self.name}: '{frappe.bold(field.label)}' ({value}) will get truncated, as max characters allowed is 140"
            frappe.throw(words, frappe.CharacterLengthExceededError)

    def check_constants(self):
        for field in self.meta.fields:
            if field.set_only_once and self.has_value_changed(field.fieldname):
                frappe.throw(f"Value cannot be changed for {frappe.bold(field.label)}", frappe.CannotChangeConstantError)

    def save_passwords(self):
        """Into `__Auth`; the document's own column keeps as many stars. Without them the secret is forgotten."""
        from frappe.utils.password import remove_encrypted_password, set_encrypted_password

        for field in self.meta.fields:
            value = self.get(field.fieldname)
            if field.fieldtype != "Password":
                continue
            if not value:
                remove_encrypted_password(self.doctype, self.name, field.fieldname)
            elif set(value) != {"*"}:
                set_encrypted_password(self.doctype, self.name, value, field.fieldname)
                self.set(field.fieldname, "*" * len(value))
