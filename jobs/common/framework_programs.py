"""Runs programs that use the framework.

Each is a process, because the framework keeps global state and may end the interpreter.
"""

import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from job_result import JobError
from secret_redaction import redact

LOST_CONNECTION = re.compile(
    r"Lost connection|gone away|Can't connect to|server closed the connection|"
    r"terminating connection|could not connect|Connection refused",
    re.IGNORECASE,
)
KEPT_LINES = 30


class ProgramFailed(JobError):
    """A program failed. Its last lines are the message; `output` has more of them."""

    def __init__(self, reason: str, output: list[str], code: int) -> None:
        super().__init__(reason, " | ".join(output[-3:]) or f"exit code {code}")
        self.output = output


def run_program(sites: Path, reason: str, arguments: Sequence[str], env: Mapping[str, str]) -> None:
    """Runs a program in `sites/`, and prints its output without secrets."""
    process = subprocess.Popen(
        arguments,
        cwd=sites,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    assert process.stdout is not None
    last: list[str] = []
    for output in process.stdout:  # universal newlines: the \r of a progress bar ends a line too
        line = redact(output.rstrip())
        if not line or is_progress(line):
            continue
        print(f"  {line}", flush=True)
        last = [*last[1 - KEPT_LINES :], line]
    if code := process.wait():
        raise ProgramFailed(reason, last, code)


def is_progress(line: str) -> bool:
    """Whether the line is a state of the framework's progress bar."""
    return ": [" in line and line.endswith("%")
