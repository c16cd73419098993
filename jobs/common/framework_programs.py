"""Runs programs that use the framework.

Each is a process, because the framework keeps global state and may end the interpreter.
"""

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from job_result import JobError
from job_secrets import SECRET_VARIABLES
from operator_constants import ISOLATED_SCRIPT
from secret_redaction import redact

# Variables that would override the site's configuration, or configure a database's client.
OVERRIDES = ("FRAPPE_", "MYSQL", "MARIADB", "PG")
# Variables of the operator that no program of the framework reads.
PRIVATE = ("S3_", "STORE_", "DB_ADMIN_", "DB_ROOT_", "DB_TLS_", "RESTORE_")

LOST_CONNECTION = re.compile(
    r"Lost connection|gone away|Can't connect to|server closed the connection|"
    r"terminating connection|could not connect|Connection refused",
    re.IGNORECASE,
)
KEPT_LINES = 30
# From version-16 on, `migrate` prints this every ten seconds during a query.
QUERY_STATE = re.compile(r"Command: .* \| Time: \d+s \| State: ")


# The end of a traceback, such as `frappe.exceptions.ValidationError: text`: its lines before are
# indented, and so are the values of variables that the framework prints after it.
CAUSE = re.compile(
    r"(?:\w+\.)*[A-Za-z_]\w*(?:Error|Exception|Exit|Interrupt)(?::|$)|(?:\w+\.)+[A-Z]\w*: "
)
SHOWN_LINES = 3


class ProgramFailed(JobError):
    """A program failed. The message is the cause; `output` has more lines."""

    def __init__(self, reason: str, output: list[str], code: int) -> None:
        super().__init__(reason, " | ".join(cause_in(output)) or f"exit code {code}")
        self.output = output


def cause_in(output: Sequence[str]) -> Sequence[str]:
    """The last line that names an exception, and what follows it; without one, the last lines."""
    for start in reversed(range(len(output))):
        if CAUSE.match(output[start]):
            return output[start : start + SHOWN_LINES]
    return output[-SHOWN_LINES:]


def program_env() -> dict[str, str]:
    """The environment of programs that work on a site's data: without secrets of other steps."""
    return {
        name: value
        for name, value in os.environ.items()
        if name not in SECRET_VARIABLES and not name.startswith((*OVERRIDES, *PRIVATE))
    }


def framework_env(further: Mapping[str, str] | None = None) -> dict[str, str]:
    settings = {"FRAPPE_DOCKER_BUILD": "1", "PYTHONUNBUFFERED": "1"}
    return program_env() | settings | dict(further or {})


def script_command(script: Path) -> list[str]:
    """Starts a script of the operator, see run_isolated.py."""
    return [sys.executable, "-I", "-u", str(script.with_name(ISOLATED_SCRIPT)), str(script)]


def bench_command(*arguments: str) -> list[str]:
    """The process that `bench ARGUMENT...` starts."""
    isolated = Path(__file__).with_name(ISOLATED_SCRIPT)
    helper = ["-m", "frappe.utils.bench_helper", "frappe"]
    return [sys.executable, "-I", "-u", str(isolated), *helper, *arguments]


def run_program(
    sites: Path,
    reason: str,
    arguments: Sequence[str],
    env: Mapping[str, str],
    secret: str = "",
) -> None:
    """Runs a program in `sites/`, and prints its output without secrets.

    `secret` is its input: unlike its environment, no program that it starts inherits it.
    """
    process = subprocess.Popen(
        arguments,
        cwd=sites,
        env=env,
        stdin=subprocess.PIPE if secret else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    assert process.stdout is not None
    if process.stdin is not None:
        with suppress(BrokenPipeError), process.stdin as pipe:
            pipe.write(secret)
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
    """Whether the line is a state of a progress bar, or of a query during a migration."""
    is_bar = ": [" in line and line.endswith("%")
    return is_bar or QUERY_STATE.match(line) is not None
