import pytest

from job_result import JobError
from proxies import is_direct, proxy_for, read_proxy


@pytest.mark.parametrize(
    ("no_proxy", "host", "direct"),
    [
        ("", "s3.example.com", False),
        ("*", "s3.example.com", True),
        ("a, *", "10.0.0.1", True),
        ("example.com", "example.com", True),
        ("example.com", "s3.example.com", True),
        ("example.com", "notexample.com", False),
        (".example.com", "S3.Example.com", True),
        ("*.example.com", "s3.example.com", True),
        (".svc,.cluster.local,10.0.0.0/8", "minio.storage.svc", True),
        (".svc .cluster.local", "minio.storage.svc.cluster.local", True),
        ("s3.example.com:9000", "s3.example.com", True),
        ("s3.example.com:443", "s3.example.com", False),
        ("10.0.0.0/8", "10.1.2.3", True),
        ("10.0.0.0/8", "11.1.2.3", False),
        ("10.1.2.3", "10.1.2.3", True),
        ("10.1.2.3:443", "10.1.2.3", False),
        ("0.0.0.1", "10.0.0.1", False),
        ("2001:db8::/32", "2001:db8::5", True),
        ("2001:DB8:0::5", "2001:db8::5", True),
        ("[2001:db8::5]", "2001:db8::5", True),
        ("[2001:db8::5]:9000", "2001:db8::5", True),
        ("[2001:db8::5]:443", "2001:db8::5", False),
        ("2001:db9::/32", "2001:db8::5", False),
        ("10.0.0.0/8", "s3.example.com", False),
        (",,.", "s3.example.com", False),
    ],
)
def test_what_no_proxy_names_is_connected_to_directly(
    no_proxy: str, host: str, direct: bool
) -> None:
    assert is_direct(host, 9000, no_proxy) is direct


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def test_the_proxy_of_the_scheme_is_used_in_lower_and_upper_case(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert proxy_for("https", "s3.example.com", 443) is None
    monkeypatch.setenv("ALL_PROXY", "all.example.com:1")
    assert str(proxy_for("https", "s3.example.com", 443)) == "all.example.com:1"
    monkeypatch.setenv("HTTPS_PROXY", "http://upper.example.com:3128")
    assert str(proxy_for("https", "s3.example.com", 443)) == "upper.example.com:3128"
    monkeypatch.setenv("https_proxy", "http://lower.example.com")
    assert str(proxy_for("https", "s3.example.com", 443)) == "lower.example.com:80"
    monkeypatch.setenv("https_proxy", "\ufeffhttp://of-a-secret.example.com\r\n")
    assert str(proxy_for("https", "s3.example.com", 443)) == "of-a-secret.example.com:80"
    monkeypatch.setenv("https_proxy", "http://user:pass\tword@p")
    with pytest.raises(JobError, match=r"^https_proxy has a tab in its value; store it without$"):
        proxy_for("https", "s3.example.com", 443)
    monkeypatch.setenv("NO_PROXY", "example.com")
    assert proxy_for("https", "s3.example.com", 443) is None


def test_the_login_of_a_proxy_is_sent_and_not_shown() -> None:
    proxy = read_proxy("http://user:p%40ss@[2001:db8::1]:3128", "https_proxy")
    assert proxy.headers == {"Proxy-Authorization": "Basic dXNlcjpwQHNz"}
    assert str(proxy) == "[2001:db8::1]:3128"


@pytest.mark.parametrize("url", ["socks5://user:secret@p:1", "https://p", "http://", "http://p:x"])
def test_other_proxies_are_refused_without_their_login(url: str) -> None:
    with pytest.raises(JobError, match="https_proxy is") as refusal:
        read_proxy(url, "https_proxy")
    assert refusal.value.reason == "InvalidInput"
    assert "secret" not in str(refusal.value)
