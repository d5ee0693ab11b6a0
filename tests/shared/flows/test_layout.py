"""The layout is deterministic and layered, without overlaps; groups stay whole, and unchanged parts do not move."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from shared.flows.batch import Batch
from shared.flows.document import Document, Item, Json, document_of, position_of
from shared.flows.layout.document_layout import layout
from shared.flows.visuals import node_size, size_of, spacing
from tests.shared.flows.drafts import call, diagram, edge, node

Place = tuple[float, float]


def arranged(document: Document) -> Document:
    batch = Batch(document)
    batch.run([call("autoLayout")])
    return batch.draft.document()


def overlaps(document: Document, places: dict[str, Place]) -> list[tuple[str, str]]:
    boxes = {key: (*places[key], *size_of(document.settings, key)) for key in places}
    return [
        (one, other)
        for one, other in combinations(boxes, 2)
        if boxes[one][0] < boxes[other][0] + boxes[other][2]
        and boxes[other][0] < boxes[one][0] + boxes[one][2]
        and boxes[one][1] < boxes[other][1] + boxes[other][3]
        and boxes[other][1] < boxes[one][1] + boxes[one][3]
    ]


@pytest.mark.parametrize(
    ("label", "wide", "high"), [("", 50, 50), ("ok", 53, 50), ("no, card declined", 149, 50), ("a\nb\nc", 50, 68)]
)
def test_words_on_an_edge_fit_between_the_layers(label: str, wide: float, high: float) -> None:
    document = diagram("a", "b", "c", edges=(edge("a", "b"), {**edge("c", "b"), "data": {"label": label}}))
    for direction, axis, size, gap in (("LR", 0, 172, wide), ("TB", 1, 76, high)):
        places = layout(document, direction)  # type: ignore[arg-type]
        assert places["b"][axis] - places["c"][axis] - size == pytest.approx(gap, abs=1)


def test_a_chain_runs_from_left_to_right_with_the_gap_of_the_settings() -> None:
    document = diagram("a", "b", "c", edges=(edge("a", "b"), edge("b", "c")))
    assert layout(document) == {"a": (0, 0), "b": (222, 0), "c": (444, 0)}
    assert layout(document, "TB") == {"a": (0, 0), "b": (0, 126), "c": (0, 252)}
    wide = Document(document.nodes, document.edges, {spacing("horizontal"): Item(0, {"value": 100})}, document.top)
    assert layout(wide)["b"] == (272, 0)


def test_sizes_of_single_nodes_count() -> None:
    document = diagram("a", "b", edges=(edge("a", "b"),))
    large = Document(document.nodes, document.edges, {node_size("a", "width"): Item(0, {"value": 400})}, document.top)
    assert layout(large)["b"][0] == 450


def test_a_parent_stands_in_the_middle_of_its_children() -> None:
    document = diagram("a", "b", "c", edges=(edge("a", "b"), edge("a", "c")))
    places = layout(document)
    assert places["a"][1] * 2 == places["b"][1] + places["c"][1]


def test_cycles_and_loops_are_laid_out_too() -> None:
    ring = diagram("a", "b", "c", edges=(edge("a", "b"), edge("b", "c"), edge("c", "a"), edge("a", "a")))
    assert [layout(ring)[key][0] for key in "abc"] == [0, 222, 444]


def test_hidden_nodes_do_not_move_and_a_collapsed_group_stands_for_its_members() -> None:
    document = diagram("a", "b", "c", edges=(edge("a", "b"), edge("b", "c")))
    batch = Batch(document)
    (made,) = batch.run([call("createGroup", memberIds=["a", "b"])])
    places = layout(batch.draft.document())
    assert set(places) == {"c", made.group_id}
    assert places["c"][0] - places[made.group_id or ""][0] == 222


def test_a_layout_that_is_done_moves_nothing() -> None:
    document = diagram("a", "b", "c", "d", edges=(edge("a", "b"), edge("b", "c")))
    batch = Batch(document)
    first, second = batch.run([call("autoLayout"), call("autoLayout")])
    assert (first.did_change, second.did_change) == (True, False)


def test_a_part_that_did_not_change_stays_where_it_is() -> None:
    before = arranged(diagram("a", "b", "x", "y", edges=(edge("a", "b"), edge("x", "y"))))
    batch = Batch(before)
    batch.run([call("addNode", label="C", parentNodeId="a"), call("autoLayout")])
    after = batch.draft.document()
    assert [position_of(after.nodes[key].body) for key in "xy"] == [position_of(before.nodes[key].body) for key in "xy"]
    assert not overlaps(after, {key: position_of(item.body) for key, item in after.nodes.items()})


def test_groups_in_cycles_and_deep_nesting_are_laid_out_too() -> None:
    ring = diagram(node("g", type="group", parentGroupId="h"), node("h", type="group", parentGroupId="g"), "a")
    assert set(layout(ring)) == {"g", "h", "a"}
    deep = diagram(*[node(f"g{n}", type="group", parentGroupId=f"g{n + 1}") for n in range(5000)])
    assert len(layout(deep)) == 5000


@st.composite
def documents(draw: st.DrawFn) -> Document:
    keys = [f"n{number}" for number in range(draw(st.integers(1, 14)))]
    groups = keys[: draw(st.integers(0, 2))]
    nodes: list[JsonValue] = []
    for number, key in enumerate(keys):
        body: Json = node(key, position={"x": draw(st.integers(0, 900)), "y": draw(st.integers(0, 900))})
        around = draw(st.sampled_from([None, *groups[:number]]))
        nodes.append(
            body | ({"parentGroupId": around} if around else {}) | ({"type": "group"} if key in groups else {})
        )
    ends = st.sampled_from(keys)
    pairs = draw(st.lists(st.tuples(ends, ends), max_size=18))
    edges: list[JsonValue] = [edge(a, b, f"e{number}") for number, (a, b) in enumerate(pairs)]
    return document_of(nodes, edges)


@pytest.mark.slow
@given(documents(), st.sampled_from(["LR", "TB"]))
def test_nodes_never_overlap_and_groups_stay_in_one_piece(document: Document, direction: str) -> None:
    places = layout(document, "LR" if direction == "LR" else "TB")
    assert places == layout(document, "LR" if direction == "LR" else "TB")
    parents = {key: item.body.get("parentGroupId") for key, item in document.nodes.items()}
    solid = {key: place for key, place in places.items() if key not in set(parents.values())}
    assert not overlaps(document, solid)
    for group in {parent for parent in parents.values() if isinstance(parent, str)}:
        inside = {key for key in solid if _within(key, group, parents)}
        rim = [(*solid[key], *size_of(document.settings, key)) for key in inside]
        for key in set(solid) - inside:
            x, y = solid[key]
            width, height = size_of(document.settings, key)
            left, right = min(box[0] for box in rim), max(box[0] + box[2] for box in rim)
            top, bottom = min(box[1] for box in rim), max(box[1] + box[3] for box in rim)
            assert x + width <= left or right <= x or y + height <= top or bottom <= y


def _within(key: str, group: str, parents: dict[str, JsonValue]) -> bool:
    while isinstance(around := parents.get(key), str):
        if around == group:
            return True
        key = around
    return False


@pytest.mark.slow
@given(documents())
def test_laying_out_twice_is_the_same_as_once(document: Document) -> None:
    once = arranged(document)
    assert arranged(once).nodes == once.nodes
