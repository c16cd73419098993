import json
import os

import pytest

from job_environment import secret_env
from job_result import JobError
from secret_redaction import redact
from secret_text import secret_text

SOURCE = 'key "password" of Secret "mine"'


@pytest.mark.parametrize(
    ("stored", "text"),
    [
        (b"changeme", "changeme"),
        (b"changeme\n", "changeme"),
        (b"changeme\r\n", "changeme"),
        (b"\xef\xbb\xbfchangeme", "changeme"),
        (b"\xef\xbb\xbfchangeme\r\n", "changeme"),
        ("pässwört-€ 密码 😀\n".encode(), "pässwört-€ 密码 😀"),
        # Users mean other white space: a password may have it.
        (b" changeme ", " changeme "),
        ("a\u00a0b\u2028c\u200bd".encode(), "a\u00a0b\u2028c\u200bd"),
        ("a\ufeffb".encode(), "a\ufeffb"),
        (b"$HOME %s {} \\n '\" $(id)", "$HOME %s {} \\n '\" $(id)"),
        (b"", ""),
        (b"\n", ""),
    ],
)
def test_line_break_and_byte_order_mark_are_taken_away(stored: bytes, text: str) -> None:
    assert secret_text(stored, SOURCE) == text


@pytest.mark.parametrize(
    ("stored", "problem"),
    [
        (b"changeme\n\n", "has a line break in its value; store it without"),
        (b"changeme\r", "has a line break in its value; store it without"),
        (b"changeme\r\r\n", "has a line break in its value; store it without"),
        (b"\nchangeme", "has a line break in its value; store it without"),
        (b"change\nme", "has a line break in its value; store it without"),
        (b"changeme\t", "has a tab in its value; store it without"),
        (b"change\0me", "has a NUL in its value; store it without"),
        (b"\x1b[31mchangeme", "has the control character U+001B in its value; store it without"),
        (
            "change\u0085me".encode(),
            "has the control character U+0085 in its value; store it without",
        ),
        (b"changeme\x7f", "has the control character U+007F in its value; store it without"),
        ("pässwört".encode("latin-1"), "is not UTF-8 text; store it as UTF-8 text"),
        (b"\x80\x81", "is not UTF-8 text; store it as UTF-8 text"),
        ("changeme".encode("utf-16"), "is UTF-16 text; store it as UTF-8 text"),
        (b"\xfe\xff\0c", "is UTF-16 text; store it as UTF-8 text"),
    ],
)
def test_other_control_characters_are_refused(stored: bytes, problem: str) -> None:
    with pytest.raises(JobError) as refusal:
        secret_text(stored, SOURCE)
    assert (refusal.value.reason, str(refusal.value)) == ("SecretInvalid", f"{SOURCE} {problem}")


def test_a_variable_is_named_by_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DB_PASSWORD", "a\tb")
    with pytest.raises(JobError, match=r"^DB_PASSWORD has a tab"):
        secret_env("DB_PASSWORD")
    monkeypatch.setenv("ENV_SOURCES", json.dumps([["DB_PASSWORD", SOURCE]]))
    with pytest.raises(JobError, match=rf"^{SOURCE} has a tab"):
        secret_env("DB_PASSWORD", "")
    monkeypatch.setenv("DB_PASSWORD", "\n")
    with pytest.raises(JobError, match=rf"^{SOURCE} is empty"):
        secret_env("DB_PASSWORD")
    assert secret_env("DB_PASSWORD", "root") == "root"
    with pytest.raises(JobError, match="X is not set"):
        secret_env("X")


def test_bytes_that_are_no_text_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environb, b"ADMIN_PASSWORD", b"caf\xe9")
    with pytest.raises(JobError, match="ADMIN_PASSWORD is not UTF-8 text"):
        secret_env("ADMIN_PASSWORD")


@pytest.mark.parametrize("stored", ["hunter2-hunter2\n", "\ufeffhunter2-hunter2\r\n"])
def test_logs_have_no_form_of_a_secret(monkeypatch: pytest.MonkeyPatch, stored: str) -> None:
    monkeypatch.setenv("DB_PASSWORD", stored)
    assert redact("login with hunter2-hunter2 failed") == "login with *** failed"
    assert redact(f"login with {stored} failed") == "login with *** failed"
