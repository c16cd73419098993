"""The S3 protocol (REST, Signature Version 4) with the standard library.

Not every image of the framework has an S3 client. A request is repeated after a transient failure
of the store or the network. The signature covers the content, so the store refuses a request that
was changed on the way. Content-MD5 says the same to a bucket whose objects are locked: of the
checksums, all S3-compatible stores take this one.
"""

import base64
import hashlib
import hmac
import http.client
import random
import ssl
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from email.message import Message
from typing import TypeVar
from urllib.parse import quote, unquote, urlsplit
from xml.etree import ElementTree

from job_result import JobError
from proxies import Proxy, proxy_for

EMPTY_SHA256 = hashlib.sha256(b"").hexdigest()
TRANSIENT_STATUS = {429, 500, 502, 503, 504}
TRANSIENT_CODES = {
    "RequestTimeout",
    "SlowDown",
    "InternalError",
    "ServiceUnavailable",
    "BadDigest",
}
DENIED_CODES = {
    "AccessDenied",
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "AuthorizationHeaderMalformed",
    "InvalidToken",
    "Forbidden",
    "XAdminUserNotFound",
}
FULL_CODES = {"QuotaExceeded", "XMinioStorageFull", "InsufficientCapacity", "EntityTooLarge"}
TIMEOUT_SECONDS = 60
TIME_FORMAT = "%Y%m%dT%H%M%SZ"

Headers = Mapping[str, str]
Query = Mapping[str, str | int]
Response = tuple[http.client.HTTPConnection, http.client.HTTPResponse]
T = TypeVar("T")


class S3Error(JobError):
    """An error response of the store. `code` is S3's own."""

    def __init__(self, reason: str, message: object, code: str = "", status: int = 0) -> None:
        super().__init__(reason, message)
        self.code = code
        self.status = status


class TransientError(Exception):
    """A failure that the next attempt may not have. The last attempt raises `problem`."""

    def __init__(self, problem: S3Error, message: str) -> None:
        super().__init__(message)
        self.problem = problem


