import os
import pty
import sys
from pathlib import Path

import pytest

from framework_programs import (
    ProgramFailed,
    framework_env,
    is_progress,
    program_env,
    run_program,
)


@pytest.mark.parametrize(
    ("line", "progress"),
    [
        ("Updating DocTypes for frappe        : [======    ] 31%", True),
        ("Command: Query | Time: 12s | State: Sending data | Query: ALTER TABLE `tabUser`", True),
        ("Command: Query | Time: 7s | State: altering table | Progress: 31.000%", True),
        ("Command: migrate failed", False),
        ("ValueError: 31%", False),
    ],
)
def test_is_progress(line: str, progress: bool) -> None:
    assert is_progress(line) is progress


def test_a_failure_is_not_explained_by_the_state_of_a_query(tmp_path: Path) -> None:
    script = "print('Duplicate entry'); print('\\rCommand: Query | Time: 12s | State: x'); exit(1)"
    with pytest.raises(ProgramFailed, match=r"^Duplicate entry$"):
        run_program(tmp_path, "MigrationFailed", [sys.executable, "-c", script], program_env())


def test_the_message_has_the_error_that_version_16_prints_below_its_traceback(
    tmp_path: Path,
) -> None:
    lines = ["Traceback (most recent call last):", "ValueError: no such row", "no such row"]
    script = f"print({chr(10).join(lines)!r}); exit(1)"
    with pytest.raises(ProgramFailed, match=r"^ValueError: no such row \| no such row$"):
        run_program(tmp_path, "MigrationFailed", [sys.executable, "-c", script], program_env())


RAISED = """Traceback with variables (most recent call last):
  File "apps/frappe/frappe/installer.py", line 305, in install_app
    frappe = <module 'frappe' from 'apps/frappe/frappe/__init__.py'>
    _ = <function _ at 0x7fe2>
builtins.ImportError: cannot import name 'x'"""


@pytest.mark.parametrize(
    ("output", "cause"),
    [
        (RAISED, "builtins.ImportError: cannot import name 'x'"),
        (
            '  File "__init__.py", line 519, in _raise_exception\n    raise exc\n'
            "frappe.exceptions.ValidationError: The ToDo with POISON cannot be migrated",
            "frappe.exceptions.ValidationError: The ToDo with POISON cannot be migrated",
        ),
        (
            "KeyError: 'a'\n\nDuring handling of the above exception, another exception occurred:\n"
            '  raise x\npsycopg2.errors.UndefinedTable: relation "tabX" does not exist\n'
            'LINE 1: SELECT * FROM "tabX"\n                      ^\nrolled back',
            'psycopg2.errors.UndefinedTable: relation "tabX" does not exist | '
            'LINE 1: SELECT * FROM "tabX" |                       ^',
        ),
        ("raise x\nAssertionError\nbye", "AssertionError | bye"),
        (
            "pymysql.err.OperationalError: (2013, 'Lost')",
            "pymysql.err.OperationalError: (2013, 'Lost')",
        ),
        ("one\ntwo\nthree\nCould not open file", "two | three | Could not open file"),
        (
            "/a/b.py:3: DeprecationWarning: old\nfailed",
            "/a/b.py:3: DeprecationWarning: old | failed",
        ),
    ],
)
def test_the_message_begins_with_the_cause(tmp_path: Path, output: str, cause: str) -> None:
    script = f"print({output!r}); exit(1)"
    with pytest.raises(ProgramFailed) as failed:
        run_program(tmp_path, "MigrationFailed", [sys.executable, "-c", script], program_env())
    assert str(failed.value) == cause


def test_a_program_has_no_terminal_and_asks_for_nothing(tmp_path: Path) -> None:
    master, slave = pty.openpty()
    stdin = os.dup(0)
    os.dup2(slave, 0)
    try:
        script = "import os, sys; exit(any(map(os.isatty, (0, 1, 2))) or bool(sys.stdin.read()))"
        run_program(tmp_path, "MigrationFailed", [sys.executable, "-c", script], program_env())
    finally:
        os.dup2(stdin, 0)
        for descriptor in (stdin, master, slave):
            os.close(descriptor)


@pytest.mark.parametrize("name", ["FRAPPE_DB_USER", "FRAPPE_REDIS_CACHE", "MYSQL_PWD", "PGHOST"])
def test_no_variable_overrides_the_configuration_of_a_site(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "other")
    assert name not in program_env()
    assert name not in framework_env()
