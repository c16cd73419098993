"""Removes secrets from texts that reach a log or a termination message."""

from collections.abc import Iterable

from job_secrets import secret_values

MASK = "***"
# A shorter text occurs in many ordinary words.
MIN_SECRET_LENGTH = 4

# Secrets that were read from files.
file_secrets: set[str] = set()


def redact(text: str) -> str:
    """Masks every secret of this process, also inside the error of another program."""
    return mask(text, (*file_secrets, *secret_values()))


def mask(text: str, secrets: Iterable[str]) -> str:
    """Masks the longest secrets first: a secret may contain another one."""
    for secret in sorted(set(secrets), key=len, reverse=True):
        if len(secret) >= MIN_SECRET_LENGTH:
            text = text.replace(secret, MASK)
    return text
