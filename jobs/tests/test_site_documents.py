import base64
import gzip
import json
from types import SimpleNamespace
from typing import Any

import pytest

from document_writer import DocumentWriter
from job_result import JobError
from operator_constants import TERMINATION_MESSAGE_BYTES
from site_documents import Results, in_order, termination_message, write_documents


def document(name: str, *needs: str, state: str = "present") -> dict[str, Any]:
    references = [{"doctype": "Chart", "name": need} for need in needs]
    return {"id": name, "doctype": "Chart", "name": name, "state": state, "needs": references}


def names(documents: list[dict[str, Any]]) -> list[str]:
    return [one["name"] for one in documents]


def test_orders_documents_after_those_that_they_need() -> None:
    ordered, cyclic = in_order([document("a", "b"), document("b", "c", "other"), document("c")])
    assert (names(ordered), cyclic) == (["c", "b", "a"], set())


def test_finds_cycles_and_puts_them_first() -> None:
    ordered, cyclic = in_order(
        [document("behind", "a"), document("a", "b"), document("b", "a"), document("self", "self")]
    )
    assert names(ordered)[-1] == "behind"
    assert cyclic == {("Chart", "a"), ("Chart", "b"), ("Chart", "self")}


def test_writes_removed_documents_first_and_fails_what_needs_a_failed_one() -> None:
    written: list[str] = []

    def write(one: dict[str, Any]) -> tuple[str, str, list[str]]:
        written.append(one["name"])
        return ("Failed", "no", []) if one["name"] == "bad" else ("Created", "", ["field"])

    results = write_documents(
        [
            document("good"),
            document("needs bad", "bad"),
            document("bad"),
            document("old", state="absent"),
            document("older", "old", state="absent"),
            document("self", "self"),
        ],
        write,
    )
    assert written == ["older", "old", "good", "bad"]
    assert results["good"] == ("Created", "", ["field"])
    assert results["needs bad"][1] == "NeedFailed: this document needs Chart bad, which failed"
    assert results["self"][1].startswith("ReferenceCycle: ")


def test_the_termination_message_keeps_every_outcome() -> None:
    few: Results = {"a": ("Created", "", ["field"])}
    assert json.loads(termination_message(few)) == {"results": {"a": ["Created", "", ["field"]]}}
    many: Results = {str(id): ("Failed", f"message {id} " * 50, []) for id in range(200)}
    message = termination_message(many)
    assert len(message) <= TERMINATION_MESSAGE_BYTES
    text = gzip.decompress(base64.b64decode(message.removeprefix("gz:")))
    results = json.loads(text)["results"]
    assert {id: outcome for id, (outcome, *_) in results.items()} == dict.fromkeys(many, "Failed")


def test_results_that_cannot_fit_are_an_error() -> None:
    with pytest.raises(JobError, match="do not fit"):
        termination_message({f"{id:x}" * 3: ("Created", "", []) for id in range(9000)})


@pytest.mark.parametrize("entry", ['{"message": "Not allowed"}', {"message": "Not allowed"}])
def test_the_messages_of_the_framework_are_texts_or_objects(entry: object) -> None:
    frappe = SimpleNamespace(get_message_log=lambda: [entry])
    assert list(DocumentWriter(frappe, {}).logged_messages()) == ["Not allowed"]
