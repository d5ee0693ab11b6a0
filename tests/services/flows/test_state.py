"""The flow as text for a model: whole, shortened to lines, or only the part that a message is about."""

from __future__ import annotations

import json

from services.flows.state import state_of
from shared.flows.document import Document
from tests.shared.flows.drafts import diagram, edge, node


def chain(count: int) -> Document:
    nodes = [node(f"n{number}", f"Thing {number}", own="y" * 50) for number in range(count)]
    return diagram(*nodes, edges=tuple(edge(f"n{number}", f"n{number + 1}") for number in range(count - 1)))


def test_a_small_flow_is_shown_whole_with_what_tools_can_change() -> None:
    group = node("g", "Group", type="group", isCollapsed=True)
    inner = node("a", "A", parentGroupId="g", data={"label": "A", "description": "first", "own": 1}, extra=[1])
    shown = json.loads(state_of(diagram(group, inner, edges=(edge("g", "a"),)), "", 1_000))
    assert shown["nodes"][0]["isCollapsed"] is True
    assert shown["nodes"][1] == {
        "id": "a",
        "type": "default",
        "position": {"x": 0, "y": 0},
        "data": {"label": "A", "description": "first"},
        "parentGroupId": "g",
    }
    assert shown["edges"] == [{"id": "g-a", "source": "g", "target": "a"}]


def test_a_larger_flow_is_shown_in_a_line_for_each_element() -> None:
    text = state_of(chain(100), "", 2_000)
    assert text.startswith("100 nodes, one a line as ID | label:\nn0 | Thing 0\n")
    assert "\n99 edges, one a line as ID | source -> target | label:\nn0-n1 | n0 -> n1\n" in text


def test_of_a_very_large_flow_the_named_nodes_and_their_neighbours_come_first() -> None:
    nodes = [node(f"n{number}", f"Thing {number}") for number in range(3_000)]
    document = diagram(*nodes, node("zebra", "Zebra"), edges=(edge("n7", "n8"), edge("zebra", "n2999", "way")))
    text = state_of(document, "the zebra", 500)
    lines = text.splitlines()
    assert lines[0].startswith("3001 nodes, one a line as ID | label (only ")
    assert lines[1:4] == ["zebra | Zebra", "n2999 | Thing 2999", "n0 | Thing 0"]
    assert "way | zebra -> n2999" in lines
    assert len(text) < 500 * 4
