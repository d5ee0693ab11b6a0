"""A new node overlaps no other: next to what it is linked with, in the flow's direction, within its group."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.flows.batch import Batch
from shared.flows.calls import Call
from shared.flows.document import Document, Json, Kind, corner_of, document_of, position_of
from shared.flows.draft import Box, Draft
from shared.flows.forms.mermaid_import import read_mermaid
from shared.flows.incoming import import_document
from shared.flows.tools.visuals import arrange
from tests.shared.flows.drafts import call, diagram, edge, node, run

SIZE = (172, 76)


def at(key: str, x: float, y: float, **more: object) -> Json:
    return {**node(key), "position": {"x": x, "y": y}, **more}  # type: ignore[dict-item]


def overlaps(document: Document) -> list[tuple[str, str]]:
    """Return the pairs of boxes that cover each other; an expanded group is drawn around its members."""
    draft = Draft(document)
    shown = {key for key, item in document.nodes.items() if item.body.get("hidden") is not True}
    drawn = {
        key: draft.boxes()[key]
        for key in shown
        if not draft.members(key) or document.nodes[key].body.get("isCollapsed") is True
    }
    return [(one, other) for one, other in combinations(sorted(drawn), 2) if cover(drawn[one], drawn[other])]


def cover(one: Box, other: Box) -> bool:
    return (
        one[0] < other[0] + other[2]
        and other[0] < one[0] + one[2]
        and one[1] < other[1] + other[3]
        and other[1] < one[1] + one[3]
    )


def places(document: Document, *calls: Call) -> dict[str, tuple[float, float]]:
    batch, outcomes = run(document, *calls)
    assert all(outcome.success for outcome in outcomes), outcomes
    return {key: position_of(item.body) for key, item in batch.draft.nodes.items()}


def child(label: str, parent: str) -> Call:
    return call("addNode", label=label, parentNodeId=parent)


def test_three_nodes_of_one_parent_stand_below_each_other_to_its_right() -> None:
    placed = places(diagram("a"), child("B", "a"), child("C", "a"), child("D", "a"))
    assert placed == {"a": (0, 0), "b": (200, 0), "c": (200, 100), "d": (200, -100)}


def test_the_first_nodes_of_a_flow_do_not_cover_each_other() -> None:
    placed = places(diagram(), *[call("addNode", label=label) for label in ("A", "B", "C")])
    assert placed == {"a": (0, 0), "b": (0, 100), "c": (0, -100)}


@pytest.mark.parametrize(
    ("second", "where"),
    [((0, 200), (0, 326)), ((0, -200), (0, -326)), ((300, 0), (500, 0)), ((-300, 0), (-500, 0))],
    ids=["down", "up", "right", "left"],
)
def test_a_new_node_goes_on_in_the_direction_of_the_edges(second: tuple[int, int], where: tuple[int, int]) -> None:
    document = diagram(at("a", 0, 0), at("b", *second), edges=(edge("a", "b"),))
    assert places(document, child("New", "b"))["new"] == where
    assert places(document, child("New", "a"))["new"] != (0, 0)


def test_a_wide_parent_pushes_its_child_to_its_right_edge() -> None:
    document = diagram(at("a", 0, 0, measured={"width": 500, "height": 300}))
    assert places(document, child("B", "a"))["b"] == (528, 0)


def test_a_node_between_others_takes_the_nearest_gap() -> None:
    column = [at(f"n{number}", 200, number * 100) for number in range(-3, 4)]
    placed = places(diagram(at("a", 0, 0), *column), child("New", "a"))["new"]
    assert placed in ((200, 400), (200, -400))


def test_a_new_member_stays_in_the_coordinates_of_its_parents_group_and_the_group_grows() -> None:
    outer = at("outer", 600, 300, type="group", style={"width": 250, "height": 120})
    document = diagram(outer, at("c", 20, 20, parentId="outer"), "x")
    batch, _ = run(document, child("New", "c"), child("Other", "c"))
    for key in ("new", "other"):
        body = batch.draft.nodes[key].body
        x, y = position_of(body)
        width, height = batch.draft.boxes()["outer"][2:]
        assert body["parentId"] == "outer"
        assert 0 <= x <= width - SIZE[0]
        assert 0 <= y <= height - SIZE[1]
    assert overlaps(batch.draft.document()) == []


def test_a_new_group_and_what_it_hides_cover_nothing_when_it_is_closed_and_opened() -> None:
    document = diagram(at("a", 0, 0), at("x", 0, 200), at("b", 0, 400))
    batch, (made,) = run(document, call("createGroup", memberIds=["a", "b"]))
    assert overlaps(batch.draft.document()) == []
    group = str(made.group_id)
    batch.run([child("New", "x"), call("autoLayout"), call("toggleGroupExpansion", groupId=group, expand=True)])
    assert overlaps(batch.draft.document()) == []
    batch.run([call("toggleGroupExpansion", groupId=group, expand=False)])
    assert overlaps(batch.draft.document()) == []


def test_a_position_that_was_asked_for_is_taken() -> None:
    document = diagram(at("a", 0, 0), at("b", 300, 0))
    assert places(document, call("updateNode", nodeId="a", position={"x": 300, "y": 10}))["a"] == (300, 10)
    members = call("createGroup", memberIds=["a", "b"], position={"x": 1, "y": 2})
    assert (1, 2) in places(document, members).values()


def test_imported_nodes_without_places_get_some() -> None:
    text = '{"nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}], "edges": [{"id": "e", "source": "a", "target": "b"}]}'
    _, document, _ = import_document("json", text)
    assert overlaps(document) == []
    assert corner_of(document.nodes, "b")[0] > corner_of(document.nodes, "a")[0]
    some = text.replace('{"id": "a"}', '{"id": "a", "position": {"x": 5, "y": 5}}')
    _, document, _ = import_document("json", some)
    assert (overlaps(document), position_of(document.nodes["a"].body)) == ([], (5, 5))
    assert [body["id"] for body in document.listed(Kind.NODE)] == ["a", "b", "c"]


names = st.sampled_from([f"n{number}" for number in range(10)])
steps = st.one_of(
    st.builds(lambda n, p: call("addNode", id=n, label=n, parentNodeId=p), names, names),
    st.builds(lambda n: call("addNode", id=n, label=n), names),
    st.builds(lambda a, b: call("addEdge", sourceNodeId=a, targetNodeId=b), names, names),
    st.builds(lambda n: call("deleteNode", nodeId=n), names),
    st.builds(lambda n: call("updateNode", nodeId=n, label="other"), names),
    st.builds(lambda a, b: call("createGroup", memberIds=[a, b]), names, names),
    st.builds(lambda n, e: call("toggleGroupExpansion", groupId=n, expand=e), names, st.booleans()),
    st.builds(lambda n, c: call("toggleSubtreeCollapse", nodeId=n, collapsed=c), names, st.booleans()),
    st.builds(lambda n: call("ungroup", groupId=n), names),
    st.just(call("autoLayout")),
    st.just(call("undo")),
    st.just(call("redo")),
)


@st.composite
def flows(draw: st.DrawFn) -> Document:
    """A flow that is laid out, from left to right or from top to bottom, with groups and own sizes."""
    count = draw(st.integers(0, 6))
    nodes: list[Json] = []
    for number in range(count):
        size: Json = draw(
            st.sampled_from([{}, {"measured": {"width": 300, "height": 200}}, {"width": 80, "height": 40}])
        )
        nodes.append({**node(f"n{number}"), **size})
    ends = st.integers(0, max(count - 1, 0))
    links = [
        edge(f"n{a}", f"n{b}", f"e{i}") for i, (a, b) in enumerate(draw(st.lists(st.tuples(ends, ends), max_size=6)))
    ]
    batch, _ = run(document_of([*nodes], [*links] if count else []))
    arrange(batch.draft, draw(st.sampled_from(["LR", "TB"])))
    return batch.draft.document()


@pytest.mark.slow
@settings(max_examples=1_000)
@given(flows(), st.lists(steps, max_size=14))
def test_no_node_covers_another_after_any_edit_of_a_thousand_flows(document: Document, calls: list[Call]) -> None:
    assert overlaps(document) == []
    ids = iter([f"n{number}" for number in range(6, 10)])
    batch = Batch(document, new_id=lambda: next(ids, None) or f"x{batch.draft.revision}")
    for one in calls:
        batch.run([one])
        assert overlaps(batch.draft.document()) == [], one


@pytest.mark.slow
@settings(max_examples=200)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=15), st.sampled_from(["LR", "TD", "RL", "BT"])
)
def test_no_node_of_an_imported_chart_covers_another(links: list[tuple[int, int]], direction: str) -> None:
    chart = "\n".join(
        [f"flowchart {direction}", "  subgraph s", "  a --> b", "  end", *(f"  m{a} --> m{b}" for a, b in links)]
    )
    assert overlaps(read_mermaid(chart)[0]) == []
