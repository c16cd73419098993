"""Creates, changes, disables and deletes documents of a site, as their resources specify.

Environment
  SITE_NAME, IMAGE, BENCH_DIR    as for the other Jobs
  DOCUMENTS   a file: {"documents": [{id, doctype, name, state: present|absent|disabled, fields,
              json, tables, secrets, secretKeys, needs, createOnly}]}
  SECRETS     a folder: the file `<id>/<field>` has the value of a document's secret field
  WAIT_SECONDS    for the database, and for another Job that writes documents of the site (60)

The termination message is {"results": {id: [outcome, message, [fields that the site's version does
not have]]}}. The outcome is Created, Changed, Unchanged, Deleted, Disabled, Absent or Failed. A
message that is too long is `gz:` and the base64 of its gzip. A document that fails does not fail
the Job. Each document is a transaction: after a killed Job, the next one finds the finished
documents Unchanged.
"""

import base64
import gzip
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from desired_document import Document, NotAllowed, secret_source
from document_writer import DocumentWriter, Result
from job_environment import bench_dir, number_env, site_name_env, text_env
from job_result import JobError, log, run_job, write_termination_message
from operator_constants import TERMINATION_MESSAGE_BYTES
from secret_redaction import file_secrets, redact
from secret_text import secret_text
from site_connection import connected
from site_locks import documents_lock, shared_site_lock
from site_records import check_framework_files
from site_state import require_open

STATES = ("present", "absent", "disabled")
# Messages are cut to the first of these lengths, in characters, with which the results fit.
MESSAGE_LENGTHS = (500, 250, 120, 60, 30, 0)

# Document type and name.
Key = tuple[str, str]
# Outcome, message and ignored fields, by document id.
Results = dict[str, tuple[str, str, list[str]]]


class Stopped(BaseException):
    """SIGTERM. A process with PID 1 ignores it by default."""


def stop(_signal: int, _frame: FrameType | None) -> None:
    raise Stopped


def read_documents(path: str) -> list[Document]:
    try:
        documents: list[Document] = json.loads(Path(path).read_text())["documents"]
        for document in documents:
            texts = (document[key] for key in ("id", "doctype", "name"))
            if document["state"] not in STATES or not all(isinstance(text, str) for text in texts):
                raise ValueError(f"document {document['id']}")
    except (OSError, ValueError, LookupError, TypeError) as error:
        message = f"{path} cannot be used: {type(error).__name__}: {error}"
        raise JobError("InvalidInput", message) from None
    return documents


def key_of(document: Document) -> Key:
    return document["doctype"], document["name"]


def title(key: Key) -> str:
    return f"{key[0]} {key[1]}"


def needs_of(document: Document, among: Collection[Key]) -> list[Key]:
    """The documents of `among` that a document needs. It may need itself."""
    return [need for need in map(key_of, document.get("needs") or []) if need in among]


def in_order(documents: Iterable[Document]) -> tuple[list[Document], set[Key]]:
    """Sorts documents after their needs. Returns also the documents that form cycles."""
    waiting: dict[Key, list[Document]] = {}
    for document in documents:
        waiting.setdefault(key_of(document), []).append(document)
    ordered: list[Document] = []
    while ready := [
        key
        for key, same in waiting.items()
        if not any(needs_of(document, waiting) for document in same)
    ]:
        for key in ready:
            ordered += waiting.pop(key)
    cyclic = {key for key in waiting if key in reachable(key, waiting)}
    # Cycles come first, so that the documents that need them find that they failed.
    for key in sorted(waiting, key=lambda key: key not in cyclic):
        ordered += waiting[key]
    return ordered, cyclic


def reachable(key: Key, documents: Mapping[Key, Sequence[Document]]) -> set[Key]:
    """The documents that a document needs, directly or indirectly."""
    reached: set[Key] = set()
    ahead = [key]
    while ahead:
        for document in documents[ahead.pop()]:
            new = set(needs_of(document, documents)) - reached
            reached |= new
            ahead += new
    return reached


