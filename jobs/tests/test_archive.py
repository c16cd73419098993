"""Names, content and facts of archives. test/jobs/site-import.test.ts imports whole ones."""

import base64
import gzip
import hmac
import io
import tarfile
from pathlib import Path
from typing import Any

import pytest

import archive
import archive_content
import archive_source
import unpacking
import url_client
from dump_facts import DumpFacts, Secret
from job_result import JobError, all_of
from mariadb_dump import Statement
from mariadb_tokens import Grammar

START = "20250131_120000-shop_example_com"


@pytest.mark.parametrize(
    ("name", "start", "role"),
    [
        (f"{START}-database.sql.gz", START, "database"),
        (f"{START}-database-enc.sql.gz", START, "database"),
        (f"{START}-partial-database.sql.gz", START, "database"),
        (f"{START}-files.tar", START, "publicFiles"),
        (f"{START}-files-enc.tgz", START, "publicFiles"),
        (f"{START}-private-files.tar.gz", START, "privateFiles"),
        (f"{START}-private-files-enc.tar", START, "privateFiles"),
        (f"{START}-site_config_backup.json", START, "siteConfig"),
        (f"{START}-site_config_backup-enc.json", START, "siteConfig"),
        ("private-files.tar", "", "privateFiles"),
        ("public-files.tar", "", "publicFiles"),
        ("database.sql", "", "database"),
        ("20250131-my-private-shop-files.tar", "20250131-my-private-shop", "publicFiles"),
    ],
)
def test_names_of_the_framework(name: str, start: str, role: str) -> None:
    found = archive_source.named(name)
    assert found == (start, role)


@pytest.mark.parametrize(
    "name", ["notes.txt", "files.zip", "database.tar", "files.sql.gz", "site_config.json", "x.sql"]
)
def test_other_names(name: str) -> None:
    assert archive_source.named(name) is None


def test_the_newest_backup_of_one_site_is_chosen() -> None:
    older = START.replace("2025", "2024")
    names = [f"{older}-database.sql.gz", f"{START}-files.tar", f"{START}-database.sql.gz", "x.txt"]
    assert archive_source.newest_in(names, "pvc://a") == {
        "database": f"{START}-database.sql.gz",
        "publicFiles": f"{START}-files.tar",
    }


def test_files_without_a_dump_are_no_backup() -> None:
    newer = START.replace("2025", "2026")
    names = [f"{newer}-files.tar", f"{START}-database.sql.gz"]
    assert archive_source.newest_in(names, "x") == {"database": f"{START}-database.sql.gz"}


def test_the_only_dump_may_have_any_name() -> None:
    assert archive_source.newest_in(["my dump.sql", "files.tar"], "x") == {
        "database": "my dump.sql",
        "publicFiles": "files.tar",
    }
    with pytest.raises(JobError, match="has no file whose name ends with"):
        archive_source.newest_in(["a.sql", "b.sql"], "x")


def fernet(key: str, content: bytes) -> str:
    secret = base64.urlsafe_b64decode(key)
    return base64.urlsafe_b64encode(
        content + hmac.new(secret[:16], content, "sha256").digest()
    ).decode()


KEY = base64.urlsafe_b64encode(bytes(range(32))).decode()
OTHER = base64.urlsafe_b64encode(bytes(32)).decode()


def test_a_key_opens_what_it_signed() -> None:
    token = fernet(KEY, b"\x80 token")
    assert archive.opens(KEY, token)
    assert archive.opens(f"{KEY}\n", token)
    for key, value in (
        (OTHER, token),
        ("", token),
        ("ü", token),
        (KEY, "ü"),
        (KEY, ""),
        ("YQ", token),
    ):
        assert not archive.opens(key, value)


def test_lost_passwords_are_named_a_few_and_counted() -> None:
    lost = [Secret("Email Account", f"a{number}", "password", "x") for number in range(7)]
    text = archive.lost_secrets(lost, has_key=False)
    assert text.startswith("stored passwords: 7 are lost, no encryption_key; set them again: ")
    assert text.endswith("password of Email Account a4 and 2 more")


def facts_of(*statements: bytes) -> DumpFacts:
    facts = DumpFacts()
    for text in statements:
        facts.read(Statement(text, 1), Grammar(101100))
    return facts


