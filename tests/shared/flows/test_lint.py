"""Lint names what is legal and probably not meant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.flows.lint import components, cycles, lint
from tests.shared.flows.drafts import diagram, edge, node


def test_every_kind_of_finding_is_reported() -> None:
    document = diagram(
        node("a", "Same"),
        node("b", "Same"),
        "lonely",
        node("c", parentGroupId="nowhere"),
        edges=(edge("a", "b"), edge("b", "a"), edge("a", "b", "again"), edge("c", "gone"), edge("c", "c")),
    )
    findings = {finding.code: finding.ids for finding in lint(document)}
    assert findings["dangling_edge"] == ["c-gone"]
    assert findings["duplicate_edge"] == ["a-b", "again"]
    assert findings["orphan"] == ["lonely"]
    assert findings["duplicate_label"] == ["a", "b"]
    assert findings["unknown_group"] == ["c"]
    rings = [finding.ids for finding in lint(document) if finding.code == "cycle"]
    assert sorted(map(sorted, rings)) == [["a", "b"], ["c"]]


def test_a_clean_diagram_has_no_findings() -> None:
    assert lint(diagram("a", "b", edges=(edge("a", "b"),))) == []
    assert lint(diagram("a", "b")) == []


graphs = st.integers(1, 8).flatmap(
    lambda count: st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=20).map(
        lambda arcs: {str(node): [str(b) for a, b in arcs if a == node] for node in range(count)}
    )
)


@given(graphs)
def test_components_are_the_sets_of_nodes_that_reach_each_other(out: dict[str, list[str]]) -> None:
    reach = {node: {node} for node in out}
    for _ in out:
        for one in out:
            reach[one] |= {far for near in list(reach[one]) for far in out[near]}
    wanted = {frozenset(other for other in out if other in reach[node] and node in reach[other]) for node in out}
    assert {frozenset(part) for part in components(out)} == wanted


@pytest.mark.slow
def test_a_cycle_of_fifty_thousand_nodes_needs_no_recursion() -> None:
    ring = {str(node): [str((node + 1) % 50_000)] for node in range(50_000)}
    assert len(cycles(ring)[0]) == 50_000
