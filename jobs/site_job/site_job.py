"""Runs a bench command or a Python method in a site, once. Runs as the Job of a SiteJob, and of each time of its schedule.

Environment
  SITE_NAME, IMAGE
  JOB_COMMAND      JSON array: arguments of `bench --site SITE_NAME`, each as it is; or
  JOB_METHOD       dotted path of a function in an installed app, and
  JOB_KWARGS       JSON object of its keyword arguments (default {})
  TIMEOUT_SECONDS  after which the command is ended (default 0: never)
  KILL_AFTER_SECONDS  between SIGTERM and SIGKILL, where one does not end on SIGTERM (20)
  BENCH_DIR, TERMINATION_LOG

What the command prints is passed on line by line. The termination message is JSON: {"exitCode", "startTime",
"completionTime", "log": last lines, "reason": only where the command did not end by itself}. It is kept up to date while
the command runs, without exitCode and completionTime, for the case that this process is killed. The exit code is the
command's own: 128 + n after signal n, 124 after the timeout. No password or key of the site's configuration is printed.
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
from datetime import datetime, timezone
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from site_common import SITE_NAME, TERMINATION_LOG, Refused, check_open, held_open, json_env, seconds_env, text_env

MESSAGE_BYTES = 4096
LINE_BYTES = 65536
LINE_OVERLAP = 4096  # longer than any secret
TICK_SECONDS = 0.5
AFTERMATH_SECONDS = 2
SHORTEST_SECRET = 4  # shorter ones stand in many words
REFUSED, TIMED_OUT = 1, 124
SECRET_KEY = re.compile(r"password|passwd|secret|token|encryption_key|api_key|access_key|private_key", re.IGNORECASE)
# Colours and cursor movements, and all other control characters but tab and newline.
CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[@-Z\\-_]|[\x00-\x08\x0b-\x1f\x7f]")
METHOD = re.compile(r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$", re.ASCII)


def now():
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


# --- what must not be printed ---------------------------------------------------------------------------------------


def secrets_in(value, key=""):
    """Every secret text in a configuration: values of keys that say so, and passwords in URLs."""
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


class Redaction:
    """The secrets of a site, in each way in which a program may write them."""

    def __init__(self, sites, site_name):
        self.files = (sites / site_name / "site_config.json", sites / "common_site_config.json")
        self.texts = []
        self.read()

    def read(self):
        """Takes in what the configuration says by now: the command may change it."""
        found = set(self.texts)
        for path in self.files:
            try:
                secrets = list(secrets_in(json.loads(path.read_text())))
            except (OSError, ValueError):
                continue  # a broken file is the framework's to complain about
            for secret in secrets:
                forms = {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], repr(secret)[1:-1], quote(secret, safe="")}
                # Of several lines one is printed at a time.
                found |= {line for form in forms for line in form.splitlines() if len(line) >= SHORTEST_SECRET}
        self.texts = sorted(found, key=len, reverse=True)

    def apply(self, text):
        for secret in self.texts:
            text = text.replace(secret, "***")
        return text


# --- what is said at the end ----------------------------------------------------------------------------------------


class Report:
    """The termination message, and the lines for it."""

    def __init__(self):
        self.start = now()
        self.redact = str  # until the secrets are known, nothing but our own words is printed
        self.lines = deque()
        self.size = 0
        self.foretold_at = None
        self.changed = True

    def line(self, text):
        """Passes a line on."""
        text = self.redact(text)
        sys.stdout.buffer.write(text.encode(errors="replace") + b"\n")
        sys.stdout.buffer.flush()
        self.changed = True
        text = CONTROL.sub("", text)[-MESSAGE_BYTES:]
        self.lines.append(text)
        self.size += len(text) + 1
        while self.size > 2 * MESSAGE_BYTES and len(self.lines) > 1:
            self.size -= len(self.lines.popleft()) + 1

    def foretell(self):
        """What is known so far, at most once a second."""
        clock = time.monotonic()
        if self.changed and (self.foretold_at is None or clock - self.foretold_at >= 1):
            self.foretold_at, self.changed = clock, False
            self.write({"startTime": self.start})

    def end(self, code, reason=None):
        fields = {"exitCode": code, "startTime": self.start, "completionTime": now()}
        self.write({**fields, **({"reason": reason} if reason else {})})

    def write(self, fields):
        path = os.environ.get("TERMINATION_LOG") or TERMINATION_LOG
        if path == TERMINATION_LOG and not os.path.exists(path):
            return
        try:
            with open(path, "wb") as file:
                file.write(self.message(fields))
        except OSError:
            pass

    def message(self, fields):
        """As many of the last lines as there is room for; of the oldest of them its end."""
        # Once more: a secret that has become known, or that stands on two lines.
        log = self.redact("\n".join(self.lines)).strip("\n")
        encode = lambda text: json.dumps({**fields, "log": text}, ensure_ascii=False, separators=(",", ":")).encode()
        room = len(log)
        while len(encoded := encode(log[len(log) - room :])) > MESSAGE_BYTES:
            # A character takes up at most six bytes.
            room -= max(1, (len(encoded) - MESSAGE_BYTES) // 6)
        kept = log[len(log) - room :]
        if room < len(log) and log[len(log) - room - 1] != "\n" and "\n" in kept:
            kept = kept.split("\n", 1)[1]
        return encode(kept)


# --- the command ----------------------------------------------------------------------------------------------------


class Lines:
    """Bytes as lines. What a progress bar has overwritten is left out."""

    def __init__(self, redact, emit):
        self.redact = redact
        self.emit = emit
        self.rest = b""

    def feed(self, chunk):
        *lines, self.rest = (self.rest + chunk).split(b"\n")
        for line in lines:
            self.one(line.decode(errors="replace"))
        if len(self.rest) > LINE_BYTES:
            # Parted, but within no secret and no character.
            decoder = codecs.getincrementaldecoder("utf-8")("replace")
            text = self.redact(decoder.decode(self.rest))
            begun, _ = decoder.getstate()
            self.one(text[:-LINE_OVERLAP])
            self.rest = text[-LINE_OVERLAP:].encode() + begun

    def end(self):
        if self.rest:
            self.one(self.rest.decode(errors="replace"))
        self.rest = b""

    def one(self, line):
        self.emit(next((part for part in reversed(line.split("\r")) if part), ""))


class Command:
    """A program in `sites/` and all that it starts."""

    def __init__(self, arguments, sites, report, timeout, kill_after):
        self.report = report
        self.timeout = timeout
        self.kill_after = kill_after
        self.lines = Lines(report.redact, report.line)
        self.signals = []
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda received, frame: self.signals.append(received))
        # A group of its own: what it starts is signalled with it.
        self.process = subprocess.Popen(
            arguments, cwd=sites, env={**os.environ, "PYTHONUNBUFFERED": "1"}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip

    def run(self):
        """Returns the exit code, and the reason where it was not left to end by itself."""
        started = time.monotonic()
        reason, stopped, ended = None, None, None
        while True:
            closed = self.read()
            self.report.foretell()
            clock = time.monotonic()
            if self.process.poll() is not None:
                ended = ended or clock
                # What it has left behind may hold its output open.
                if closed or clock - ended > AFTERMATH_SECONDS:
                    break
            elif stopped is None:
                if self.signals:
                    reason = "Terminated"
                elif self.timeout and clock - started >= self.timeout:
                    reason = "TimedOut"
                if reason:
                    stopped = clock
                    self.signal(signal.SIGTERM)
            elif clock - stopped >= self.kill_after:
                self.signal(signal.SIGKILL)
        self.lines.end()
        self.signal(signal.SIGKILL)
        return self.code(reason), reason

    def code(self, reason):
        code = self.process.returncode
        if reason == "TimedOut":
            return TIMED_OUT
        if code < 0:
            return 128 - code
        # One that ends well when it is asked to end has not done what it should.
        return code or (128 + self.signals[0] if reason else 0)

    def read(self):
        """Waits a little for output, or for the end. Returns whether the output is closed."""
        output = self.process.stdout
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

    def signal(self, number):
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass


# --- what is to be run ----------------------------------------------------------------------------------------------


def arguments_of(site_name):
    """The program that runs the command, or calls the method. No shell reads any of it."""
    command, method = json_env("JOB_COMMAND", [], list), os.environ.get("JOB_METHOD", "")
    if bool(command) == bool(method):
        raise Refused("InvalidInput", "one of JOB_COMMAND and JOB_METHOD must be given")
    if method:
        if not METHOD.match(method):
            raise Refused("InvalidInput", f"JOB_METHOD {method!r} is not a dotted path")
        json_env("JOB_KWARGS", {}, dict)
        return method, [sys.executable, os.path.abspath(__file__), "call"]
    if not all(isinstance(argument, str) and "\0" not in argument for argument in command):
        raise Refused("InvalidInput", "JOB_COMMAND must be a JSON array of texts without NUL")
    # Just what `bench` itself starts.
    helper = [sys.executable, "-m", "frappe.utils.bench_helper", "frappe", "--site", site_name]
    return f"bench {command[0]}", [*helper, *command]


def call():
    """The method, in the site's context: what it has written is kept when it returns, and only then."""
    sys.path.pop(0)  # our scripts are no modules of the framework's
    import frappe

    frappe.init(os.environ["SITE_NAME"], sites_path=".")
    frappe.connect()
    try:
        result = frappe.get_attr(os.environ["JOB_METHOD"])(**json.loads(os.environ.get("JOB_KWARGS") or "{}"))
        frappe.db.commit()
    finally:
        frappe.destroy()
    if result is not None:
        print(json.dumps(result, default=str))


