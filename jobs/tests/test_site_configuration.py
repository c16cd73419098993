import json
from pathlib import Path
from typing import Any

import pytest

import configuration_values as values
import site_configuration as script
from job_result import JobError
from operator_constants import TERMINATION_MESSAGE_BYTES
from secret_redaction import file_secrets

KEYS = "app_operator_keys"


@pytest.fixture(autouse=True)
def no_secrets() -> None:
    file_secrets.clear()


def entry(key: str, format: str = "Text", file: str = "0") -> dict[str, str]:
    return {"key": key, "file": file, "from": f'Secret "mail" key "{key}"', "format": format}


def read(folder: Path, content: bytes, format: str = "Text") -> Any:
    (folder / "0").write_bytes(content)
    return values.value_of_file(entry("password", format), folder)


def refusal(folder: Path, content: bytes, format: str = "Text") -> tuple[str, str]:
    with pytest.raises(values.Refused) as raised:
        read(folder, content, format)
    return raised.value.reason, str(raised.value)


def test_keys_are_set_and_others_stay() -> None:
    config = {"db_name": "s", "mine": [1]}
    wanted = {"allow_cors": "*", "rate_limit": {"limit": 5}}
    result, differed = script.merged(config, wanted, ())
    assert result == {
        "db_name": "s",
        "mine": [1],
        "allow_cors": "*",
        "rate_limit": {"limit": 5},
        KEYS: ["allow_cors", "rate_limit"],
    }
    assert differed == ["allow_cors", "rate_limit"]


def test_a_key_that_is_no_longer_wanted_is_deleted() -> None:
    config = {"db_name": "s", "mine": 1, "a": 1, "b": 2, KEYS: ["a", "b"]}
    result, differed = script.merged(config, {"b": 2}, ())
    assert result == {"db_name": "s", "mine": 1, "b": 2, KEYS: ["b"]}
    assert differed == ["a"]
    result, differed = script.merged(result, {}, ())
    assert (result, differed) == ({"db_name": "s", "mine": 1}, ["b"])


def test_a_key_that_is_left_out_stays_as_it_is() -> None:
    config = {"db_name": "s", "a": 1, "b": 2, "c": 3, KEYS: ["a", "b"]}
    result, differed = script.merged(config, {}, ("a", "c", "d"))
    # `c` is not of an earlier Job: it is not recorded, and no later Job deletes it.
    assert result == {"db_name": "s", "a": 1, "c": 3, KEYS: ["a"]}
    assert differed == ["b"]


def test_what_is_as_wanted_does_not_differ() -> None:
    config = {"a": {"x": 1, "y": 2}, KEYS: ["a"]}
    assert script.merged(config, {"a": {"y": 2, "x": 1}}, ()) == (config, [])


@pytest.mark.parametrize(
    ("stored", "wanted"), [(1, True), (0, False), ("1", 1), (1.0, 1), (None, ""), ([], {})]
)
def test_values_of_another_type_differ(stored: Any, wanted: Any) -> None:
    _, differed = script.merged({"a": stored, KEYS: ["a"]}, {"a": wanted}, ())
    assert differed == ["a"]


@pytest.mark.parametrize(
    "recorded", ["db_name", {"db_name": 1}, 7, None, ["db_name", 3, "encryption_key", None]]
)
def test_the_list_in_the_file_never_deletes_a_key_of_the_operator(recorded: Any) -> None:
    config = {"db_name": "s", "encryption_key": "k", KEYS: recorded}
    result, differed = script.merged(config, {"a": 1}, ())
    assert result == {"db_name": "s", "encryption_key": "k", "a": 1, KEYS: ["a"]}
    assert differed == ["a"]


def test_an_owned_key_is_refused(tmp_path: Path) -> None:
    for key in ("db_password", "redis_queue", "host_name", "rq_password", KEYS):
        with pytest.raises(JobError, match=key):
            values.wanted_values([{"key": key, "value": 1}], tmp_path)
    assert not values.is_owned("rq_failed_jobs_limit")


def test_text_of_a_secret_is_taken_as_it_is(tmp_path: Path) -> None:
    assert read(tmp_path, b"p\xc3\xa4ss word\n") == "päss word\n"
    assert read(tmp_path, b"123") == "123"
    assert read(tmp_path, b"") == ""
    assert "p\u00e4ss word\n" in file_secrets


def test_json_of_a_secret_is_read(tmp_path: Path) -> None:
    assert read(tmp_path, b'{"id": "a-client", "n": [1, true]}', "JSON") == {
        "id": "a-client",
        "n": [1, True],
    }
    assert read(tmp_path, b"\xef\xbb\xbf[1]\r\n", "JSON") == [1]
    # Each text in it is masked in messages.
    assert "a-client" in file_secrets


