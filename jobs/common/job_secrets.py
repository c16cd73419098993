"""The secrets of a Job, which are in its environment only until it starts its work.

Programs that a Job starts run as the same user. They inherit no secret, unless it is passed to
them, and they can read neither the memory nor the first environment of the Job's process.
"""

import ctypes
import os

# Environment variables with secrets. Others are not inherited either, see framework_programs.py.
SECRET_VARIABLES = (
    "ADMIN_PASSWORD",
    "DB_PASSWORD",
    "DB_ROOT_PASSWORD",
    "ENCRYPTION_KEY",
    "REDIS_CACHE_URL",
    "REDIS_PASSWORD",
    "REDIS_QUEUE_URL",
    "RESTORE_AUTHORIZATION",
    "RESTORE_ENCRYPTION_KEY",
    "RESTORE_URL_DATABASE",
    "RESTORE_URL_PRIVATE_FILES",
    "RESTORE_URL_PUBLIC_FILES",
    "RESTORE_URL_SITE_CONFIG",
    "S3_SECRET_ACCESS_KEY",
)
PR_SET_DUMPABLE = 4

_taken: dict[str, bytes] = {}


def take_secrets() -> None:
    """Takes the secrets out of the environment, and hides this process from its user's others."""
    for name in SECRET_VARIABLES:
        value = os.environb.pop(name.encode(), None)
        if value is not None:
            _taken[name] = value
    # Then /proc/PID of this process belongs to root, and only CAP_SYS_PTRACE can attach to it.
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_DUMPABLE)")


def forget(name: str) -> bytes:
    """The value of a secret that another process takes over, empty if it is not set."""
    return os.environb.pop(name.encode(), b"") or _taken.pop(name, b"")


def stored_value(name: str) -> bytes | None:
    """The value of an environment variable or of a secret as it is stored, see secret_text.py."""
    return _taken[name] if name in _taken else os.environb.get(name.encode())


def secret_values() -> list[str]:
    """The secrets in the forms in which a message may have them."""
    values = (stored_value(name) or b"" for name in SECRET_VARIABLES)
    texts = [value.decode(errors="surrogateescape") for value in values]
    return [form for text in texts for form in (text, text.strip("\ufeff\r\n"), *text.splitlines())]