class S3Client:
    """Requests to one bucket.

    A request is tried `attempts` times. The pauses double from `pause` seconds, up to ten.
    `encryption` are the headers by which the store encrypts new objects.
    """

    def __init__(
        self,
        *,
        endpoint: str,
        region: str,
        bucket: str,
        key_id: str,
        secret: str,
        path_style: bool = True,
        ca_file: str | None = None,
        encryption: Headers | None = None,
        attempts: int = 6,
        pause: float = 0.5,
    ) -> None:
        url = urlsplit(endpoint)
        self.secure = url.scheme == "https"
        self.host = url.hostname or ""
        self.port = url.port or (443 if self.secure else 80)
        path = url.path.rstrip("/")
        self.root = f"{path}/{bucket}/" if path_style else f"{path}/"
        if not path_style:
            self.host = f"{bucket}.{self.host}"
        self.encryption = dict(encryption or {})
        self.endpoint, self.region, self.bucket = endpoint.rstrip("/"), region, bucket
        self.key_id, self.secret = key_id, secret
        self.attempts, self.pause = attempts, pause
        try:
            self.tls = ssl.create_default_context(cafile=ca_file) if self.secure else None
        except (OSError, ssl.SSLError) as error:
            raise S3Error(
                "StoreCertificateInvalid", f"the authority's certificate cannot be read: {error}"
            ) from None

    def call(
        self, method: str, key: str = "", query: Query | None = None, body: bytes = b""
    ) -> tuple[Message, bytes]:
        """One request with a small response: its headers and its content."""

        def attempt() -> tuple[Message, bytes]:
            connection, response = self.send(method, key, query or {}, body, {})
            try:
                return response.headers, response.read()
            finally:
                connection.close()

        return self.retry(attempt)

    def xml(
        self, method: str, key: str = "", query: Query | None = None, body: bytes = b""
    ) -> ElementTree.Element:
        """One request with an XML response. A store may report an error after status 200."""

        def attempt() -> ElementTree.Element:
            connection, response = self.send(method, key, query or {}, body, {})
            try:
                content = response.read()
            finally:
                connection.close()
            try:
                tree = ElementTree.fromstring(content)
            except ElementTree.ParseError:
                raise S3Error(
                    "StoreFailed", f"{self.endpoint} does not answer as an S3 store does"
                ) from None
            for element in tree.iter():
                element.tag = element.tag.rpartition("}")[2]
            if tree.tag == "Error":
                raise self.failure(200, content)
            return tree

        return self.retry(attempt)

    def open(self, key: str) -> "S3Reader":
        """The content of an object, as a file."""
        return S3Reader(self, key)

    def retry(self, attempt: Callable[[], T]) -> T:
        for number in range(1, self.attempts + 1):
            try:
                return attempt()
            except (TransientError, OSError, http.client.HTTPException) as error:
                problem = (
                    error.problem if isinstance(error, TransientError) else self.unreachable(error)
                )
                is_final = isinstance(error, ssl.SSLCertVerificationError)
                if number == self.attempts or is_final:
                    raise problem from None
            delay = min(self.pause * 2 ** (number - 1), 10)
            time.sleep(delay * random.uniform(0.7, 1.3))
        raise AssertionError("attempts must be positive")

    def unreachable(self, error: Exception) -> S3Error:
        if isinstance(error, ssl.SSLCertVerificationError):
            return S3Error("StoreCertificateInvalid", f"{self.endpoint}: {error.verify_message}")
        cause = str(error) or type(error).__name__
        return S3Error("StoreUnreachable", f"{self.where}: {cause}")

    def send(self, method: str, key: str, query: Query, body: bytes, headers: Headers) -> Response:
        """Sends a request. The content of the response is not read. Error responses are raised."""
        path = quote(self.root + key, safe="/-_.~")
        proxy = self.proxy
        pairs = sorted(
            (quote(name, safe="-_.~"), quote(str(value), safe="-_.~"))
            for name, value in query.items()
        )
        text = "&".join(f"{name}={value}" for name, value in pairs)
        signed = self.sign(method, path, text, sha256_of(body))
        connection = self.connect(proxy)
        try:
            url = f"{path}?{text}" if text else path
            all_headers = {**headers, **checksum(method, body), **signed}
            if proxy and not self.secure:
                url = f"http://{self.authority}{url}"
                all_headers.update(proxy.headers)
            connection.request(method, url, body=body, headers=all_headers)
            response = connection.getresponse()
            if response.status >= 300:
                raise self.failure(response.status, response.read(65536))
            return connection, response
        except BaseException:
            connection.close()
            raise

    @property
    def authority(self) -> str:
        """Host and port, as the header `host` has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        is_standard = self.port == (443 if self.secure else 80)
        return host if is_standard else f"{host}:{self.port}"

    @property
    def proxy(self) -> Proxy | None:
        return proxy_for("https" if self.secure else "http", self.host, self.port)

    @property
    def where(self) -> str:
        proxy = self.proxy
        return f"{self.endpoint} through the proxy {proxy}" if proxy else self.endpoint

    def connect(self, proxy: Proxy | None) -> http.client.HTTPConnection:
        host, port = (proxy.host, proxy.port) if proxy else (self.host, self.port)
        if self.tls is None:
            return http.client.HTTPConnection(host, port, timeout=TIMEOUT_SECONDS)
        connection = http.client.HTTPSConnection(
            host, port, timeout=TIMEOUT_SECONDS, context=self.tls
        )
        if proxy:
            connection.set_tunnel(self.host, self.port, headers=proxy.headers)
        return connection

    def sign(self, method: str, path: str, query: str, digest: str) -> dict[str, str]:
        """The headers of a signed request, now."""
        return self.sign_at(datetime.now(timezone.utc), method, path, query, digest)

    def sign_at(
        self, moment: datetime, method: str, path: str, query: str, digest: str
    ) -> dict[str, str]:
        now = moment.strftime(TIME_FORMAT)
        headers = {
            "host": self.authority,
            "x-amz-content-sha256": digest,
            "x-amz-date": now,
            **(self.encryption if creates_object(method, query) else {}),
        }
        names = ";".join(headers)
        lines = [f"{name}:{value}" for name, value in headers.items()]
        canonical = "\n".join([method, path, query, *lines, "", names, digest])
        scope = f"{now[:8]}/{self.region}/s3/aws4_request"
        text = "\n".join(["AWS4-HMAC-SHA256", now, scope, sha256_of(canonical.encode())])
        key = f"AWS4{self.secret}".encode()
        for part in scope.split("/"):
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
        authorization = (
            f"AWS4-HMAC-SHA256 Credential={self.key_id}/{scope}, SignedHeaders={names}, "
            f"Signature={signature}"
        )
        return {**headers, "Authorization": authorization}

    def failure(self, status: int, content: bytes) -> S3Error | TransientError:
        """The error that an error response means."""
        try:
            tree = ElementTree.fromstring(content)
            found = {
                element.tag.rpartition("}")[2]: (element.text or "").strip() for element in tree
            }
        except ElementTree.ParseError:
            found = {}
        code, message = found.get("Code", ""), found.get("Message", "")
        description = ": ".join(filter(None, [code or f"HTTP {status}", message]))
        if code == "NoSuchBucket":
            reason = "BucketMissing"
        elif code in FULL_CODES or status == 507:
            reason = "StoreFull"
        elif code in DENIED_CODES or status in (401, 403):
            reason = "StoreAccessDenied"
        else:
            reason = "StoreFailed"
        where = f"bucket {self.bucket} at {self.where}"
        problem = S3Error(reason, f"{where}: {description}", code, status)
        if status in TRANSIENT_STATUS or code in TRANSIENT_CODES:
            return TransientError(problem, description)
        return problem


def creates_object(method: str, query: str) -> bool:
    """Whether a request stores a whole object, or begins one in parts."""
    return (method, query) in (("PUT", ""), ("POST", "uploads="))


def checksum(method: str, body: bytes) -> Headers:
    if method != "PUT":
        return {}
    digest = hashlib.md5(body, usedforsecurity=False).digest()
    return {"Content-MD5": base64.b64encode(digest).decode()}


def sha256_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest() if data else EMPTY_SHA256


class S3Reader:
    """An object's content. After a lost connection, another one continues at its position."""

    def __init__(self, client: S3Client, key: str) -> None:
        self.client, self.key = client, key
        self.connection: http.client.HTTPConnection | None = None
        self.response: http.client.HTTPResponse | None = None
        self.position = 0
        # None: the server does not say it, and the content ends with the response.
        self.size: int | None = None
        self.is_ended = False
        self.etag: str | None = None
        client.retry(self.connect)

    def connect(self) -> http.client.HTTPResponse:
        headers = {}
        if self.position:
            headers["Range"] = f"bytes={self.position}-"
        if self.etag:
            headers["If-Match"] = self.etag  # fails if the object was replaced
        self.close()
        self.connection, response = self.client.send("GET", self.key, {}, b"", headers)
        self.response = response
        if self.position and response.status != 206:
            raise S3Error(
                "StoreFailed", f"{self.client.endpoint} cannot continue an interrupted download"
            )
        if self.etag is None and self.size is None:
            length = response.headers.get("Content-Length")
            self.size = None if length is None else int(length)
            self.etag = response.headers.get("ETag")
        return response

    def read(self, amount: int = 1 << 20, /) -> bytes:
        missing = amount if self.size is None else self.size - self.position
        if missing <= 0 or self.is_ended:
            return b""

        def attempt() -> bytes:
            response = self.response or self.connect()
            try:
                data = response.read(min(amount, missing))
                self.is_ended = not data and self.size is None
                if not data and not self.is_ended:
                    raise ConnectionResetError("the content ended early")
                return data
            except BaseException:
                self.close()
                raise

        data = self.client.retry(attempt)
        self.position += len(data)
        return data

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
        self.connection = self.response = None

    def __enter__(self) -> "S3Reader":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def texts_at(tree: ElementTree.Element, path: str) -> list[str]:
    """Texts of the elements at `path` in a listing that has `encoding-type=url`."""
    return [unquote(element.text or "", errors="replace") for element in tree.iterfind(path)]
