"""What the setup wizard and the Social Login Keys are given."""

from datetime import date
from types import SimpleNamespace

import pytest

from configuration_values import Refused
from desired_document import Document
from desk_entries import entries_of
from setup_wizard import abbreviation_of, fiscal_year, wizard_args
from social_logins import name_of, parsed


@pytest.mark.parametrize(
    ("start", "today", "first", "last"),
    [
        ("01-01", date(2026, 11, 23), date(2026, 1, 1), date(2026, 12, 31)),
        ("04-01", date(2026, 11, 23), date(2026, 4, 1), date(2027, 3, 31)),
        ("04-01", date(2026, 3, 31), date(2025, 4, 1), date(2026, 3, 31)),
        ("04-01", date(2026, 4, 1), date(2026, 4, 1), date(2027, 3, 31)),
        ("03-01", date(2027, 6, 1), date(2027, 3, 1), date(2028, 2, 29)),
        ("12-31", date(2026, 12, 30), date(2025, 12, 31), date(2026, 12, 30)),
    ],
)
def test_the_fiscal_year_has_today(start: str, today: date, first: date, last: date) -> None:
    assert fiscal_year(start, today) == (first, last)


@pytest.mark.parametrize(
    ("name", "abbreviation"),
    [("Muster und Sohn", "MUS"), ("acme", "A"), ("a b c d e f g h i j k l", "ABCDEFGHIJ")],
)
def test_the_abbreviation_is_the_first_letters(name: str, abbreviation: str) -> None:
    assert abbreviation_of(name) == abbreviation


@pytest.mark.parametrize(
    ("provider", "name"),
    [("Google", "google"), ("Office 365", "office_365"), ("My-Own ID", "my_own_id")],
)
def test_a_key_has_the_name_that_the_framework_gives_it(provider: str, name: str) -> None:
    assert name_of({"provider": provider}) == name


def test_parameters_are_values() -> None:
    assert parsed('{"a": "b"}') == {"a": "b"}
    assert parsed({"a": "b"}) == {"a": "b"}
    assert parsed(None) is None


def test_every_unknown_answer_is_named() -> None:
    setup = {"language": "xx", "country": "X", "currency": "XXX", "timeZone": "Mars/Base"}
    knows_nothing = SimpleNamespace(db=SimpleNamespace(get_value=lambda *_: None))
    with pytest.raises(Refused) as refused:
        wizard_args(knows_nothing, setup)
    assert refused.value.reason == "ValueInvalid"
    for field in setup:
        assert f"setup.{field}: " in str(refused.value)


@pytest.mark.parametrize(
    ("change", "count"),
    [
        ({}, 2),
        ({"is_hidden": True}, 0),
        ({"public": False, "for_user": "a@example.com"}, 0),
    ],
)
def test_a_public_workspace_has_a_sidebar_and_an_icon(
    change: dict[str, object], count: int
) -> None:
    fields = {"public": True, "icon": "tool", **change}
    document: Document = {"id": "1", "doctype": "Workspace", "name": "Sales", "fields": fields}
    entries = entries_of(document)
    assert len(entries) == count
    assert all("app" not in entry["fields"] for entry in entries)
    assert entries_of({**document, "doctype": "Dashboard"}) == []
