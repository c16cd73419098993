"""How a Job ends: its log, its last line, and the termination message that the kubelet reads."""

import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn, TypeVar

from job_secrets import take_secrets
from operator_constants import TERMINATION_LOG, TERMINATION_MESSAGE_BYTES
from secret_redaction import redact

Outcome = TypeVar("Outcome")


class JobError(Exception):
    """Ends the Job with a reason in CamelCase and a message for users."""

    def __init__(self, reason: str, message: object) -> None:
        super().__init__(message)
        self.reason = reason


def all_of(problems: Sequence[JobError]) -> JobError:
    """One error that names all of them; the reason is that of the first."""
    first, *others = problems
    texts = [str(first), *(f"{other.reason}: {other}" for other in others)]
    return JobError(first.reason, "; ".join(texts))


def log(message: str) -> None:
    print(redact(message), flush=True)


def report(reason: str, message: object) -> None:
    """Prints the last line, which is also the termination message."""
    sys.stdout.flush()
    print(set_termination_message(reason, message), file=sys.stderr, flush=True)


def set_termination_message(reason: str, message: object) -> str:
    """Sets the message that remains if this process is killed. Returns the line."""
    line = redact(f"app-operator: {reason}: {' '.join(str(message).split())}")
    write_termination_message(line.encode())
    return line


def write_termination_message(message: bytes) -> None:
    path = os.environ.get("TERMINATION_LOG") or TERMINATION_LOG
    if path == TERMINATION_LOG and not os.path.exists(path):
        return
    try:
        with open(path, "wb") as file:
            file.write(message[:TERMINATION_MESSAGE_BYTES])
    except OSError:
        pass  # the log has the line too


def report_success(outcome: object) -> None:
    report("Succeeded", json.dumps(outcome))


def run_job(
    main: Callable[[], Outcome], on_success: Callable[[Outcome], None] = report_success
) -> None:
    """Runs `main`, and ends with exactly one last line. `on_success` gets the result of `main`."""
    try:
        take_secrets()
        outcome = main()
    except JobError as error:
        fail(error.reason, error)
    except OSError as error:
        fail("VolumeNotWritable", error)
    except Exception as error:
        fail("InternalError", f"{type(error).__name__}: {error}")
    on_success(outcome)


def fail(reason: str, message: object) -> NoReturn:
    report(reason, message)
    sys.exit(1)
