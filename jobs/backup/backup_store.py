"""Opens the store of backups that the environment names.

Environment
  STORE_PREFIX    the folder, or the prefix of the keys
  STORE_DIR, STORE_CLAIM    a volume: its mount path, and the name of its PersistentVolumeClaim
  S3_ENDPOINT, S3_REGION, S3_BUCKET, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY, S3_CA_FILE
  S3_PATH_STYLE   0: the bucket is in the host name
"""

import os
import re
from pathlib import Path

from job_environment import text_env
from job_result import JobError
from store_base import Store
from volume_store import VolumeStore

PREFIX = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*")


def open_store() -> Store:
    """The store that the environment names."""
    prefix = text_env("STORE_PREFIX")
    if not PREFIX.fullmatch(prefix):
        raise JobError("InvalidInput", f"STORE_PREFIX {prefix!r} is not a relative folder")
    if os.environ.get("STORE_DIR"):
        mount = Path(os.environ["STORE_DIR"])
        return VolumeStore(mount, prefix, os.environ.get("STORE_CLAIM", ""))
    # Only here: most Jobs use no S3, and its client takes longer to import than the rest of a Job.
    from s3_client import S3Client
    from s3_store import S3Store

    client = S3Client(
        endpoint=text_env("S3_ENDPOINT"),
        region=text_env("S3_REGION", "us-east-1"),
        bucket=text_env("S3_BUCKET"),
        key_id=text_env("S3_ACCESS_KEY_ID").strip(),
        secret=text_env("S3_SECRET_ACCESS_KEY").strip(),
        path_style=os.environ.get("S3_PATH_STYLE") != "0",
        ca_file=os.environ.get("S3_CA_FILE") or None,
    )
    return S3Store(client, prefix)
