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
    "S3_SECRET_ACCESS_KEY",
)
PR_SET_DUMPABLE = 4

_taken: dict[str, str] = {}


def take_secrets() -> None:
    """Takes the secrets out of the environment, and hides this process from its user's others."""
    for name in SECRET_VARIABLES:
        value = os.environ.pop(name, None)
        if value is not None:
            _taken[name] = value
    # Then /proc/PID of this process belongs to root, and only CAP_SYS_PTRACE can attach to it.
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_DUMPABLE)")


def forget(name: str) -> str:
    """The value of a secret that another process takes over, "" if it is not set."""
    return os.environ.pop(name, "") or _taken.pop(name, "")


def variable(name: str) -> str:
    """The value of an environment variable or of a secret, "" if it is not set."""
    return _taken.get(name) or os.environ.get(name, "")


def secret_values() -> list[str]:
    return [value for name in SECRET_VARIABLES if (value := variable(name))]
