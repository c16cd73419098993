import pytest

from job_result import JobError
from s3_client import EMPTY_SHA256
from store_signer import Signer, answer


@pytest.fixture
def signer(monkeypatch: pytest.MonkeyPatch) -> Signer:
    for name, value in (
        ("STORE_PREFIX", "team/shop"),
        ("S3_ENDPOINT", "https://s3.example.com"),
        ("S3_BUCKET", "backups"),
        ("S3_ACCESS_KEY_ID", "id"),
        ("S3_SECRET_ACCESS_KEY", "secret"),
    ):
        monkeypatch.setenv(name, value)
    return Signer()


LIST = "encoding-type=url&list-type=2&prefix=team%2Fshop%2F"
OWN = [
    ("GET", "/backups/", LIST),
    ("GET", "/backups/", f"{LIST}a%2F&delimiter=%2F&continuation-token=x"),
    ("GET", "/backups/", "encoding-type=url&prefix=team%2Fshop%2Fa%2F&uploads="),
    ("GET", "/backups/team/shop/a/f", ""),
    ("PUT", "/backups/team/shop/a/f", "partNumber=1&uploadId=u"),
    ("POST", "/backups/team/shop/a/f", "uploads="),
    ("DELETE", "/backups/team/shop/a/f", ""),
]
FOREIGN = [
    ("GET", "/backups/", ""),
    ("GET", "/backups/", "list-type=2&encoding-type=url&prefix=team%2Fshopping%2F"),
    ("GET", "/backups/", f"{LIST}&prefix=other%2F"),
    ("GET", "/backups/", f"{LIST}&policy="),
    ("DELETE", "/backups/", LIST),
    ("PUT", "/backups/", "encoding-type=url&prefix=team%2Fshop%2F&uploads="),
    ("GET", "/backups/team/shop", ""),
    ("GET", "/backups/team/other/f", ""),
    ("GET", "/other/team/shop/f", ""),
    ("GET", "/backups/team/shop/../other/f", ""),
    ("GET", "/backups/team/shop/%2E%2E%2Fother/f", ""),
    ("GET", "/backups/team/shop//f", ""),
    ("PUT", "/backups/team/shop/f", "acl="),
    ("GET", "/backups/team/shop/f", "X-Amz-Expires=604800"),
    ("HEAD", "/backups/team/shop/f", ""),
    ("PATCH", "/backups/team/shop/f", ""),
]


@pytest.mark.parametrize(("method", "path", "query"), OWN)
def test_a_request_for_own_objects_is_signed(
    signer: Signer, method: str, path: str, query: str
) -> None:
    request = {"method": method, "path": path, "query": query, "digest": EMPTY_SHA256}
    headers = signer.sign(request)
    assert headers["Authorization"].startswith("AWS4-HMAC-SHA256 Credential=id/")
    assert "secret" not in str(headers)


@pytest.mark.parametrize(("method", "path", "query"), FOREIGN)
def test_any_other_request_is_not_signed(
    signer: Signer, method: str, path: str, query: str
) -> None:
    with pytest.raises(JobError, match="not signed"):
        signer.sign({"method": method, "path": path, "query": query, "digest": EMPTY_SHA256})


@pytest.mark.parametrize("line", [b"", b"{", b"5", b"[]", b"{}", b"[" * 100_000, b"\xff"])
def test_a_malformed_request_is_answered(signer: Signer, line: bytes) -> None:
    assert answer(signer, line)["reason"] == "InvalidInput"


def test_a_digest_is_needed(signer: Signer) -> None:
    request = {"method": "GET", "path": "/backups/team/shop/f", "query": "", "digest": "UNSIGNED"}
    with pytest.raises(JobError, match="SHA-256"):
        signer.sign(request)
