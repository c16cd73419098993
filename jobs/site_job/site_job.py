"""Runs a bench command or a Python method in a site, once. Runs as the Job of a SiteJob.

Environment
  SITE_NAME, IMAGE
  JOB_COMMAND      JSON array: arguments of `bench --site SITE_NAME`, passed unchanged; or
  JOB_METHOD       dotted path of a function in an installed app, and
  JOB_KWARGS       JSON object of its keyword arguments (default {})
  TIMEOUT_SECONDS  after which the command is terminated (default 0: never)
  KILL_AFTER_SECONDS  between SIGTERM and SIGKILL (20)
  BENCH_DIR, TERMINATION_LOG

The command's output is printed line by line. The termination message is JSON: {"exitCode",
"startTime", "completionTime", "log": last lines, "reason": only if the command was terminated}. It
is updated while the command runs, without exitCode and completionTime, in case this process is
killed. The exit code is the command's: 128 + n after signal n, 124 after the timeout. Passwords and
keys of the site's configuration are not printed.
"""

import codecs
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote, unquote, urlsplit

from framework_programs import bench_command, script_command
from job_environment import bench_dir, json_array_env, json_object_env, number_env, site_name_env
from job_result import JobError, write_termination_message
from job_secrets import take_secrets
from operator_constants import COMMON_CONFIG_FILE, TERMINATION_MESSAGE_BYTES
from secret_redaction import MIN_SECRET_LENGTH, mask
from site_locks import shared_site_lock
from site_records import CONFIG_FILE, check_framework_files
from site_state import require_open
from utc_time import utc_now
from volume_files import read_json_value

