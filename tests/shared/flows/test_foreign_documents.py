"""A lenient save may store anything: tools, layout, forms and lint handle it, and every change is exact."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from services.flows.state import state_of
from shared.flows.batch import Batch
from shared.flows.calls import Call
from shared.flows.document import Kind, document_of, shown
from shared.flows.editing import replacement
from shared.flows.encoding import decode_document, encode_document
from shared.flows.forms.dot import dot
from shared.flows.forms.mermaid import mermaid
from shared.flows.forms.mermaid_import import read_mermaid
from shared.flows.forms.svg import svg
from shared.flows.layout.document_layout import layout
from shared.flows.lint import lint
from shared.flows.operations import apply
from tests.shared.flows.test_properties import anything

text = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=4) | st.sampled_from(["a", "b", "c"])
leaf = (
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(allow_nan=False, allow_infinity=False) | text
)
value: st.SearchStrategy[JsonValue] = st.recursive(
    leaf, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(text, inner, max_size=2), max_leaves=4
)
part = value | st.fixed_dictionaries(
    {},
    optional={
        "id": text | value,
        "type": st.just("group") | value,
        "position": value | st.fixed_dictionaries({"x": st.integers(-500, 500), "y": value}),
        "data": value | st.fixed_dictionaries({"label": text}),
        "parentGroupId": text | value,
        "isCollapsed": st.booleans() | value,
        "hidden": st.booleans() | value,
        "source": text | value,
        "target": text | value,
    },
)
parts = st.lists(part, max_size=5)
groups = st.sampled_from(
    [
        Call("ungroup", {"groupId": "a"}),
        Call("toggleGroupExpansion", {"groupId": "a", "expand": True}),
        Call("toggleGroupExpansion", {"groupId": "b", "expand": False}),
        Call("createGroup", {"memberIds": ["a", "b"]}),
        Call("deleteNode", {"nodeId": "a"}),
    ]
)


@pytest.mark.slow
@given(parts, parts, st.lists(anything | groups, max_size=6))
def test_every_operation_handles_what_a_lenient_save_has_stored(
    nodes: list[JsonValue], edges: list[JsonValue], calls: list[Call]
) -> None:
    document = document_of(nodes, edges)
    assert (shown(document, Kind.NODE), shown(document, Kind.EDGE)) == (nodes, edges)
    assert decode_document(encode_document(document)) == document
    batch = Batch(document)
    batch.run(calls)
    forward, inverse = batch.draft.operations()
    after = apply(document, forward)
    back = apply(after, inverse)
    assert (back.nodes, back.edges, back.settings) == (document.nodes, document.edges, document.settings)
    for state in (document, after):
        layout(state)
        lint(state)
        svg(state)
        dot(state)
        read_mermaid(mermaid(state))
        assert len(state_of(state, "a", 200)) < 5_000


def written(elements: list[JsonValue]) -> str:
    """Distinguish ``1`` from ``true``; the order of an object's members means nothing."""
    return json.dumps(elements, sort_keys=True)


@pytest.mark.slow
@given(parts, parts, parts, parts)
def test_a_save_over_another_is_exact_both_ways(
    nodes: list[JsonValue], edges: list[JsonValue], new_nodes: list[JsonValue], new_edges: list[JsonValue]
) -> None:
    before = document_of(nodes, edges)
    edit = replacement(before, document_of(new_nodes, new_edges), "Saved")
    after = apply(before, edit.forward)
    assert written(shown(after, Kind.NODE)) == written(new_nodes)
    assert written(shown(after, Kind.EDGE)) == written(new_edges)
    back = apply(after, edit.inverse)
    assert written(shown(back, Kind.NODE)) == written(nodes)
    assert written(shown(back, Kind.EDGE)) == written(edges)
