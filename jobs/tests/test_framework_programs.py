import sys
from pathlib import Path

import pytest

from framework_programs import ProgramFailed, is_progress, program_env, run_program


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