LINE_BYTES = 64 << 10
LINE_OVERLAP = 4 << 10  # longer than any secret
TICK_SECONDS = 0.5
# How long output is read after the command has ended: its child processes may keep the pipe open.
REMAINING_OUTPUT_SECONDS = 2
ERROR_EXIT_CODE, TIMEOUT_EXIT_CODE = 1, 124
SIGNAL_EXIT_CODE = 128
# Reasons that are not of a JobError.
TERMINATED = "Terminated"
TIMED_OUT = "TimedOut"
VOLUME_NOT_READABLE = "VolumeNotReadable"
SECRET_KEY = re.compile(
    r"password|passwd|secret|token|encryption_key|api_key|access_key|private_key", re.IGNORECASE
)
# Colours, cursor movements, and other control characters except tab and newline.
CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[@-Z\\-_]|[\x00-\x08\x0b-\x1f\x7f]")
METHOD = re.compile(r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$", re.ASCII)


# --- secrets ------------------------------------------------------------------------------------


def secrets_in(value: object, key: str = "") -> Iterator[str]:
    """The secrets of a configuration: values of secret keys, and passwords in URLs."""
    if isinstance(value, dict):
        for inner_key, inner in value.items():
            yield from secrets_in(inner, str(inner_key))
    elif isinstance(value, list):
        for inner in value:
            yield from secrets_in(inner, key)
    elif isinstance(value, str) and SECRET_KEY.search(key):
        yield value
    elif isinstance(value, str) and "://" in value:
        try:
            password = urlsplit(value).password
        except ValueError:
            password = None
        if password:
            yield password
            yield unquote(password)


def forms_of(secret: str) -> set[str]:
    """The lines of a secret in each form in which a program may print it."""
    forms = {
        secret,
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        repr(secret)[1:-1],
        quote(secret, safe=""),
    }
    lines = (line for form in forms for line in form.splitlines())
    return {line for line in lines if len(line) >= MIN_SECRET_LENGTH}


class Redaction:
    """Masks the secrets of a site's configuration."""

    def __init__(self, sites: Path, site_name: str) -> None:
        self.files = (sites / site_name / CONFIG_FILE, sites / COMMON_CONFIG_FILE)
        self.texts: list[str] = []
        self.read()

    def read(self) -> None:
        """Adds the secrets of the current configuration: the command may change it."""
        found = set(self.texts)
        for path in self.files:
            try:
                secrets = list(secrets_in(read_json_value(path)))
            except (OSError, ValueError, JobError):
                continue  # the framework reports a broken file
            for secret in secrets:
                found |= forms_of(secret)
        self.texts = sorted(found)

    def apply(self, text: str) -> str:
        return mask(text, self.texts)


# --- the result ---------------------------------------------------------------------------------


class Report:
    """The termination message, and the last lines for it."""

    def __init__(self) -> None:
        self.start = utc_now()
        # Until the secrets are read, only messages of this module are printed.
        self.redact: Callable[[str], str] = str
        self.lines: deque[str] = deque()
        self.size = 0
        self.updated_at: float | None = None
        self.changed = True

    def line(self, text: str) -> None:
        """Prints a line."""
        text = self.redact(text)
        sys.stdout.buffer.write(text.encode(errors="replace") + b"\n")
        sys.stdout.buffer.flush()
        self.changed = True
        text = CONTROL.sub("", text)[-TERMINATION_MESSAGE_BYTES:]
        self.lines.append(text)
        self.size += len(text) + 1
        while self.size > 2 * TERMINATION_MESSAGE_BYTES and len(self.lines) > 1:
            self.size -= len(self.lines.popleft()) + 1

    def update(self) -> None:
        """Writes the message of a running command, at most once a second."""
        clock = time.monotonic()
        if self.changed and (self.updated_at is None or clock - self.updated_at >= 1):
            self.updated_at, self.changed = clock, False
            write_termination_message(self.message({"startTime": self.start}))

    def end(self, code: int, reason: str | None = None) -> None:
        fields: dict[str, Any] = {
            "exitCode": code,
            "startTime": self.start,
            "completionTime": utc_now(),
            **({"reason": reason} if reason else {}),
        }
        write_termination_message(self.message(fields))

    def message(self, fields: dict[str, Any]) -> bytes:
        """As many of the last lines as fit. Of the oldest one only the end may fit."""
        # Masked again: a secret may have become known since, or may be on two lines.
        log = self.redact("\n".join(self.lines)).strip("\n")

        def encode(text: str) -> bytes:
            value = {**fields, "log": text}
            return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()

        room = len(log)
        while len(encoded := encode(log[len(log) - room :])) > TERMINATION_MESSAGE_BYTES:
            # The JSON of a character has at most six bytes.
            room -= max(1, (len(encoded) - TERMINATION_MESSAGE_BYTES) // 6)
        kept = log[len(log) - room :]
        if room < len(log) and log[len(log) - room - 1] != "\n" and "\n" in kept:
            kept = kept.split("\n", 1)[1]
        return encode(kept)


# --- the command --------------------------------------------------------------------------------


class Lines:
    """Splits bytes into lines, without text that a progress bar has overwritten."""

    def __init__(self, redact: Callable[[str], str], emit: Callable[[str], None]) -> None:
        self.redact = redact
        self.emit = emit
        self.rest = b""

    def feed(self, chunk: bytes) -> None:
        *lines, self.rest = (self.rest + chunk).split(b"\n")
        for line in lines:
            self.emit_line(line.decode(errors="replace"))
        if len(self.rest) > LINE_BYTES:
            # Splits a long line, but neither a secret nor a character.
            decoder = codecs.getincrementaldecoder("utf-8")("replace")
            text = self.redact(decoder.decode(self.rest))
            incomplete, _ = decoder.getstate()
            self.emit_line(text[:-LINE_OVERLAP])
            self.rest = text[-LINE_OVERLAP:].encode() + incomplete

    def end(self) -> None:
        if self.rest:
            self.emit_line(self.rest.decode(errors="replace"))
        self.rest = b""

    def emit_line(self, line: str) -> None:
        self.emit(next((part for part in reversed(line.split("\r")) if part), ""))


class Command:
    """A program in `sites/`, and the processes that it starts."""

    def __init__(self, arguments: Sequence[str], sites: Path, report: Report) -> None:
        self.report = report
        self.timeout = number_env("TIMEOUT_SECONDS", 0)
        self.kill_after = number_env("KILL_AFTER_SECONDS", 20)
        self.lines = Lines(report.redact, report.line)
        self.signals: list[int] = []
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda received, _: self.signals.append(received))
        # A process group, so that signals reach its child processes.
        self.process = subprocess.Popen(
            arguments,
            cwd=sites,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    @property
    def output(self) -> IO[bytes]:
        assert self.process.stdout is not None
        return self.process.stdout

    def run(self) -> tuple[int, str | None]:
        """Returns the exit code, and the reason if the command was terminated."""
        started = time.monotonic()
        reason: str | None = None
        terminated_at: float | None = None
        ended_at: float | None = None
        while True:
            is_output_closed = self.read()
            self.report.update()
            clock = time.monotonic()
            if self.process.poll() is not None:
                ended_at = ended_at or clock
                if is_output_closed or clock - ended_at > REMAINING_OUTPUT_SECONDS:
                    break
            elif terminated_at is None:
                reason = self.termination_reason(clock - started)
                if reason:
                    terminated_at = clock
                    self.signal(signal.SIGTERM)
            elif clock - terminated_at >= self.kill_after:
                self.signal(signal.SIGKILL)
        self.lines.end()
        self.signal(signal.SIGKILL)
        return self.exit_code(reason), reason

    def termination_reason(self, seconds: float) -> str | None:
        if self.signals:
            return TERMINATED
        return TIMED_OUT if self.timeout and seconds >= self.timeout else None

    def exit_code(self, reason: str | None) -> int:
        code: int = self.process.returncode
        if reason == TIMED_OUT:
            return TIMEOUT_EXIT_CODE
        if code < 0:
            return SIGNAL_EXIT_CODE - code
        # A command that exits with 0 on SIGTERM has not completed its work.
        return code or (SIGNAL_EXIT_CODE + self.signals[0] if reason else 0)

    def read(self) -> bool:
        """Waits briefly for output, or for the end. Returns whether the output is closed."""
        output = self.output
        if output.closed:
            try:
                self.process.wait(TICK_SECONDS)
            except subprocess.TimeoutExpired:
                pass
            return True
        if select.select([output], [], [], TICK_SECONDS)[0]:
            chunk = os.read(output.fileno(), LINE_BYTES)
            if chunk:
                self.lines.feed(chunk)
            else:
                output.close()
        return output.closed

    def signal(self, number: int) -> None:
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass


# --- the Job ------------------------------------------------------------------------------------


def command_of(site_name: str) -> tuple[str, list[str]]:
    """A name for messages, and the arguments of the process. No shell interprets them."""
    command, method = json_array_env("JOB_COMMAND"), os.environ.get("JOB_METHOD", "")
    if bool(command) == bool(method):
        raise JobError("InvalidInput", "exactly one of JOB_COMMAND and JOB_METHOD must be set")
    if method:
        if not METHOD.match(method):
            raise JobError("InvalidInput", f"JOB_METHOD {method!r} is not a dotted path")
        json_object_env("JOB_KWARGS")
        return method, [*script_command(Path(__file__).absolute()), "call"]
    if not all(isinstance(argument, str) and "\0" not in argument for argument in command):
        raise JobError("InvalidInput", "JOB_COMMAND must be a JSON array of strings without NUL")
    # The process that `bench` starts.
    return f"bench {command[0]}", bench_command("--site", site_name, *command)


def call_method() -> None:
    """Calls JOB_METHOD in the site, and commits its changes if it returns."""
    from database_tls import encrypt_framework

    sys.path.pop(0)  # the framework must not import the operator's modules
    import frappe

    encrypt_framework()
    frappe.init(os.environ["SITE_NAME"], sites_path=".")
    frappe.connect()
    try:
        arguments = json.loads(os.environ.get("JOB_KWARGS") or "{}")
        result = frappe.get_attr(os.environ["JOB_METHOD"])(**arguments)
        frappe.db.commit()
    finally:
        frappe.destroy()
    if result is not None:
        print(json.dumps(result, default=str))


def run(report: Report) -> tuple[int, str | None]:
    sites, site_name = bench_dir() / "sites", site_name_env()
    title, arguments = command_of(site_name)
    with shared_site_lock(sites, site_name):
        require_open(sites / site_name)
        check_framework_files(sites / site_name)
        redaction = Redaction(sites, site_name)
        report.redact = redaction.apply
        try:
            command = Command(arguments, sites, report)
        except OSError as error:
            message = f"{title} cannot be started: {error.strerror}"
            raise JobError("InvalidInput", message) from None
        code, reason = command.run()
        redaction.read()
    if reason == TIMED_OUT:
        report.line(f"app-operator: {title} did not complete within {command.timeout} seconds")
    elif reason:
        report.line(f"app-operator: {title} was terminated")
    return code, reason


def main() -> int:
    report = Report()
    reason: str | None
    try:
        take_secrets()
        code, reason = run(report)
    except JobError as error:
        code, reason = ERROR_EXIT_CODE, error.reason
        report.line(f"app-operator: {reason}: {error}")
    except OSError as error:
        code, reason = ERROR_EXIT_CODE, VOLUME_NOT_READABLE
        report.line(f"app-operator: {reason}: {error}")
    report.end(code, reason)
    return code


if __name__ == "__main__":
    if sys.argv[1:] == ["call"]:
        call_method()
    else:
        sys.exit(main())
