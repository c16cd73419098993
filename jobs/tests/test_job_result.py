from pathlib import Path

import pytest

from job_result import JobError, run_job, set_termination_message, write_termination_message
from operator_constants import TERMINATION_MESSAGE_BYTES


@pytest.fixture
def message(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    path = tmp_path / "message"
    monkeypatch.setenv("TERMINATION_LOG", str(path))
    return path


def test_reports_success_with_the_outcome_as_json(message: Path) -> None:
    run_job(lambda: {"created": True})
    assert message.read_text() == 'app-operator: Succeeded: {"created": true}'


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (JobError("SiteBusy", "two\n  lines"), "SiteBusy: two lines"),
        (OSError(28, "No space left on device"), "VolumeNotWritable: [Errno 28] No space left"),
        (KeyError("x"), "InternalError: KeyError: 'x'"),
    ],
)
def test_ends_with_one_line_that_has_the_reason(
    message: Path, capsys: pytest.CaptureFixture[str], error: Exception, line: str
) -> None:
    def main() -> None:
        raise error

    with pytest.raises(SystemExit, match="1"):
        run_job(main)
    assert message.read_text().startswith(f"app-operator: {line}")
    assert capsys.readouterr().err == message.read_text() + "\n"


def test_the_message_has_no_secret(message: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADMIN_PASSWORD", "s3cret")
    set_termination_message("Failed", "password s3cret")
    assert message.read_text() == "app-operator: Failed: password ***"


def test_a_long_message_is_cut(message: Path) -> None:
    write_termination_message(b"x" * 5000)
    assert message.stat().st_size == TERMINATION_MESSAGE_BYTES