@pytest.mark.parametrize(
    ("content", "format", "message"),
    [
        (b"\xff\xfe", "Text", "is not UTF-8 text"),
        (b"x" * (values.MAX_VALUE_BYTES + 1), "Text", "is longer than 65536 bytes"),
        (b"hunter2-hunter2", "JSON", "is not JSON, which its format says"),
        (b'{"a": NaN}', "JSON", "is not JSON, which its format says"),
        (b"[" * 40_000, "JSON", "is not JSON, which its format says"),
        (b"null", "JSON", "is null; remove the entry to delete the key"),
        (b"[" * 65 + b"]" * 65, "JSON", "nests more than 64 levels"),
    ],
)
def test_a_value_that_cannot_be_used(
    tmp_path: Path, content: bytes, format: str, message: str
) -> None:
    reason, text = refusal(tmp_path, content, format)
    assert (reason, text) == ("ValueInvalid", f'password: Secret "mail" key "password" {message}')


def test_missing_keys_are_left_out_and_others_are_read(tmp_path: Path) -> None:
    missing = {"key": "d", "reason": "SecretMissing", "missing": 'd: Secret "mail" does not exist'}
    entries = [entry("a"), {"key": "b", "value": 1}, entry("c", file="2"), missing]
    wanted, left_out = values.wanted_values(entries, tmp_path)
    assert wanted == {"b": 1}
    assert {place: (problem.reason, str(problem)) for place, problem in left_out.items()} == {
        "siteConfig[0]": ("KeyMissing", 'a: Secret "mail" key "a" does not exist; add the key'),
        "siteConfig[2]": ("KeyMissing", 'c: Secret "mail" key "c" does not exist; add the key'),
        "siteConfig[3]": ("SecretMissing", 'd: Secret "mail" does not exist'),
    }


def test_the_result_fits_into_a_termination_message() -> None:
    keys = [f"{'k' * 120}{number}" for number in range(64)]
    places = [f"siteConfig[{number}]" for number in range(64)]
    results: list[script.Result] = [
        ("Changed", "", "", keys, []),
        ("Changed", "KeyMissing", "ä" * 9_000, [], places),
        ("Failed", "KeyMissing", "x" * 9_000, keys, []),
    ]
    for result in results:
        text = script.termination_message("id", result)
        assert len(text.encode()) <= TERMINATION_MESSAGE_BYTES
        shown = json.loads(text)["results"]["id"]
        assert shown[:2] == list(result[:2])
        assert shown[4:] == ([result[4]] if result[4] else [])


# --- the files ----------------------------------------------------------------------------------


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    site = tmp_path / "sites" / "shop.example.com"
    site.mkdir(parents=True)
    config = {"db_name": "s", "app_operator_owner": "ns/shop"}
    (site / "site_config.json").write_text(json.dumps(config))
    monkeypatch.setenv("BENCH_DIR", str(tmp_path))
    monkeypatch.setenv("SITE_NAME", site.name)
    monkeypatch.setenv("SITE_OWNER", "ns/shop")
    return site


def stored(file: Path) -> dict[str, Any]:
    config: dict[str, Any] = json.loads(file.read_text())
    return config


def test_a_site_gets_its_keys_once(site: Path) -> None:
    file = site / "site_config.json"
    assert script.set_keys({"a": 1}, ()) == (True, ["a"])
    inode = file.stat().st_ino
    assert script.set_keys({"a": 1}, ()) == (False, [])
    assert file.stat().st_ino == inode
    file.write_text(json.dumps({**stored(file), "a": 2, "mine": 3}))
    assert script.set_keys({"a": 1}, ()) == (True, ["a"])
    assert stored(file)["mine"] == 3


def test_a_link_in_place_of_the_file_is_not_followed(site: Path, tmp_path: Path) -> None:
    target = tmp_path / "target.json"
    target.write_text("{}")
    (site / "site_config.json").unlink()
    (site / "site_config.json").symlink_to(target)
    with pytest.raises(JobError, match="does not exist"):
        script.set_keys({"a": 1}, ())
    assert target.read_text() == "{}"


def test_the_site_of_another_owner_is_not_changed(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SITE_OWNER", "ns/other")
    with pytest.raises(JobError, match="belongs to ns/shop, not to ns/other"):
        script.set_keys({"a": 1}, ())
    assert "a" not in stored(site / "site_config.json")


def test_a_site_that_is_being_created_is_not_changed(site: Path) -> None:
    (site / ".app-operator.json").write_text('{"state": "creating", "owner": "ns/shop"}')
    with pytest.raises(JobError, match="is being created"):
        script.set_keys({"a": 1}, ())


def test_the_common_configuration_needs_the_init_job(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SITE_NAME")
    file = site.parent / "common_site_config.json"
    with pytest.raises(JobError, match="init Job has not run"):
        script.set_keys({"a": 1}, ())
    assert not file.exists()
    file.write_text('{"redis_cache": "redis://x", "mine": 1}')
    assert script.set_keys({"a": 1}, ()) == (True, ["a"])
    assert stored(file) == {"redis_cache": "redis://x", "mine": 1, "a": 1, KEYS: ["a"]}
    file.write_text('{"redis_cache": "redis://x", "mi')
    with pytest.raises(JobError, match="is not JSON"):
        script.set_keys({"a": 1}, ())
