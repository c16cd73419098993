"""Brings documents of a site to what they should be: created, changed, left as they are, disabled or deleted.

Environment
  SITE_NAME, IMAGE, BENCH_DIR    as for the other scripts
  DOCUMENTS   a file: {"documents": [{id, doctype, name, state: present|absent|disabled, fields, json, tables, secrets, needs}]}
  SECRETS     a folder: the value of a document's secret field is the file `<id>/<field>`
  WAIT_SECONDS    for the database, and for another Job of this kind on the same site (default 60)

The last words are {"results": {id: [outcome, message, [fields that the site's version does not have]]}}, where outcome is
Created, Changed, Unchanged, Deleted, Disabled, Absent or Failed; as `gz:` and the base64 of its gzip where it would be too
long. One document that fails does not fail the Job. Each is a transaction of its own, so that a Job that is killed has done
some of them, and the next one finds those Unchanged.
"""

import base64
import fcntl
import gzip
import json
import os
import signal
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from document_writer import DocumentWriter, connected
from site_common import LAST_WORDS, SITE_NAME, Refused, check_open, held_open, leave, read_secrets, redact, run_job, say, seconds_env, text_env

STATES = ("present", "absent", "disabled")
# Messages are cut to the first of these lengths, in characters, with which the results fit.
MESSAGE_LENGTHS = (500, 250, 120, 60, 30, 0)


class Stopped(BaseException):
    """SIGTERM, which a process that is PID 1 would otherwise not notice."""


def stop(signum, frame):
    raise Stopped


def read_documents(path):
    try:
        documents = json.loads(Path(path).read_text())["documents"]
        for document in documents:
            if document["state"] not in STATES or not all(isinstance(document[key], str) for key in ("id", "doctype", "name")):
                raise ValueError(f"document {document['id']}")
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise Refused("InvalidInput", f"{path} cannot be used: {type(error).__name__}: {error}") from None
    return documents


def key_of(document):
    return document["doctype"], document["name"]


def title(key):
    return f"{key[0]} {key[1]}"


def needed(document, among):
    """Documents of `among` that a document needs, itself included if it says so."""
    return [need for need in map(key_of, document.get("needs") or []) if need in among]


def in_order(documents):
    """Documents with those first that others need, and the set of those that need themselves, directly or not."""
    waiting = {}
    for document in documents:
        waiting.setdefault(key_of(document), []).append(document)
    ordered = []
    while ready := [key for key, same in waiting.items() if not any(needed(document, waiting) for document in same)]:
        for key in ready:
            ordered += waiting.pop(key)
    cyclic = {key for key in waiting if key in reached_from(key, waiting)}
    # What is in a cycle comes first, so that those who need it find that it failed.
    for key in sorted(waiting, key=lambda key: key not in cyclic):
        ordered += waiting[key]
    return ordered, cyclic


def reached_from(key, documents):
    reached, ahead = set(), [key]
    while ahead:
        for document in documents[ahead.pop()]:
            new = set(needed(document, documents)) - reached
            reached |= new
            ahead += new
    return reached


def run(documents, write):
    """Results by id. What is to go goes first, and what others may hold on to last of that; then the rest by needs."""
    results, failed = {}, set()

    def settle(document, outcome, message="", ignored=()):
        results[document["id"]] = [outcome, redact(message), list(ignored)]
        say(f"{title(key_of(document))}: {outcome}{': ' if message else ''}{message}")
        if outcome == "Failed":
            failed.add(key_of(document))

    gone, _ = in_order([document for document in documents if document["state"] != "present"])
    present, cyclic = in_order([document for document in documents if document["state"] == "present"])
    for document in reversed(gone):
        settle(document, *write(document))
    for document in present:
        if key_of(document) in cyclic:
            settle(document, "Failed", "ReferenceCycle: this document and those it needs need each other")
        elif broken := [need for need in map(key_of, document.get("needs") or []) if need in failed]:
            settle(document, "Failed", f"NeedFailed: {', '.join(map(title, broken))} failed, which this document needs")
        else:
            settle(document, *write(document))
    return results


def last_words(results):
    """The results, small enough for a termination message: every document keeps its outcome."""
    for length in MESSAGE_LENGTHS:
        shorter = {id: [outcome, message[:length], ignored if length else []] for id, (outcome, message, ignored) in results.items()}
        text = json.dumps({"results": shorter}, ensure_ascii=False, separators=(",", ":"))
        if len(text.encode()) <= LAST_WORDS:
            return text
        # The same bytes each time: no clock in the header.
        packed = "gz:" + base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
        if len(packed) <= LAST_WORDS:
            return packed
    raise Refused("InvalidInput", f"the results of {len(results)} documents do not fit into {LAST_WORDS} bytes")


@contextmanager
def only_one(bench, site, wait_seconds):
    """Two Jobs of this kind never write at once: a Job's pod can be replaced before the old one is gone."""
    folder = bench / "sites" / ".app-operator"
    folder.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + wait_seconds
    with open(folder / f"{site}.documents.lock", "w") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise Refused("SiteBusy", f"another Job writes documents of {site}") from None
                time.sleep(0.2)
        yield


def main():
    bench, site = Path(os.environ.get("BENCH_DIR") or "/home/frappe/frappe-bench"), text_env("SITE_NAME")
    if not SITE_NAME.match(site):
        raise Refused("InvalidInput", f"SITE_NAME {site!r} is not a host name")
    documents, folder, wait = read_documents(text_env("DOCUMENTS")), Path(text_env("SECRETS")), seconds_env("WAIT_SECONDS", 60)
    secrets = {}
    for document in documents:
        for field in document.get("secrets") or []:
            try:
                secrets[document["id"], field] = (folder / document["id"] / field).read_text()
            except (OSError, ValueError) as error:
                secrets[document["id"], field] = error
    read_secrets.update(value for value in secrets.values() if isinstance(value, str))
    sites = bench / "sites"
    os.chdir(sites)  # the framework finds its logs from there
    # Old code must not write into data that is being migrated or restored, or was.
    with only_one(bench, site, wait), held_open(sites, site):
        check_open(sites / site)
        with connected(site, wait) as frappe:
            return run(documents, DocumentWriter(frappe, secrets).write)


def succeed(results):
    words = last_words(results)
    leave(words)
    counts = {}
    for outcome, *_ in results.values():
        counts[outcome] = counts.get(outcome, 0) + 1
    say(f"app-operator: Succeeded: {json.dumps(counts)}")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, stop)
    try:
        run_job(main, succeed)
    except Stopped:
        sys.exit(143)
