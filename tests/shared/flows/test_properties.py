"""After any sequence of tools the document is valid, and every step can be undone exactly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from pydantic import JsonValue

from shared.contracts.flow_document import Edge, Node
from shared.flows.batch import Batch, HistoryEntry, HistoryWindow
from shared.flows.calls import Call
from shared.flows.document import Document, is_group, text_of
from shared.flows.operations import apply, conflicts
from tests.shared.flows.drafts import diagram, edge, node

NAMES = ["a", "b", "c", "login", "home page", "日本", "", "g1"]
name = st.sampled_from(NAMES) | st.text(max_size=5)
maybe: SearchStrategy[JsonValue] = st.none() | name
number = st.integers(-1000, 1000) | st.floats()
position: SearchStrategy[JsonValue] = st.none() | st.fixed_dictionaries({"x": number, "y": number})


def calls_of(tool: str, **params: SearchStrategy[JsonValue]) -> SearchStrategy[Call]:
    return st.builds(lambda given: Call(tool, given), st.fixed_dictionaries(dict(params)))


color: SearchStrategy[JsonValue] = st.sampled_from(["red", "#fff", "nope", "linear-gradient(red, blue)"])
anything = st.one_of(
    calls_of("addNode", label=name, id=maybe, parentNodeId=maybe, edgeLabel=maybe),
    calls_of("updateNode", nodeId=name, label=maybe, position=position),
    calls_of("deleteNode", nodeId=name),
    calls_of("addEdge", sourceNodeId=name, targetNodeId=name, label=maybe),
    calls_of("changeVisuals", target=st.sampled_from(["node", "all_nodes", "background"]), color=color, nodeId=maybe),
    calls_of(
        "changeDimensions",
        target=st.sampled_from(["node", "all_nodes", "zoom", "layout_spacing"]),
        direction=st.sampled_from(["increase", "decrease"]),
        nodeId=maybe,
    ),
    calls_of("createGroup", memberIds=st.lists(name, max_size=4), label=maybe, position=position),
    calls_of("toggleSubtreeCollapse", nodeId=name, collapsed=st.booleans()),
    st.builds(Call, st.sampled_from(["autoLayout", "undo", "redo", "bogus"])),
)
GROUPS = st.sampled_from(["ungroup", "deleteNode", "expand", "collapse"])
START = diagram("a", "b", node("c", "C"), edges=(edge("a", "b"), edge("b", "a"), edge("b", "c")))


def valid(document: Document) -> None:
    """What every document must be that only tools have touched."""
    for key, item in document.nodes.items():
        assert Node.model_validate(item.body).id == key
        group = text_of(item.body, "parentGroupId")
        assert not group or (group in document.nodes and is_group(document.nodes[group].body))
    for key, item in document.edges.items():
        assert Edge.model_validate(item.body).id == key
        assert text_of(item.body, "source") in document.nodes
        assert text_of(item.body, "target") in document.nodes
    ranks = [item.rank for table in (document.nodes, document.edges) for item in table.values()]
    assert len(set(ranks)) == len(ranks)


def same(one: Document, other: Document) -> bool:
    return (one.nodes, one.edges, one.settings) == (other.nodes, other.edges, other.settings)


def group_call(document: Document, how: str) -> Call:
    groups = [key for key, item in document.nodes.items() if is_group(item.body)]
    key = groups[0] if groups else "none"
    if how in ("expand", "collapse"):
        return Call("toggleGroupExpansion", {"groupId": key, "expand": how == "expand"})
    return Call(how, {"groupId" if how == "ungroup" else "nodeId": key})


@pytest.mark.slow
@given(st.lists(st.lists(anything | GROUPS, max_size=6), max_size=5))
def test_any_sequence_keeps_the_document_valid_and_is_taken_back_exactly(turns: list[list[Call | str]]) -> None:
    document, applied = START, list[HistoryEntry]()
    states = [START]
    for seq, turn in enumerate(turns, 1):
        batch = Batch(document, HistoryWindow(tuple(applied)))
        for one in turn:
            batch.run([group_call(batch.draft.document(), one) if isinstance(one, str) else one])
        valid(batch.draft.document())
        forward, inverse = batch.draft.operations()
        after = apply(document, forward)
        assert same(after, batch.draft.document())
        assert same(apply(after, inverse), document)
        assert not conflicts(after, forward)
        assert not conflicts(document, inverse)
        document = after
        applied.append(HistoryEntry(seq, tuple(forward), tuple(inverse)))
        states.append(document)
    for past, state in zip(reversed(applied), reversed(states[:-1]), strict=True):
        document = apply(document, past.inverse)
        assert same(document, state)
    for past, state in zip(applied, states[1:], strict=True):
        document = apply(document, past.forward)
        assert same(document, state)


@given(st.lists(anything, max_size=8), st.integers(0, 8))
def test_undo_then_redo_inside_a_batch_is_identity(calls: list[Call], steps: int) -> None:
    batch = Batch(START)
    for one in calls:
        batch.run([one])
    before = batch.draft.document()
    undone = [batch.run([Call("undo")])[0].success for _ in range(steps)]
    for _ in range(sum(undone)):
        assert batch.run([Call("redo")])[0].success
    assert same(batch.draft.document(), before)


@given(st.lists(anything, max_size=8))
def test_an_atomic_batch_is_all_or_nothing(calls: list[Call]) -> None:
    batch = Batch(START)
    outcomes = batch.run(calls, atomic=True)
    if not all(outcome.success for outcome in outcomes):
        assert same(batch.draft.document(), START)
