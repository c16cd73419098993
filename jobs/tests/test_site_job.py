import json

import pytest

from job_result import JobError
from operator_constants import TERMINATION_MESSAGE_BYTES
from secret_redaction import mask
from site_job import Lines, Report, command_of, forms_of, secrets_in


def test_finds_secrets_in_a_configuration() -> None:
    config = {
        "db_password": "one",
        "limits": {"api_key": "two", "users": "three"},
        "tokens": ["four"],
        "redis_cache": "redis://:p%40ss@host:1",
        "broken": "http://[",
    }
    assert set(secrets_in(config)) == {"one", "two", "four", "p%40ss", "p@ss"}


def test_masks_a_secret_in_every_form() -> None:
    secret = 'a "b"/ü'
    for text in (secret, json.dumps(secret), repr(secret), "a%20%22b%22%2F%C3%BC"):
        assert "***" in mask(text, forms_of(secret))


def test_splits_output_into_lines_and_drops_overwritten_text() -> None:
    found: list[str] = []
    lines = Lines(str, found.append)
    for chunk in (b"one\ntw", b"o\n10%\r20%\r\n", b"rest"):
        lines.feed(chunk)
    lines.end()
    assert found == ["one", "two", "20%", "rest"]


def test_splits_a_long_line_at_no_character() -> None:
    found: list[str] = []
    lines = Lines(str, found.append)
    text = "ü" * 50_000
    lines.feed(text.encode()[:70_001])
    lines.feed(text.encode()[70_001:])
    lines.end()
    assert "".join(found) == text


def test_the_message_has_the_last_lines_that_fit(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    report = Report()
    for number in range(1000):
        report.line(f"line {number} \x1b[31mred\x1b[0m")
    message = report.message({"exitCode": 0})
    log = json.loads(message)["log"].split("\n")
    assert capsysbinary.readouterr().out.count(b"\x1b[31m") == 1000
    assert len(message) <= TERMINATION_MESSAGE_BYTES
    assert log[-1] == "line 999 red"
    assert log == [f"line {number} red" for number in range(1000 - len(log), 1000)]


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ({}, "exactly one of JOB_COMMAND and JOB_METHOD"),
        ({"JOB_COMMAND": '["a"]', "JOB_METHOD": "a.b"}, "exactly one of"),
        ({"JOB_METHOD": "a"}, "not a dotted path"),
        ({"JOB_METHOD": "a.b", "JOB_KWARGS": "[]"}, "must be a JSON object"),
        ({"JOB_COMMAND": '["a\\u0000"]'}, "without NUL"),
    ],
)
def test_rejects_invalid_commands(
    monkeypatch: pytest.MonkeyPatch, env: dict[str, str], message: str
) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(JobError, match=message):
        command_of("shop")


def test_passes_arguments_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOB_COMMAND", '["execute", "$(id)", "a b"]')
    title, arguments = command_of("shop")
    assert title == "bench execute"
    assert arguments[-5:] == ["--site", "shop", "execute", "$(id)", "a b"]
