"""What is hidden is what something collapsed hides, after every call; nothing is hidden for good."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from shared.flows.batch import Batch
from shared.flows.calls import Call
from shared.flows.document import Document, Json, Kind, document_of, position_of
from shared.flows.draft import Draft
from shared.flows.editing import replacement
from shared.flows.lint import lint
from shared.flows.operations import apply
from shared.flows.tools.subtrees import held
from tests.shared.flows.drafts import call, diagram, edge, node, run


def hidden(document: Document) -> list[str]:
    return sorted(key for key, item in document.nodes.items() if item.body.get("hidden") is True)


def after(document: Document, *calls: Call) -> Document:
    batch, outcomes = run(document, *calls)
    assert all(outcome.success for outcome in outcomes), outcomes
    return batch.draft.document()


def collapse(key: str, collapsed: bool = True) -> Call:
    return call("toggleSubtreeCollapse", nodeId=key, collapsed=collapsed)


def test_ungrouping_shows_the_members_that_only_the_edge_to_the_group_had_hidden() -> None:
    document = diagram("a", "s", "t")
    batch, (made, *_) = run(document, call("createGroup", memberIds=["s", "t"]))
    group = str(made.group_id)
    batch.run(
        [
            call("toggleGroupExpansion", groupId=group, expand=True),
            call("addEdge", sourceNodeId="a", targetNodeId=group),
            collapse("a"),
        ]
    )
    assert hidden(batch.draft.document()) == sorted([group, "s", "t"])
    batch.run([call("ungroup", groupId=group)])
    assert hidden(batch.draft.document()) == []
    assert all(
        "subtreeHidden" not in item.body or not item.body["subtreeHidden"] for item in batch.draft.nodes.values()
    )
    assert not [finding for finding in lint(batch.draft.document()) if finding.code == "hidden"]


@pytest.mark.parametrize(
    "release",
    [
        call("deleteNode", nodeId="a"),
        call("deleteEdge", edgeId="a-b"),
        collapse("a", False),
    ],
    ids=["the root", "the edge", "expanding"],
)
def test_what_led_to_a_hidden_subtree_goes_and_it_is_shown(release: Call) -> None:
    document = after(diagram("a", "b", "c", edges=(edge("a", "b"), edge("b", "c"))), collapse("a"))
    assert hidden(document) == ["b", "c"]
    shown = after(document, release)
    assert hidden(shown) == []
    assert not [key for key, item in shown.edges.items() if item.body.get("hidden") is True]


def test_a_deleted_parent_of_a_collapsed_group_leaves_nothing_hidden_but_its_members() -> None:
    document = diagram(
        node("outer", type="group", isCollapsed=True),
        node("inner", type="group", isCollapsed=False, parentGroupId="outer", hidden=True),
        node("m", parentGroupId="inner", hidden=True),
    )
    assert hidden(after(document, call("deleteNode", nodeId="outer"))) == []
    assert hidden(after(document, call("ungroup", groupId="outer"))) == []


def test_what_is_added_below_something_collapsed_is_hidden_with_it_and_shown_with_it() -> None:
    document = after(diagram("a", "b", "c", edges=(edge("a", "b"),)), collapse("a"))
    added = after(
        document, call("addNode", label="New", parentNodeId="b"), call("addEdge", sourceNodeId="b", targetNodeId="c")
    )
    assert hidden(added) == ["b", "c", "new"]
    assert all(item.body.get("hidden") is True for item in added.edges.values())
    expanded = after(added, collapse("a", False))
    assert hidden(expanded) == []
    assert not any(item.body.get("hidden") for item in expanded.edges.values())


def test_of_two_collapsed_nodes_that_lead_to_each_other_one_stays_in_sight() -> None:
    document = diagram("a", "b", edges=(edge("a", "b"), edge("b", "a")))
    assert hidden(after(document, collapse("a"), collapse("b"))) == ["b"]


def test_what_a_client_hid_itself_stays_hidden_and_lint_names_it() -> None:
    document = diagram("a", node("b", hidden=True))
    document = after(document, call("addNode", label="C", parentNodeId="a"))
    assert hidden(document) == ["b"]
    assert [finding.ids for finding in lint(document) if finding.code == "hidden"] == [["b"]]


def test_a_save_without_the_collapsed_root_shows_what_it_had_hidden() -> None:
    before = after(diagram("a", "b", "c", edges=(edge("a", "b"), edge("b", "c"))), collapse("a"))
    sent: list[JsonValue] = [body for body in before.listed(Kind.NODE) if body["id"] != "a"]
    saved = document_of(sent, [before.edges["b-c"].body])
    written = apply(before, replacement(before, saved, "Saved").forward)
    assert hidden(written) == []
    assert not written.edges["b-c"].body.get("hidden")
    kept = document_of([*before.listed(Kind.NODE)], [item.body for item in before.edges.values()])
    assert hidden(apply(before, replacement(before, kept, "Saved").forward)) == ["b", "c"]


names = st.sampled_from([f"n{number}" for number in range(8)])
steps = st.one_of(
    st.builds(collapse, names, st.booleans()),
    st.builds(lambda a, b: call("addEdge", sourceNodeId=a, targetNodeId=b), names, names),
    st.builds(lambda n: call("deleteNode", nodeId=n), names),
    st.builds(lambda n, p: call("addNode", id=n, label=n, parentNodeId=p), names, names),
    st.builds(lambda a, b: call("createGroup", memberIds=[a, b]), names, names),
    st.builds(lambda n, e: call("toggleGroupExpansion", groupId=n, expand=e), names, st.booleans()),
    st.builds(lambda n: call("ungroup", groupId=n), names),
    st.just(call("undo")),
    st.just(call("redo")),
)


@pytest.mark.slow
@given(st.lists(steps, max_size=25))
def test_after_any_calls_exactly_what_something_collapsed_hides_is_hidden(calls: list[Call]) -> None:
    start = diagram(
        *[f"n{number}" for number in range(6)], edges=(edge("n0", "n1"), edge("n1", "n2"), edge("n2", "n3"))
    )
    ids = iter(f"n{number}" for number in (6, 7))
    batch = Batch(start, new_id=lambda: next(ids, None) or _more(batch))
    batch.run(calls)
    document = batch.draft.document()
    away = held(Draft(document))
    assert hidden(document) == sorted({*away.below, *away.inside})
    below = {key for key, item in document.nodes.items() if item.body.get("subtreeHidden") is True}
    assert below == set(away.below)
    for item in document.edges.values():
        ends = {item.body["source"], item.body["target"]}
        assert bool(item.body.get("hidden")) is bool(ends & below)
    assert not [finding for finding in lint(document) if finding.code == "hidden"]


def _more(batch: Batch) -> str:
    return f"x{batch.draft.revision}_{len(batch.draft.nodes)}_{len(batch.draft.edges)}"


OUTER: Json = node("outer", type="group", position={"x": 600, "y": 300}, style={"width": 500, "height": 400})
INSIDE = (
    OUTER,
    node("c1", position={"x": 10, "y": 50}, parentId="outer", extent="parent"),
    node("c2", position={"x": 210, "y": 50}, parentId="outer"),
    node("free"),
)


@pytest.mark.parametrize("name", ["deleteNode", "ungroup"])
def test_the_children_of_a_deleted_react_flow_parent_keep_their_places(name: str) -> None:
    document = diagram(*INSIDE, edges=(edge("c1", "c2"), edge("free", "c1")))
    freed = after(document, call(name, **{"nodeId" if name == "deleteNode" else "groupId": "outer"}))
    assert {key: position_of(item.body) for key, item in freed.nodes.items()} == {
        "c1": (610, 350),
        "c2": (810, 350),
        "free": (0, 0),
    }
    assert not [item for item in freed.nodes.values() if {"parentId", "extent"} & set(item.body)]
    assert not [finding for finding in lint(freed) if finding.code == "unknown_group"]


def test_children_of_a_deleted_inner_parent_count_from_the_outer_one() -> None:
    inner = node("inner", position={"x": 5, "y": 6}, parentId="outer")
    document = diagram(OUTER, inner, node("c", position={"x": 1, "y": 2}, parentId="inner", extent="parent"))
    freed = after(document, call("deleteNode", nodeId="inner"))
    assert freed.nodes["c"].body == node("c", position={"x": 6, "y": 8}, parentId="outer")


def test_lint_names_a_react_flow_parent_that_is_not_there() -> None:
    document = diagram(node("c", parentId="gone", extent="parent"))
    assert [finding.ids for finding in lint(document) if finding.code == "unknown_group"] == [["c"]]
    fine = [finding for finding in lint(diagram(*INSIDE)) if finding.code == "unknown_group"]
    assert fine == []
