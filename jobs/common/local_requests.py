"""Requests of a Job to another container of its pod, which has a secret that the Job has not.

A request is one line on a Unix socket, and so is its answer, a JSON object. The socket is in a
directory that only the two containers share.
"""

import json
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from job_result import JobError, log

MAX_MESSAGE_BYTES = 64 << 10
# How long a client may take to send its request: it sends it at once.
REQUEST_SECONDS = 10


def serve(path: Path, answer: Callable[[bytes], dict[str, Any]]) -> None:
    """Answers one request of each connection."""
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        log(f"waiting for requests at {path}")
        while True:
            connection, _ = listener.accept()
            with connection:
                try:
                    connection.settimeout(REQUEST_SECONDS)
                    line = connection.makefile("rb").readline(MAX_MESSAGE_BYTES)
                    connection.settimeout(None)
                    connection.sendall(json.dumps(answer(line)).encode() + b"\n")
                except OSError as error:
                    log(f"a request was not answered: {error}")


def ask(path: str, request: str, wait_seconds: float, missing: JobError) -> dict[str, Any]:
    """The answer. Waits for the other container to start, and then raises `missing`.

    Raises ConnectionError if the container ends.
    """
    deadline = time.monotonic() + max(wait_seconds, 60)
    with socket.socket(socket.AF_UNIX) as connection:
        while True:
            try:
                connection.connect(path)
                break
            except (FileNotFoundError, ConnectionRefusedError):
                if time.monotonic() >= deadline:
                    raise missing from None
            time.sleep(0.05)
        connection.sendall(f"{request}\n".encode())
        line = connection.makefile("rb").readline(MAX_MESSAGE_BYTES)
    if not line.endswith(b"\n"):
        raise ConnectionError("the other container ended")
    answer: dict[str, Any] = json.loads(line)
    return answer
