"""A stream that says how much of it was read: in the log, and in the message of a killed Job."""

import time
from typing import Protocol

from job_result import log, set_termination_message

PROGRESS_SECONDS = 30


class Source(Protocol):
    def read(self, size: int, /) -> bytes: ...


class ReadProgress:
    """`doing` and `what` describe the step; `reason` and `killed` are of a Job that is killed."""

    def __init__(
        self, file: Source, size: int | None, doing: str, what: str, reason: str, killed: str
    ) -> None:
        self.file, self.size, self.doing, self.what = file, size, doing, what
        self.reason, self.killed = reason, killed
        self.done = 0
        self.next_time = time.monotonic()

    def __str__(self) -> str:
        of = "" if self.size is None else f" of {self.size}"
        return f"{self.done}{of} bytes of {self.what} were read"

    def read(self, size: int = -1) -> bytes:
        data = self.file.read(size)
        self.done += len(data)
        if time.monotonic() >= self.next_time:
            set_termination_message(self.reason, f"{self.killed}; {self}; it begins again")
            log(f"{self.doing}: {self}")
            self.next_time = time.monotonic() + PROGRESS_SECONDS
        return data
