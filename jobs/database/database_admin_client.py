"""Asks database_admin.py, which has the administrator's login, to do one thing."""

from typing import Any

from database_tls import TlsFailed
from job_result import JobError
from local_requests import ask


class AccessDenied(Exception):
    """The server refuses a login, or the login's access to the database."""

    user = ""


class DatabaseNotFound(Exception):
    """The server has no database of this name."""


def request(path: str, operation: str, wait_seconds: float) -> Any:
    """The result of the operation. Waits for the other container to start."""
    missing = JobError("DatabaseAdminMissing", "the container database-admin does not answer")
    answer = ask(path, operation, wait_seconds, missing)
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
    if kind == "TlsFailed":
        return TlsFailed(message)
    if kind == "ConnectionError":
        return ConnectionError(message)
    if kind == "JobError":
        return JobError(str(answer.get("reason")), message)
    return RuntimeError(message)
