"""Removes secrets from texts that reach a log or a termination message."""

import os
from collections.abc import Iterable

MASK = "***"
# A shorter text occurs in many ordinary words.
MIN_SECRET_LENGTH = 4
SECRET_VARIABLES = (
    "DB_PASSWORD",
    "DB_ROOT_PASSWORD",
    "ADMIN_PASSWORD",
    "ENCRYPTION_KEY",
    "S3_SECRET_ACCESS_KEY",
)

# Secrets that were read from files.
file_secrets: set[str] = set()


def redact(text: str) -> str:
    """Masks every secret of this process, also inside the error of another program."""
    variables = (os.environ.get(name, "") for name in SECRET_VARIABLES)
    return mask(text, (*file_secrets, *variables))


def mask(text: str, secrets: Iterable[str]) -> str:
    """Masks the longest secrets first: a secret may contain another one."""
    for secret in sorted(set(secrets), key=len, reverse=True):
        if len(secret) >= MIN_SECRET_LENGTH:
            text = text.replace(secret, MASK)
    return text
