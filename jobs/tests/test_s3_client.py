from datetime import datetime, timezone

import pytest

from s3_client import EMPTY_SHA256, S3Client, S3Error, TransientError


def client(endpoint: str = "https://s3.example.com", path_style: bool = True) -> S3Client:
    return S3Client(
        endpoint=endpoint,
        region="us-east-1",
        bucket="examplebucket",
        key_id="AKIAIOSFODNN7EXAMPLE",
        secret="wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        path_style=path_style,
    )


def test_signs_as_the_example_of_the_specification() -> None:
    """The example "GET Bucket Lifecycle" of AWS's page on the Authorization header."""
    headers = client("https://s3.amazonaws.com", path_style=False).sign_at(
        datetime(2013, 5, 24, tzinfo=timezone.utc), "GET", "/", "lifecycle=", EMPTY_SHA256
    )
    assert headers["host"] == "examplebucket.s3.amazonaws.com"
    assert headers["Authorization"].endswith(
        "Signature=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"
    )


def test_the_host_has_a_port_that_is_not_the_standard_one() -> None:
    now = datetime(2026, 1, 1, tzinfo=timezone.utc)
    for endpoint, host in (
        ("https://s3.example.com:443", "s3.example.com"),
        ("http://s3.local:9000", "s3.local:9000"),
    ):
        assert client(endpoint).sign_at(now, "GET", "/", "", "")["host"] == host


@pytest.mark.parametrize(
    ("endpoint", "host", "root"),
    [
        ("https://[2001:DB8::5]:9000", "[2001:db8::5]:9000", "/examplebucket/"),
        ("http://[::1]/", "[::1]", "/examplebucket/"),
        (
            "https://ref.example.com/storage/v1/s3/",
            "ref.example.com",
            "/storage/v1/s3/examplebucket/",
        ),
    ],
)
def test_endpoints_may_be_an_address_and_have_a_path(endpoint: str, host: str, root: str) -> None:
    store = client(endpoint)
    assert (store.authority, store.root) == (host, root)


def test_the_encryption_is_signed_where_an_object_is_created() -> None:
    store = S3Client(
        endpoint="https://s3.example.com",
        region="us-east-1",
        bucket="b",
        key_id="k",
        secret="s",
        encryption={"x-amz-server-side-encryption": "AES256"},
    )
    for method, query, is_encrypted in (
        ("PUT", "", True),
        ("POST", "uploads=", True),
        ("PUT", "partNumber=1&uploadId=u", False),
        ("POST", "uploadId=u", False),
        ("GET", "", False),
    ):
        headers = store.sign(method, "/b/k", query, EMPTY_SHA256)
        assert (headers.get("x-amz-server-side-encryption") == "AES256") is is_encrypted
        assert ("server-side-encryption" in headers["Authorization"]) is is_encrypted


@pytest.mark.parametrize(
    ("status", "content", "reason", "transient"),
    [
        (404, b"<Error><Code>NoSuchBucket</Code></Error>", "BucketMissing", False),
        (403, b"", "StoreAccessDenied", False),
        (507, b"", "StoreFull", False),
        (400, b"<Error><Code>QuotaExceeded</Code></Error>", "StoreFull", False),
        (404, b"not XML", "StoreFailed", False),
        (503, b"", "StoreFailed", True),
        (400, b"<Error><Code>RequestTimeout</Code></Error>", "StoreFailed", True),
    ],
)
def test_the_reason_of_an_error_response(
    status: int, content: bytes, reason: str, transient: bool
) -> None:
    failure = client().failure(status, content)
    assert isinstance(failure, TransientError) is transient
    problem = failure.problem if isinstance(failure, TransientError) else failure
    assert isinstance(problem, S3Error)
    assert problem.reason == reason
