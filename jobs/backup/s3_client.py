"""S3's protocol (REST, Signature Version 4) with the standard library: the framework's images have no client for it in every version.

Every request is tried again while the store, or the way to it, is at fault for a moment. Requests are signed with their content,
so that the store refuses one that was changed on the way.
"""

import hashlib
import hmac
import http.client
import random
import ssl
import time
from datetime import datetime, timezone
from urllib.parse import quote, unquote, urlsplit
from xml.etree import ElementTree

from site_common import Refused

EMPTY = hashlib.sha256(b"").hexdigest()
TRANSIENT_STATUS = {429, 500, 502, 503, 504}
TRANSIENT_CODES = {"RequestTimeout", "SlowDown", "InternalError", "ServiceUnavailable", "BadDigest"}
DENIED = {"AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "AuthorizationHeaderMalformed", "InvalidToken", "Forbidden", "XAdminUserNotFound"}
FULL = {"QuotaExceeded", "XMinioStorageFull", "InsufficientCapacity", "EntityTooLarge"}
TIMEOUT_SECONDS = 60


class S3Error(Refused):
    """An answer of the store that is no success. `code` is S3's own."""

    def __init__(self, reason, message, code="", status=0):
        super().__init__(reason, message)
        self.code = code
        self.status = status


class Transient(Exception):
    """What may be gone at the next attempt."""


class S3Client:
    """One bucket. `attempts` of a request; the pauses between them double from `pause` seconds, up to ten."""

    def __init__(self, *, endpoint, region, bucket, key_id, secret, path_style=True, ca_file=None, attempts=6, pause=0.5):
        url = urlsplit(endpoint)
        self.secure = url.scheme == "https"
        self.host, self.port = url.hostname or "", url.port
        self.root = f"/{bucket}/" if path_style else "/"
        if not path_style:
            self.host = f"{bucket}.{self.host}"
        self.endpoint, self.region, self.bucket = endpoint.rstrip("/"), region, bucket
        self.key_id, self.secret = key_id, secret
        self.attempts, self.pause = attempts, pause
        try:
            self.tls = ssl.create_default_context(cafile=ca_file) if self.secure else None
        except (OSError, ssl.SSLError) as error:
            raise S3Error("StoreCertificateInvalid", f"the authority's certificate cannot be read: {error}") from None

    def call(self, method, key="", query=None, body=b"", headers=None):
        """One request with a small answer: its headers and its content."""

        def once():
            connection, response = self.send(method, key, query or {}, body, headers or {})
            try:
                return response.headers, response.read()
            finally:
                connection.close()

        return self.insist(once)

    def xml(self, method, key="", query=None, body=b""):
        """One request that is answered by XML. A store may find out after it has said 200 that it failed."""

        def once():
            connection, response = self.send(method, key, query or {}, body, {})
            try:
                content = response.read()
            finally:
                connection.close()
            try:
                tree = ElementTree.fromstring(content)
            except ElementTree.ParseError:
                raise S3Error("StoreFailed", f"{self.endpoint} does not answer as an S3 store does") from None
            for element in tree.iter():
                element.tag = element.tag.rpartition("}")[2]
            if tree.tag == "Error":
                raise self.failure(200, content)
            return tree

        return self.insist(once)

    def open(self, key):
        """The content of an object, to be read as a file is."""
        return S3Reader(self, key)

    def insist(self, once):
        for attempt in range(1, self.attempts + 1):
            try:
                return once()
            except (Transient, OSError, http.client.HTTPException) as error:
                problem = error if isinstance(error, Transient) else self.unreachable(error)
                if attempt == self.attempts or isinstance(error, ssl.SSLCertVerificationError):
                    raise problem.__cause__ or S3Error("StoreUnreachable", problem) from None
            time.sleep(min(self.pause * 2 ** (attempt - 1), 10) * random.uniform(0.7, 1.3))

    def unreachable(self, error):
        if isinstance(error, ssl.SSLCertVerificationError):
            problem = S3Error("StoreCertificateInvalid", f"{self.endpoint}: {error.verify_message}")
        else:
            problem = S3Error("StoreUnreachable", f"{self.endpoint}: {str(error) or type(error).__name__}")
        transient = Transient(str(problem))
        transient.__cause__ = problem
        return transient

    def send(self, method, key, query, body, headers):
        """Sends, and returns the connection with its answer, the content not yet read; an answer that is no success is raised."""
        path = quote(self.root + key, safe="/-_.~")
        pairs = sorted((quote(k, safe="-_.~"), quote(str(v), safe="-_.~")) for k, v in query.items())
        text = "&".join(f"{k}={v}" for k, v in pairs)
        signed = self.sign(method, path, text, hashlib.sha256(body).hexdigest() if body else EMPTY)
        make = http.client.HTTPSConnection if self.secure else http.client.HTTPConnection
        options = {"context": self.tls} if self.secure else {}
        connection = make(self.host, self.port, timeout=TIMEOUT_SECONDS, **options)
        try:
            connection.request(method, f"{path}?{text}" if text else path, body=body, headers={**headers, **signed})
            response = connection.getresponse()
            if response.status >= 300:
                raise self.failure(response.status, response.read(65536))
            return connection, response
        except BaseException:
            connection.close()
            raise

    def sign(self, method, path, query, digest):
        now = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        standard = 443 if self.secure else 80
        host = self.host if self.port in (None, standard) else f"{self.host}:{self.port}"
        headers = {"host": host, "x-amz-content-sha256": digest, "x-amz-date": now}
        names = ";".join(headers)
        canonical = "\n".join([method, path, query, *(f"{k}:{v}" for k, v in headers.items()), "", names, digest])
        scope = f"{now[:8]}/{self.region}/s3/aws4_request"
        text = "\n".join(["AWS4-HMAC-SHA256", now, scope, hashlib.sha256(canonical.encode()).hexdigest()])
        key = f"AWS4{self.secret}".encode()
        for part in scope.split("/"):
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
        credential = f"AWS4-HMAC-SHA256 Credential={self.key_id}/{scope}, SignedHeaders={names}, Signature={signature}"
        return {**headers, "Authorization": credential}

    def failure(self, status, content):
        """What an answer that is no success means: to be tried again, or for a person."""
        try:
            tree = ElementTree.fromstring(content)
            found = {element.tag.rpartition("}")[2]: (element.text or "").strip() for element in tree}
        except ElementTree.ParseError:
            found = {}
        code, message = found.get("Code", ""), found.get("Message", "")
        said = ": ".join(filter(None, [code or f"HTTP {status}", message]))
        where = f"bucket {self.bucket} at {self.endpoint}"
        if code == "NoSuchBucket":
            reason = "BucketMissing"
        elif code in FULL or status == 507:
            reason = "StoreFull"
        elif code in DENIED or status in (401, 403):
            reason = "StoreAccessDenied"
        else:
            reason = "StoreFailed"
        problem = S3Error(reason, f"{where}: {said}", code, status)
        if status in TRANSIENT_STATUS or code in TRANSIENT_CODES:
            transient = Transient(said)
            transient.__cause__ = problem
            return transient
        return problem


class S3Reader:
    """An object's content from its first byte to its last; a connection that breaks is followed by another, from there on."""

    def __init__(self, client, key):
        self.client, self.key = client, key
        self.connection = self.response = None
        self.position, self.size, self.etag = 0, None, None
        client.insist(self.connect)

    def connect(self):
        headers = {}
        if self.position:
            headers["Range"] = f"bytes={self.position}-"
        if self.etag:
            headers["If-Match"] = self.etag  # never the end of another object
        self.close()
        self.connection, self.response = self.client.send("GET", self.key, {}, b"", headers)
        if self.position and self.response.status != 206:
            raise S3Error("StoreFailed", f"{self.client.endpoint} cannot continue a broken download")
        if self.size is None:
            self.size = int(self.response.headers["Content-Length"])
            self.etag = self.response.headers.get("ETag")

    def read(self, amount=1 << 20):
        if self.position >= self.size:
            return b""

        def once():
            if self.response is None:
                self.connect()
            try:
                data = self.response.read(min(amount, self.size - self.position))
                if not data:
                    raise ConnectionResetError("the content ended early")
                return data
            except BaseException:
                self.close()
                raise

        data = self.client.insist(once)
        self.position += len(data)
        return data

    def close(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = self.response = None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


def listed(tree, path):
    """Texts of the elements at `path` in a listing that was asked for with `encoding-type=url`."""
    return [unquote(element.text or "", errors="replace") for element in tree.iterfind(path)]
