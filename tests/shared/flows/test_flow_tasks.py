"""Instructions for flows: what is expected results from their calls, and from no calls only where nothing changes."""

from __future__ import annotations

import pytest

from benchmarks.tasks import FLOWS, FlowTask, diagram
from shared.evaluations.expected_flow import difference
from shared.flows.calls import Call
from shared.flows.document import Kind, document_of
from tests.shared.flows.drafts import run

_CHANGE_NOTHING = 6  #: descriptions, colours, layout, a question, and what is taken back at once


def made(task: FlowTask) -> dict[str, object]:
    before = diagram(task.before)
    batch, outcomes = run(
        document_of(before["nodes"], before["edges"]),
        *[Call(call["name"], call["input"]) for call in task.calls if call["name"] not in ("undo", "redo")],
    )
    assert all(outcome.error is None for outcome in outcomes), outcomes
    document = batch.draft.document()
    return {"nodes": document.listed(Kind.NODE), "edges": document.listed(Kind.EDGE)}


@pytest.mark.parametrize("task", [task for task in FLOWS if task.name != "undone at once"], ids=lambda task: task.name)
def test_what_is_expected_comes_of_the_calls(task: FlowTask) -> None:
    assert difference(diagram(task.after), made(task)) is None


def test_a_model_that_does_nothing_is_seen_through() -> None:
    same = [task.name for task in FLOWS if difference(diagram(task.after), diagram(task.before)) is None]
    assert len(same) < _CHANGE_NOTHING, same
    assert len(FLOWS) >= 40
    assert len({task.name for task in FLOWS}) == len({task.message for task in FLOWS}) == len(FLOWS)


def test_a_diagram_is_read_as_it_is_written() -> None:
    read = diagram("A b > C -when: so> D; E; E'")
    assert [(node["id"], node["data"]["label"]) for node in read["nodes"]] == [
        ("a_b", "A b"), ("c", "C"), ("d", "D"), ("e", "E"), ("e_2", "E"),
    ]  # fmt: skip
    assert [(edge["source"], edge["target"], edge.get("data")) for edge in read["edges"]] == [
        ("a_b", "c", None), ("c", "d", {"label": "when: so"}),
    ]  # fmt: skip
