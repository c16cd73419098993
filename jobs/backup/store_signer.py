"""Signs requests to an S3-compatible store, for the Job that sends them. Runs beside it.

The only program with the access key of a store. Its container mounts no site, runs no code of the
framework or of a site, and has no connection to the store. The Job asks for the signature of one
request, see s3_client.py. It gets it for objects below the prefix of its own backups only, and
where it may only read, for reading only. A signature is of one content, and ends after 15 minutes.

Environment
  STORE_PREFIX, S3_ENDPOINT, S3_REGION, S3_BUCKET, S3_PATH_STYLE, S3_ENCRYPTION, S3_KMS_KEY_ID, as
                         in backup_store.py
  S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY
  STORE_ACCESS           Read: nothing is changed
  STORE_SIGNER_SOCKET
"""

import json
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote

from backup_store import s3_client_with_key, store_prefix
from job_environment import text_env
from job_result import JobError
from job_secrets import take_secrets
from local_requests import serve
from s3_client import S3Client
from secret_redaction import redact

READING = ("GET",)
WRITING = ("GET", "PUT", "POST", "DELETE")
DIGEST = re.compile(r"[0-9a-f]{64}")
# The queries of a bucket, which name the objects by a prefix: to list objects, and to list uploads.
LISTS = ({"list-type", "prefix", "encoding-type"}, {"uploads", "prefix", "encoding-type"})
LIST_OPTIONS = {"delimiter", "continuation-token"}
# Queries of an object: the steps of an upload in parts.
OBJECT_QUERY = {"uploads", "uploadId", "partNumber"}


class Signer:
    def __init__(self) -> None:
        prefix = store_prefix()
        self.start = f"{prefix}/" if prefix else ""
        self.client: S3Client = s3_client_with_key()
        self.methods = READING if os.environ.get("STORE_ACCESS") == "Read" else WRITING

    def sign(self, request: dict[str, Any]) -> dict[str, str]:
        method, path, query, digest = (
            str(request.get(name, "")) for name in ("method", "path", "query", "digest")
        )
        if not DIGEST.fullmatch(digest):
            raise JobError("InvalidInput", "a request without the SHA-256 of its content")
        pairs = parse_qsl(query, keep_blank_values=True)
        is_unique = len(dict(pairs)) == len(pairs)
        if not is_unique or not self.is_own(method, path, dict(pairs)):
            raise JobError(
                "StoreAccessDenied", f"{method} {path} is not a request of this Job: not signed"
            )
        return self.client.sign(method, path, query, digest)

    def is_own(self, method: str, path: str, query: dict[str, str]) -> bool:
        """Whether it is about objects below the prefix, and no more than the Job may do."""
        root, names = self.client.root, set(query)
        if method not in self.methods:
            return False
        if path == root:
            is_list = any(needed <= names <= needed | LIST_OPTIONS for needed in LISTS)
            return is_list and method == "GET" and query["prefix"].startswith(self.start)
        key = unquote(path.removeprefix(root))
        is_plain = not {"", ".", ".."} & set(key.split("/"))
        is_below = path.startswith(root) and key.startswith(self.start)
        return is_below and is_plain and names <= OBJECT_QUERY


def answer(signer: Signer | JobError, line: bytes) -> dict[str, Any]:
    """The headers of a signed request, or why it is not signed."""
    try:
        if isinstance(signer, JobError):
            raise signer
        request = json.loads(line)
        if not isinstance(request, dict):
            raise JobError("InvalidInput", "store_signer.py expects a JSON object")
        return {"headers": signer.sign(request)}
    except JobError as error:
        return {"reason": error.reason, "message": redact(str(error))}
    except (ValueError, RecursionError):
        return {"reason": "InvalidInput", "message": "store_signer.py expects JSON"}


def signer_of_environment() -> Signer | JobError:
    """The signer; or why this environment cannot be used, for the Job to report."""
    try:
        return Signer()
    except JobError as error:
        return error


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    take_secrets()
    signer = signer_of_environment()
    serve(Path(text_env("STORE_SIGNER_SOCKET")), lambda line: answer(signer, line))


if __name__ == "__main__":
    main()
