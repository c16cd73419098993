"""Compares a document of a site with its specification.

Only specified values are compared, each as the database stores it.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from desired_document import DesiredDocument

# A document of the framework has no type.
Doc = Any


def text_of(value: object) -> str:
    return "" if value is None else str(value)


def differences(doc: Doc, desired: DesiredDocument) -> list[str]:
    """Names of the specified fields whose stored values differ."""
    field_of, stored = doc.meta.get_field, doc.get
    return [
        *(
            field
            for field, value in desired.fields.items()
            if not same(field_of(field), stored(field), value)
        ),
        *(field for field, value in desired.json.items() if not same_json(stored(field), value)),
        *(
            table
            for table, rows in desired.tables.items()
            if not same_rows(field_of(table), stored(table), rows)
        ),
        *(field for field, value in desired.hidden.items() if not same_hidden(doc, field, value)),
    ]


def same(field: Any, have: Any, want: Any) -> bool:
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


def same_row(have: Doc, row: Mapping[str, Any]) -> bool:
    return all(
        same(have.meta.get_field(column), have.get(column), value) for column, value in row.items()
    )


def same_rows(field: Any, have: Sequence[Doc], rows: Sequence[Mapping[str, Any]]) -> bool:
    if len(have) != len(rows):
        return False
    if field.options == "Has Role":  # the order of roles has no meaning
        roles = sorted(text_of(row.get("role")) for row in rows)
        return sorted(text_of(row.role) for row in have) == roles
    return all(same_row(*pair) for pair in zip(have, rows, strict=True))


def same_hidden(doc: Doc, field: str, value: str) -> bool:
    """The framework deletes a secret on saving when its column, which has stars, is empty."""
    from frappe import ValidationError
    from frappe.utils.password import get_decrypted_password

    if doc.is_new() or not doc.get(field):
        return False
    try:
        stored = get_decrypted_password(doc.doctype, doc.name, field, raise_exception=False)
        return bool(stored == value)
    except ValidationError:  # it was encrypted with another key
        return False


def same_json(have: str | None, want: object) -> bool:
    if have in (None, ""):
        return want is None
    try:
        return bool(json.loads(have or "") == want)
    except ValueError:
        return False
