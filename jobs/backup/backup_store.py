"""Opens the store of backups that the environment names.

Environment
  STORE_PREFIX    the folder, or the prefix of the keys; `/`: the whole volume or bucket, which an
                  archive may be at the top of
  STORE_DIR, STORE_CLAIM    a volume: its mount path, and the name of its PersistentVolumeClaim
  S3_ENDPOINT, S3_REGION, S3_BUCKET, S3_CA_FILE
  S3_PATH_STYLE   0: the bucket is in the host name
  S3_ENCRYPTION, S3_KMS_KEY_ID    how the store encrypts new objects, such as AES256; optional
  HTTPS_PROXY, HTTP_PROXY, NO_PROXY    see proxies.py
  STORE_SIGNER_SOCKET    where store_signer.py signs requests. A pod that an earlier release of the
                  operator made has S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY instead
"""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from job_environment import secret_env, text_env
from job_result import JobError
from store_base import Store
from volume_store import VolumeStore

if TYPE_CHECKING:
    from s3_client import S3Client

WHOLE_STORE = "/"
PREFIX = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*")


def store_prefix() -> str:
    prefix = text_env("STORE_PREFIX")
    if prefix == WHOLE_STORE and os.environ.get("STORE_ACCESS") == "Read":
        return ""
    if not PREFIX.fullmatch(prefix):
        raise JobError("InvalidInput", f"STORE_PREFIX {prefix!r} is not a relative folder")
    return prefix


def s3_client_with_key() -> "S3Client":
    """The client with the access key of the environment."""
    from s3_client import S3Client

    return s3_client(
        S3Client, secret_env("S3_ACCESS_KEY_ID").strip(), secret_env("S3_SECRET_ACCESS_KEY").strip()
    )


def s3_client(kind: type["S3Client"], key_id: str = "", secret: str = "") -> "S3Client":
    return kind(
        endpoint=text_env("S3_ENDPOINT"),
        region=text_env("S3_REGION", "us-east-1"),
        bucket=text_env("S3_BUCKET"),
        key_id=key_id,
        secret=secret,
        path_style=os.environ.get("S3_PATH_STYLE") != "0",
        ca_file=os.environ.get("S3_CA_FILE") or None,
        encryption=encryption_headers(),
    )


def encryption_headers() -> dict[str, str]:
    """In the order of their names, in which they are signed."""
    header = "x-amz-server-side-encryption"
    headers = {
        header: os.environ.get("S3_ENCRYPTION", ""),
        f"{header}-aws-kms-key-id": os.environ.get("S3_KMS_KEY_ID", ""),
    }
    return {name: value for name, value in headers.items() if value}


def open_store() -> Store:
    """The store that the environment names."""
    prefix = store_prefix()
    if os.environ.get("STORE_DIR"):
        mount = Path(os.environ["STORE_DIR"])
        return VolumeStore(mount, prefix, os.environ.get("STORE_CLAIM", ""))
    # Only here: most Jobs use no S3, and its client takes longer to import than the rest of a Job.
    from s3_store import S3Store

    if os.environ.get("STORE_SIGNER_SOCKET"):
        from remote_signature import RemotelySignedClient

        return S3Store(s3_client(RemotelySignedClient), prefix)
    return S3Store(s3_client_with_key(), prefix)
