"""Whether two flows are the same diagram: by labels, types, groups, links; ids, positions, settings do not count."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: Between nodes that look alike all pairings are tried, but not without limit.
_MOST_STEPS = 20_000
_ROUNDS = 4


class NotAFlow(ValueError):
    """What is given as the expected flow is none."""


@dataclass
class _Graph:
    """Nodes by number, with what each looks like, and the labels of the edges between each two."""

    looks: list[object] = field(default_factory=list)
    edges: defaultdict[tuple[int, int], Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def refined(self) -> list[int]:
        """What each node looks like together with its neighbours (colour refinement, B. Weisfeiler, A. Leman 1968)."""
        colours = [hash(look) for look in self.looks]
        for _ in range(_ROUNDS):
            around: list[list[object]] = [[] for _ in colours]
            for (source, target), labels in self.edges.items():
                told = tuple(sorted(labels.items()))
                around[source].append((1, told, colours[target]))
                around[target].append((0, told, colours[source]))
            colours = [hash((c, tuple(sorted(map(hash, near))))) for c, near in zip(colours, around, strict=True)]
        return colours


def difference(expected: Mapping[str, Any], flow: Mapping[str, Any]) -> str | None:
    """What is other than expected, in words, or None. Raises: NotAFlow."""
    try:
        wanted, made = graph_of(expected), graph_of(flow)
    except (KeyError, TypeError, AttributeError) as error:
        raise NotAFlow("a flow has nodes with id and data.label, and edges with source and target") from error
    if told := _other(Counter(map(str, wanted.looks)), Counter(map(str, made.looks)), "node"):
        return told
    if told := _other(_links(wanted), _links(made), "edge"):
        return told
    return None if _isomorphic(wanted, made) else "the same nodes are linked in another way"


def graph_of(flow: Mapping[str, Any]) -> _Graph:
    """Raises: KeyError, TypeError, AttributeError."""
    nodes = {str(node["id"]): node for node in flow.get("nodes") or []}
    numbers = {id: number for number, id in enumerate(nodes)}
    graph = _Graph([_NodeIdentity.of(node, nodes) for node in nodes.values()])
    for edge in flow.get("edges") or []:
        source, target = numbers[str(edge["source"])], numbers[str(edge["target"])]
        graph.edges[source, target][str((edge.get("data") or {}).get("label") or "")] += 1
    return graph


@dataclass(frozen=True)
class _NodeIdentity:
    """What identifies a node: its label, its type, and the label of its group."""

    label: str
    type: str
    group: str | None

    @classmethod
    def of(cls, node: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]]) -> _NodeIdentity:
        parent = nodes.get(str(node.get("parentGroupId")))
        return cls(_label(node), str(node.get("type") or "default"), None if parent is None else _label(parent))

    def __str__(self) -> str:
        inside = "" if self.group is None else f" in {self.group!r}"
        return f"{self.label!r} ({self.type}){inside}"


def _label(node: Mapping[str, Any]) -> str:
    return str((node.get("data") or {}).get("label") or "").strip()


def _links(graph: _Graph) -> Counter[str]:
    links: Counter[str] = Counter()
    for (source, target), labels in graph.edges.items():
        for label, count in labels.items():
            links[f"{graph.looks[source]} -> {graph.looks[target]}{f' {label!r}' if label else ''}"] += count
    return links


def _other(wanted: Counter[str], made: Counter[str], what: str) -> str | None:
    missing, more = wanted - made, made - wanted
    told = [f"{what} missing: {next(iter(missing))}"] if missing else []
    told += [f"unexpected {what}: {next(iter(more))}"] if more else []
    return "; ".join(told) or None


def _isomorphic(wanted: _Graph, made: _Graph) -> bool:
    """Pair the nodes so that every edge has its counterpart; rare looks first, a bounded number of tries."""
    colours, others = wanted.refined(), made.refined()
    if Counter(colours) != Counter(others):
        return False
    candidates: defaultdict[int, list[int]] = defaultdict(list)
    for node, colour in enumerate(others):
        candidates[colour].append(node)
    order = sorted(range(len(colours)), key=lambda node: len(candidates[colours[node]]))
    near = _neighbours(wanted)
    paired: dict[int, int] = {}
    tries = [iter(candidates[colours[order[0]]])] if order else []
    for _ in range(_MOST_STEPS + 100 * len(order)):
        if len(paired) == len(order):
            return True
        if not tries:
            return False
        node = order[len(tries) - 1]
        paired.pop(node, None)
        taken = set(paired.values())
        partner = next((p for p in tries[-1] if p not in taken and _fits(node, p, near, wanted, made, paired)), None)
        if partner is None:
            tries.pop()
            if tries:
                paired.pop(order[len(tries) - 1], None)
            continue
        paired[node] = partner
        if len(paired) < len(order):
            tries.append(iter(candidates[colours[order[len(paired)]]]))
    return len(paired) == len(order)


def _neighbours(graph: _Graph) -> list[set[int]]:
    near: list[set[int]] = [set() for _ in graph.looks]
    for source, target in graph.edges:
        near[source].add(target)
        near[target].add(source)
    return near


def _fits(
    node: int, partner: int, near: Sequence[set[int]], wanted: _Graph, made: _Graph, paired: Mapping[int, int]
) -> bool:
    none: Counter[str] = Counter()
    for other in near[node]:
        mate = partner if other == node else paired.get(other)
        if mate is None:
            continue
        for one, two in (((node, other), (partner, mate)), ((other, node), (mate, partner))):
            if wanted.edges.get(one, none) != made.edges.get(two, none):
                return False
    return True