def write_documents(documents: Sequence[Document], write: Callable[[Document], Result]) -> Results:
    """Deletes and disables documents in reverse order of needs, then writes the others in order."""
    results: Results = {}
    failed: set[Key] = set()

    def settle(document: Document, result: Result) -> None:
        outcome, message, ignored = result
        results[document["id"]] = (outcome, redact(message), list(ignored))
        log(f"{title(key_of(document))}: {outcome}{': ' if message else ''}{message}")
        if outcome == "Failed":
            failed.add(key_of(document))

    removed, _ = in_order(document for document in documents if document["state"] != "present")
    present, cyclic = in_order(document for document in documents if document["state"] == "present")
    for document in reversed(removed):
        settle(document, write(document))
    for document in present:
        problem = reference_problem(document, cyclic, failed)
        settle(document, ("Failed", problem, []) if problem else write(document))
    return results


def reference_problem(document: Document, cyclic: set[Key], failed: set[Key]) -> str | None:
    if key_of(document) in cyclic:
        return "ReferenceCycle: this document and documents that it needs refer to each other"
    if broken := [need for need in map(key_of, document.get("needs") or []) if need in failed]:
        names = ", ".join(map(title, broken))
        return f"NeedFailed: this document needs {names}, which failed"
    return None


def termination_message(results: Results) -> str:
    """The results, small enough for a termination message. Every document keeps its outcome."""
    for length in MESSAGE_LENGTHS:
        shortened = {
            id: (outcome, message[:length], ignored if length else [])
            for id, (outcome, message, ignored) in results.items()
        }
        report = {"results": shortened}
        text = json.dumps(report, ensure_ascii=False, separators=(",", ":"))
        if len(text.encode()) <= TERMINATION_MESSAGE_BYTES:
            return text
        # Without a time in its header the result is always the same.
        packed = "gz:" + base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
        if len(packed) <= TERMINATION_MESSAGE_BYTES:
            return packed
    raise JobError(
        "InvalidInput",
        f"the results of {len(results)} documents do not fit into "
        f"{TERMINATION_MESSAGE_BYTES} bytes",
    )


def read_secrets(documents: Iterable[Document], folder: Path) -> dict[tuple[str, str], Any]:
    """Values by document id and field. A value that cannot be used is the error."""
    secrets: dict[tuple[str, str], Any] = {}
    for document in documents:
        for field in document.get("secrets") or []:
            key, source = (document["id"], field), secret_source(document, field)
            try:
                secrets[key] = secret_text(folder.joinpath(*key).read_bytes(), source)
            except OSError:
                secrets[key] = NotAllowed(f"{source} cannot be read, or does not exist")
            except JobError as error:
                secrets[key] = NotAllowed(str(error))
    return secrets


def main() -> Results:
    sites, site = bench_dir() / "sites", site_name_env()
    documents = read_documents(text_env("DOCUMENTS"))
    folder, wait_seconds = Path(text_env("SECRETS")), number_env("WAIT_SECONDS", 60)
    secrets = read_secrets(documents, folder)
    file_secrets.update(value for value in secrets.values() if isinstance(value, str))
    os.chdir(sites)  # the framework opens its log files relative to it
    # The locks prevent that code of another image writes into data that is migrated or restored.
    with documents_lock(sites, site, wait_seconds), shared_site_lock(sites, site):
        require_open(sites / site)
        check_framework_files(sites / site)
        with connected(site, wait_seconds) as frappe:
            return write_documents(documents, DocumentWriter(frappe, secrets).write)


def report_results(results: Results) -> None:
    write_termination_message(termination_message(results).encode())
    counts = Counter(outcome for outcome, *_ in results.values())
    log(f"app-operator: Succeeded: {json.dumps(counts)}")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, stop)
    try:
        run_job(main, report_results)
    except Stopped:
        sys.exit(143)
