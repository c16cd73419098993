"""Downloads over HTTPS, with the retries and the proxies of the S3 client.

A URL may be a secret, as a signed link is: messages have its host only.
"""

import http.client
import ssl
from urllib.parse import quote, urljoin, urlsplit

from job_result import JobError
from s3_client import TRANSIENT_STATUS, Headers, Query, Response, S3Client, S3Error, TransientError

REDIRECTS = (301, 302, 303, 307, 308)
MAX_REDIRECTS = 5
# Of a path and a query: what is as it should be stays.
SAFE = "/?%:@!$&'()*+,;=-._~"


class UrlClient(S3Client):
    """Reads one URL. `authorization` is sent to the URL's own host only."""

    def __init__(self, what: str, url: str, authorization: str, ca_file: str | None) -> None:
        self.what, self.url, self.authorization = what, url, authorization
        host, port, _ = parts_of(what, url)
        super().__init__(
            endpoint=f"https://{host}:{port}" if port != 443 else f"https://{host}",
            region="",
            bucket="",
            key_id="",
            secret="",
            ca_file=ca_file,
        )

    def send(self, method: str, key: str, query: Query, body: bytes, headers: Headers) -> Response:
        """Follows redirections, each time from the URL: a link behind it may be short-lived."""
        url, own = self.url, parts_of(self.what, self.url)[:2]
        for _ in range(MAX_REDIRECTS + 1):
            self.host, self.port, target = parts_of(self.what, url)
            sent = {"Host": self.authority, "Accept-Encoding": "identity", **headers}
            if self.authorization and (self.host, self.port) == own:
                sent["Authorization"] = self.authorization
            connection = self.connect(self.proxy)
            try:
                connection.request("GET", target, headers=sent)
                response = connection.getresponse()
                location = response.headers.get("Location")
                if response.status in REDIRECTS and location:
                    url = urljoin(url, location)
                    connection.close()
                    continue
                if response.status >= 300:
                    raise self.answer(response)
                return connection, response
            except BaseException:
                connection.close()
                raise
        raise S3Error("StoreFailed", f"{self.what}: {self.endpoint} redirects more than 5 times")

    def answer(self, response: http.client.HTTPResponse) -> S3Error | TransientError:
        status = f"HTTP {response.status} {http.client.responses.get(response.status, '')}".rstrip()
        text = f"{self.what}: {self.endpoint} answers {status}"
        if response.status in (401, 403):
            advice = "the link has expired, or it needs another authorization; renew the Secret"
            return S3Error("StoreAccessDenied", f"{text}: {advice}")
        if response.status in (404, 410):
            return S3Error("BackupMissing", f"{text}: the link is wrong or has expired")
        problem = S3Error("StoreFailed", text, status=response.status)
        if response.status in TRANSIENT_STATUS:
            return TransientError(problem, status)
        return problem

    def unreachable(self, error: Exception) -> S3Error:
        if isinstance(error, ssl.SSLCertVerificationError):
            text = f"{self.what}: {self.endpoint}: {error.verify_message}"
            return S3Error("StoreCertificateInvalid", text)
        cause = str(error) or type(error).__name__
        return S3Error("StoreUnreachable", f"{self.what}: {self.where}: {cause}")


def parts_of(what: str, url: str) -> tuple[str, int, str]:
    """Host, port, and path with query of a URL, which no message has."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or 443
    except ValueError:
        host, port = "", 0
    if not host or parts.scheme != "https" or parts.username is not None:
        raise JobError(
            "InvalidInput", f"{what}: the URL is not of the form https://HOST/PATH, without a login"
        )
    target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    return host, port, quote(target, safe=SAFE)
