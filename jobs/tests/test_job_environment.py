import pytest

from job_environment import (
    json_array_env,
    json_object_env,
    number_env,
    site_name_env,
    text_env,
)
from job_result import JobError


def test_reads_values_and_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIST", '["a"]')
    monkeypatch.setenv("OBJECT", '{"a": 1}')
    monkeypatch.setenv("SECONDS", "7")
    assert json_array_env("LIST") == ["a"]
    assert json_object_env("OBJECT") == {"a": 1}
    assert number_env("SECONDS", 1) == 7
    assert (json_array_env("X"), json_object_env("X"), number_env("X", 1)) == ([], {}, 1)
    assert text_env("X", "default") == "default"


def test_rejects_values_of_another_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VALUE", '{"a": 1')
    with pytest.raises(JobError, match="VALUE is not JSON"):
        json_array_env("VALUE")
    monkeypatch.setenv("VALUE", "{}")
    with pytest.raises(JobError, match="VALUE must be a JSON array"):
        json_array_env("VALUE")
    with pytest.raises(JobError, match=r"VALUE must be a number of seconds, got '\{\}'"):
        number_env("VALUE", 1)
    with pytest.raises(JobError, match="X is not set"):
        text_env("X")


@pytest.mark.parametrize("name", ["shop.example.com", "a", "shop_1", "0-0"])
def test_accepts_host_names(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("SITE_NAME", name)
    assert site_name_env() == name


@pytest.mark.parametrize("name", ["..", "a..b", "../x", "a/b", ".hidden", "Shop", "a" * 254])
def test_rejects_names_that_are_no_directory_of_a_site(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("SITE_NAME", name)
    with pytest.raises(JobError, match="is not a host name"):
        site_name_env()
