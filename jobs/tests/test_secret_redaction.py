import pytest

from secret_redaction import file_secrets, mask, redact


def test_masks_the_longest_secret_first() -> None:
    assert mask("a password-2 b", ["password", "password-2"]) == "a *** b"


def test_keeps_texts_that_are_too_short_to_be_a_secret() -> None:
    assert mask("abc abcd", ["abc", ""]) == "abc abcd"


def test_redacts_secrets_of_the_environment_and_of_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DB_ROOT_PASSWORD", "hunter22")
    file_secrets.add("from a file")
    assert redact("hunter22, from a file, other") == "***, ***, other"
    file_secrets.clear()
