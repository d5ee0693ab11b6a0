"""Whether two flows are the same diagram."""

from __future__ import annotations

import time
from itertools import pairwise, permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.evaluations.expected_flow import NotAFlow, difference


def flow(nodes: str, *edges: str, prefix: str = "") -> dict[str, Any]:
    """Nodes as ``label:type@group``, edges as ``0>1:label`` by the nodes' positions."""
    made: list[dict[str, Any]] = []
    for number, word in enumerate(nodes.split()):
        look, _, group = word.partition("@")
        label, _, kind = look.partition(":")
        node = {"id": f"{prefix}{number}", "data": {"label": label}, "position": {"x": number, "y": len(prefix)}}
        parents = [each["id"] for each in made if each["data"]["label"] == group]
        made.append({**node, **({"type": kind} if kind else {}), **({"parentGroupId": parents[0]} if parents else {})})
    linked: list[dict[str, Any]] = []
    for number, edge in enumerate(edges):
        pair, _, label = edge.partition(":")
        source, _, target = pair.partition(">")
        linked.append({"id": f"e{prefix}{number}", "source": prefix + source, "target": prefix + target})
        if label:
            linked[-1]["data"] = {"label": label}
    return {"nodes": made, "edges": linked}


def test_ids_and_positions_do_not_count() -> None:
    wanted = flow("Login Check:decision Home", "0>1", "1>2:yes")
    assert difference(wanted, flow("Login Check:decision Home", "0>1", "1>2:yes", prefix="other-")) is None
    turned = flow("Home Check:decision Login", "2>1", "1>0:yes")
    assert difference(wanted, turned) is None


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (flow("Login Check:decision", "0>1"), "node missing: 'Home' (default)"),
        (flow("Login Check Home", "0>1", "1>2:yes"), "node missing: 'Check' (decision); unexpected node"),
        (flow("Login Check:decision Home", "0>1", "1>2:no"), "edge missing"),
        (flow("Login Check:decision Home", "1>0", "1>2:yes"), "edge missing"),
        (flow("Login Check:decision Home@Login", "0>1", "1>2:yes"), "node missing"),
    ],
)  # fmt: skip
def test_labels_types_groups_and_links_do(made: dict[str, Any], told: str) -> None:
    answer = difference(flow("Login Check:decision Home", "0>1", "1>2:yes"), made)
    assert answer is not None
    assert answer.startswith(told)


def test_nodes_that_look_alike_are_paired_by_their_links() -> None:
    ring = [f"{i}>{(i + 1) % 6}" for i in range(6)]
    triangles = ["0>1", "1>2", "2>0", "3>4", "4>5", "5>3"]
    same = "x x x x x x"
    assert difference(flow(same, *ring), flow(same, *reversed(ring), prefix="p")) is None
    assert difference(flow(same, *ring), flow(same, *triangles)) == "the same nodes are linked in another way"


def test_many_nodes_that_look_alike_end_in_bounded_time() -> None:
    many = " ".join(["x"] * 300)
    chain = [f"{a}>{b}" for a, b in pairwise(range(300))]
    assert difference(flow(many, *chain), flow(many, *chain, prefix="q")) is None
    assert difference(flow(many), flow(many, prefix="q")) is None


@pytest.mark.parametrize(
    "broken", [{"nodes": [{}]}, {"nodes": 5}, {"nodes": [], "edges": [{"source": "a", "target": "b"}]}]
)
def test_what_is_no_flow_is_refused(broken: dict[str, Any]) -> None:
    with pytest.raises(NotAFlow):
        difference(broken, broken)


def test_rings_are_told_apart_from_one_ring_in_a_moment() -> None:
    same, half = " ".join(["x"] * 400), 200
    ring = [f"{i}>{(i + 1) % 400}" for i in range(400)]
    rings = [f"{i}>{(i + 1) % half}" for i in range(half)]
    rings += [f"{half + i}>{half + (i + 1) % half}" for i in range(half)]
    began = time.process_time()
    assert difference(flow(same, *ring), flow(same, *rings)) == "the same nodes are linked in another way"
    assert difference(flow(same, *ring), flow(same, *reversed(ring), prefix="p")) is None
    assert difference(flow(same, *rings), flow(same, *reversed(rings), prefix="p")) is None
    assert time.process_time() - began < 5


@given(st.integers(2, 7), st.data())
def test_flows_are_the_same_whenever_their_nodes_can_be_paired(size: int, data: st.DataObject) -> None:
    pairs = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1))
    edges = data.draw(st.lists(pairs, max_size=10, unique=True))
    others = data.draw(st.one_of(st.permutations(edges), st.lists(pairs, max_size=10, unique=True)))
    renamed = data.draw(st.permutations(range(size)))
    others = [(renamed[a], renamed[b]) for a, b in others]
    same = " ".join(["x"] * size)
    answer = difference(flow(same, *[f"{a}>{b}" for a, b in edges]), flow(same, *[f"{a}>{b}" for a, b in others]))
    possible = any({(order[a], order[b]) for a, b in edges} == set(others) for order in permutations(range(size)))
    assert (answer is None) == possible