AUTH = (
    b"CREATE TABLE `__Auth` (`doctype` varchar(140) NOT NULL, `name` varchar(255), "
    b"`fieldname` varchar(140), `password` text, `encrypted` int(1) DEFAULT 0, "
    b"PRIMARY KEY (`doctype`,`name`,`fieldname`)) ENGINE=InnoDB"
)


def test_rows_of_mariadb() -> None:
    facts = facts_of(
        AUTH,
        rb"INSERT INTO `__Auth` VALUES ('User','a''b','api_secret','x\\y\'z',1),"
        rb"('User','c','password','hash',0),('A',NULL,'f',_binary 'gA',1)",
        b"INSERT INTO `__Auth` (`encrypted`,`doctype`) VALUES (1,'only')",
    )
    assert facts.secrets == [
        Secret("User", "a'b", "api_secret", "x\\y'z"),
        Secret("A", "", "f", "gA"),
        Secret("only", "", "", ""),
    ]


def test_apps_of_mariadb() -> None:
    facts = facts_of(
        b"CREATE TABLE `tabDefaultValue` (`name` varchar(140), `defkey` text, `defvalue` text)",
        rb"INSERT INTO `db`.`tabDefaultValue` VALUES "
        rb"""('x','installed_apps','[\"frappe\", \"hrms\"]')""",
        b"CREATE TABLE IF NOT EXISTS `tabInstalled Application` "
        b"(`app_name` text, `app_version` text)",
        b"INSERT INTO `tabInstalled Application` VALUES ('hrms','15.1.0'),('gone','1')",
        b"INSERT INTO `tabOther` VALUES ('frappe','99')",
        b"CREATE VIEW `tabInstalled Application` AS SELECT 1",
    )
    assert facts.apps("15.44.2") == {"frappe": "15.44.2", "hrms": "15.1.0"}
    assert facts.apps("") == {"frappe": "", "hrms": "15.1.0"}


@pytest.mark.parametrize("value", [b"[", b"7", b"[" * 100000, b"null"])
def test_a_list_of_apps_that_is_none(value: bytes) -> None:
    facts = facts_of(
        b"CREATE TABLE `tabDefaultValue` (`defkey` text, `defvalue` text)",
        b"INSERT INTO `tabDefaultValue` VALUES ('installed_apps','%b')" % value,
    )
    assert facts.apps("15.0.0") == {}


def test_rows_of_postgresql() -> None:
    facts = DumpFacts()
    facts.copy(
        b'COPY public."__Auth" (doctype, name, fieldname, password, encrypted) FROM stdin',
        iter([b"User\ta\\tb\tapi_secret\tx\\\\y\t1", b"User\tc\tpassword\t\\N\t0", b"short"]),
    )
    facts.copy(b"COPY public.other (doctype) FROM stdin", iter([b"User"]))
    assert facts.secrets == [Secret("User", "a\tb", "api_secret", "x\\y")]


@pytest.mark.parametrize(
    ("start", "reason", "words"),
    [
        (b"<!DOCTYPE html>", "BackupUnsuitable", "a page or a message of a server"),
        (b'{"error": 1}', "BackupUnsuitable", "a page or a message of a server"),
        (b"PK\x03\x04", "BackupUnsuitable", "a zip archive"),
        (b"SQLite format 3\0", "BackupUnsuitable", "a database of SQLite"),
        (b"BZh9", "BackupUnsuitable", "bzip2"),
        (b"", "BackupCorrupt", "it is empty"),
        (b"--\n-- PostgreSQL database dump\n", "BackupUnsuitable", "a dump of postgres"),
        (b"-- Partial Backup of Frappe Site x\n", "BackupIncomplete", "only some document types"),
    ],
)
def test_what_is_no_dump_of_mariadb(start: bytes, reason: str, words: str) -> None:
    with pytest.raises(JobError, match=words) as caught:
        archive_content.check_dump(start, "mariadb")
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("head", "version"),
    [
        (
            b"-- begin frappe metadata\n-- [frappe]\n-- version = 16.0.0-dev\n-- branch",
            "16.0.0-dev",
        ),
        (b"-- Backup generated by Frappe 13.58.1 on branch version-13\n-- \n", "13.58.1"),
        (b"-- MariaDB dump 10.19\n", ""),
    ],
)
def test_the_head_of_a_dump_names_the_framework(head: bytes, version: str) -> None:
    assert archive_content.framework_version(head) == version


