"""Asks database_admin.py, which has the administrator's login, to do one thing."""

import json
import socket
import time
from typing import Any

from job_result import JobError

MAX_MESSAGE_BYTES = 64 << 10


class AccessDenied(Exception):
    """The server refuses a login, or the login's access to the database."""

    user = ""


class DatabaseNotFound(Exception):
    """The server has no database of this name."""


def request(path: str, operation: str, wait_seconds: float) -> Any:
    """The result of the operation. Waits for the other container to start."""
    deadline = time.monotonic() + max(wait_seconds, 60)
    with socket.socket(socket.AF_UNIX) as connection:
        while True:
            try:
                connection.connect(path)
                break
            except (FileNotFoundError, ConnectionRefusedError):
                if time.monotonic() >= deadline:
                    raise JobError(
                        "DatabaseAdminMissing", "the container database-admin does not answer"
                    ) from None
            time.sleep(0.05)
        connection.sendall(f"{operation}\n".encode())
        line = connection.makefile("rb").readline(MAX_MESSAGE_BYTES)
    if not line.endswith(b"\n"):
        raise ConnectionError("the container database-admin ended")
    answer: dict[str, Any] = json.loads(line)
    if "error" in answer:
        raise error_of(answer)
    return answer.get("result")


def error_of(answer: dict[str, Any]) -> Exception:
    kind, message = answer["error"], str(answer.get("message", ""))
    if kind == "AccessDenied":
        denied = AccessDenied(message)
        denied.user = str(answer.get("user", ""))
        return denied
    if kind == "DatabaseNotFound":
        return DatabaseNotFound(message)
    if kind == "ConnectionError":
        return ConnectionError(message)
    if kind == "JobError":
        return JobError(str(answer.get("reason")), message)
    return RuntimeError(message)
