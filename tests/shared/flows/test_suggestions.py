"""Suggestions: the few names most like the one that was not found."""

from __future__ import annotations

from shared.flows.suggestions import closest
from tests.shared.flows.drafts import call, diagram, edge, node, run


def test_the_closest_names_come_first_and_distant_ones_not_at_all() -> None:
    assert closest("logn", ["home", "logon", "login", "settings"]) == ["logon", "login"]
    assert closest("x", ["a" * 50]) == []


def test_a_parent_may_be_meant_by_its_label_other_references_only_by_id() -> None:
    document = diagram(node("n1", "Checkout"), node("n2", "Shop"))
    _, (child, delete) = run(
        document, call("addNode", label="Pay", parentNodeId="Chekout"), call("deleteNode", nodeId="Chekout")
    )
    assert child.suggestions == ("Checkout",)
    assert delete.suggestions == ()


def test_edges_are_suggested_for_edges_and_tools_for_tools() -> None:
    document = diagram("a", "b", edges=(edge("a", "b", "a_to_b"),))
    _, (deletion, unknown) = run(document, call("deleteEdge", edgeId="a_to_c"), call("addNod", label="x"))
    assert deletion.suggestions == ("a_to_b",)
    assert unknown.suggestions[0] == "addNode"