def run(report):
    sites = Path(os.environ.get("BENCH_DIR") or "/home/frappe/frappe-bench") / "sites"
    site_name = text_env("SITE_NAME")
    timeout, kill_after = seconds_env("TIMEOUT_SECONDS", 0), seconds_env("KILL_AFTER_SECONDS", 20)
    if not SITE_NAME.match(site_name):
        raise Refused("InvalidInput", f"SITE_NAME {site_name!r} is not a host name")
    title, arguments = arguments_of(site_name)
    with held_open(sites, site_name):
        check_open(sites / site_name)
        redaction = Redaction(sites, site_name)
        report.redact = redaction.apply
        try:
            command = Command(arguments, sites, report, timeout, kill_after)
        except OSError as error:
            raise Refused("InvalidInput", f"{title} cannot be started: {error.strerror}") from None
        code, reason = command.run()
        redaction.read()
    if reason == "TimedOut":
        report.line(f"app-operator: {title} was not done within {timeout} seconds")
    elif reason:
        report.line(f"app-operator: {title} was asked to end")
    return code, reason


def main():
    report = Report()
    try:
        code, reason = run(report)
    except Refused as refused:
        code, reason = REFUSED, refused.reason
        report.line(f"app-operator: {reason}: {refused}")
    except OSError as error:
        code = REFUSED
        reason = "VolumeNotReadable"
        report.line(f"app-operator: {reason}: {error}")
    report.end(code, reason)
    return code


if __name__ == "__main__":
    sys.exit(call() if sys.argv[1:] == ["call"] else main())
