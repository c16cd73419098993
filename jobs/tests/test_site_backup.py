import json
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from backup_retention import expired
from framework_programs import ProgramFailed
from operator_constants import TERMINATION_MESSAGE_BYTES
from site_backup import step_error, termination_message
from stored_backup import name_of, start_of

NOW = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)


def manifest(days: float, complete: bool = True) -> dict[str, Any]:
    moment = NOW - timedelta(days=days)
    return {
        "name": name_of(moment),
        "complete": complete,
        "completionTime": moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "frameworkVersion": "15.44.2",
        "apps": [{"name": "frappe", "version": "15.44.2"}],
        "files": [{"name": "database.sql.gz", "size": 7}],
    }


def ages(manifests: list[dict[str, Any]]) -> list[int]:
    return [(NOW - start_of(one["name"])).days for one in manifests]


@pytest.mark.parametrize(
    ("keep_last", "keep_days", "removed"),
    [
        (0, 0, []),
        (2, 0, [2, 3]),
        (1, 0, [1, 2, 3]),
        (0, 2, [3]),
        (3, 1, [3]),
        (9, 9, []),
    ],
)
def test_a_backup_expires_when_neither_rule_keeps_it(
    keep_last: int, keep_days: int, removed: list[int]
) -> None:
    backups = [manifest(days) for days in range(4)]
    assert ages(expired(backups, keep_last, keep_days, NOW)) == removed


def test_the_newest_backup_never_expires() -> None:
    assert expired([manifest(100)], 0, 1, NOW) == []


def test_backups_of_the_future_neither_expire_nor_count() -> None:
    backups = [manifest(days) for days in (-12, -11, -10, 0, 1, 2)]
    assert ages(expired(backups, 2, 0, NOW)) == [2]
    assert ages(expired([manifest(-1), manifest(0)], 1, 0, NOW)) == []


def test_incomplete_backups_are_counted_separately() -> None:
    backups = [manifest(0, False), manifest(1, False), manifest(2), manifest(3)]
    assert ages(expired(backups, 1, 0, NOW)) == [3, 1]


def test_the_termination_message_lists_as_many_backups_as_fit() -> None:
    few = json.loads(termination_message([manifest(0)], "s3://bucket"))
    assert few == {
        "location": "s3://bucket",
        "count": 1,
        "versions": [["15.44.2", {"frappe": "15.44.2"}]],
        "backups": [["20260301T120000Z", "20260301T120000Z", 7, 1, 0]],
    }
    text = termination_message([manifest(day) for day in range(500)], "s3://" + "b" * 2500)
    many = json.loads(text)
    assert len(text.encode()) <= TERMINATION_MESSAGE_BYTES
    assert many["count"] == 500
    assert 0 < len(many["backups"]) < 50


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (["tar: No space left on device"], "ScratchFull"),
        (["x", "app-operator: DocTypeMissing: no table for: A"], "DocTypeMissing"),
        (["Lost connection to MySQL server"], "DatabaseUnreachable"),
        (["Traceback"], "BackupFailed"),
    ],
)
def test_the_reason_of_a_failed_step_is_in_its_output(output: list[str], reason: str) -> None:
    assert step_error(ProgramFailed("BackupFailed", output, 1)).reason == reason
