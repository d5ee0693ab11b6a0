"""The messages to the model name what was called and its outcome, in bounded length."""

from __future__ import annotations

from services.flows.messages import call_text, request_message, retry_message, unreadable_message
from shared.flows.calls import Call
from shared.llm.prompts import PromptRegistry
from tests.shared.flows.drafts import call, diagram, edge, run

PROMPTS = PromptRegistry(None)


def test_a_call_is_shown_on_one_line_and_cut_when_it_is_long() -> None:
    assert call_text(Call("addNode", {"label": "Ä b", "x": [1]})) == 'addNode({"label":"Ä b","x":[1]})'
    assert len(call_text(Call("addNode", {"label": "x" * 5_000}))) < 450


def test_a_rolled_back_call_and_a_created_edge_are_said() -> None:
    document = diagram("a", "b")
    batch, outcomes = run(
        document, call("addEdge", sourceNodeId="a", targetNodeId="b"), call("deleteNode", nodeId="c"), atomic=True
    )
    text = retry_message(PROMPTS, batch.draft.document(), outcomes, atomic=True)
    assert '↩️ addEdge({"sourceNodeId":"a","targetNodeId":"b"})' in text
    assert "Nothing has been applied" in text
    batch, outcomes = run(document, call("addEdge", sourceNodeId="a", targetNodeId="b"), call("deleteNode", nodeId="c"))
    text = retry_message(PROMPTS, batch.draft.document(), outcomes, atomic=False)
    assert f'   Created edge with ID: "{outcomes[0].edge_id}"' in text


def test_a_retry_on_a_large_flow_lists_the_first_elements_and_counts_all() -> None:
    document = diagram(*[f"n{number}" for number in range(400)], edges=(edge("n1", "n2"),))
    batch, outcomes = run(document, call("deleteNode", nodeId="nope"))
    text = retry_message(PROMPTS, batch.draft.document(), outcomes, atomic=False)
    assert "Available Nodes (400 total):" in text
    assert "… and 100 more" in text
    assert '"n399"' not in text


def test_a_request_ends_with_the_message_and_does_not_show_tools_for_clients_only() -> None:
    text = request_message(PROMPTS, diagram("a"), "add a node", "add a node", 1_000)
    assert text.endswith("\n\nUser Request: add a node")
    assert "\nautoLayout: " in text
    assert "toggleSubtreeCollapse" not in text


def test_an_unreadable_answer_is_said_with_its_error() -> None:
    assert "line 1" in unreadable_message(PROMPTS, "no JSON, line 1")