def test_a_damaged_start(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(gzip.compress(b"x" * 100)[:12])
    with pytest.raises(JobError, match="its compression is damaged"):
        archive_content.start_of(tmp_path / "x")


def tar_of(path: Path, *names: str) -> Path:
    with tarfile.open(path, "w") as file:
        for name in names:
            member = tarfile.TarInfo(name)
            if name.endswith("/"):
                member.type = tarfile.DIRTYPE
            member.size = 0 if name.endswith("/") else 1
            file.addfile(member, io.BytesIO(b"x"))
    return path


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["./s/private/files/", "./s/private/files/x"], "has private files, not public ones"),
        (["files/x"], "has no file below <site>/public/files, but 'files/x'"),
        (["s/public/files/a", "s/private/files/b"], "has private files, not public ones"),
    ],
)
def test_archives_of_other_files(tmp_path: Path, names: list[str], words: str) -> None:
    with pytest.raises(JobError, match=words):
        unpacking.unpack(tar_of(tmp_path / "publicFiles", *names), tmp_path / "public-files")
    assert not (tmp_path / "public-files").exists()


def test_an_archive_without_files(tmp_path: Path) -> None:
    unpacking.unpack(tar_of(tmp_path / "x", "./s/public/files/"), tmp_path / "public-files")
    assert list((tmp_path / "public-files").iterdir()) == []


@pytest.mark.parametrize(
    "url",
    [
        "http://x/y",
        "ftp://x",
        "x",
        "",
        "https://",
        "https://u:p@x/y",
        "https://x:99999/",
        "https://[x",
    ],
)
def test_links_that_are_none(url: str) -> None:
    with pytest.raises(JobError, match="not of the form") as caught:
        url_client.parts_of("database", url)
    assert url in ("", "https://") or url not in str(caught.value)


def test_the_parts_of_a_link() -> None:
    assert url_client.parts_of("x", "https://h:8443/a b?t=%2F&x=ü") == (
        *("h", 8443),
        "/a%20b?t=%2F&x=%C3%BC",
    )


def test_all_problems_are_in_one_error() -> None:
    error: Any = all_of([JobError("A", "first"), JobError("B", "second")])
    assert (error.reason, str(error)) == ("A", "first; B: second")


def test_no_more_is_decrypted_than_the_volume_has_space_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = unpacking.RESERVED_BYTES + 10
    monkeypatch.setattr(archive_content, "free_bytes", lambda path: free)
    archive_content.copy_to(io.BytesIO(b"x" * 10), tmp_path / "fits")
    assert (tmp_path / "fits").read_bytes() == b"x" * 10
    with pytest.raises(JobError) as caught:
        archive_content.copy_to(io.BytesIO(b"x" * 11), tmp_path / "full")
    assert caught.value.reason == "VolumeFull"


class OneFile(archive_source.ArchiveSource):
    """A source whose only file has some content, and maybe a size that it says."""

    def __init__(self, content: bytes, size: int | None) -> None:
        self.names, self.location = {"database": "d.sql"}, "x"
        self.content, self.size = content, size

    def open(self, role: str) -> archive_source.ArchiveFile:
        return archive_source.ArchiveFile("d.sql", io.BytesIO(self.content), self.size)


@pytest.mark.parametrize("size", [None, 5, 11])
def test_no_more_is_downloaded_than_the_volume_has_space_for(
    size: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = unpacking.RESERVED_BYTES + 10
    for module in (archive, unpacking):
        monkeypatch.setattr(module, "free_bytes", lambda path: free)
    settings: Any = type("Settings", (), {"site_name": "s", "db_type": "mariadb"})
    source = archive.Archive(settings, OneFile(b"x" * 11, size))
    with pytest.raises(
        JobError, match=r"database: d\.sql has (more than )?the 10|has 11 bytes"
    ) as e:
        source.download("database", tmp_path / "database")
    assert e.value.reason == "VolumeFull"
