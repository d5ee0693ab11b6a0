"""Whether two flows are the same diagram: by labels, types, groups, links; ids, positions, settings do not count."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: Between nodes that look alike all pairings are tried, but not without limit.
_MAX_CHECKS = 1_000_000
_ROUNDS = 4


class NotAFlow(ValueError):
    """The given expected flow is not a flow."""


class TooSymmetrical(Exception):
    """Too many nodes look alike to decide whether the flows are equal."""


@dataclass
class _Graph:
    """Nodes by number, with what each looks like, and the labels of the edges between each two."""

    looks: list[object] = field(default_factory=list)
    edges: defaultdict[tuple[int, int], Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def refined(self) -> list[int]:
        """Return each node's color, refined by its neighbors (color refinement, B. Weisfeiler, A. Leman 1968)."""
        colours = [hash(look) for look in self.looks]
        for _ in range(_ROUNDS):
            around: list[list[object]] = [[] for _ in colours]
            for (source, target), labels in self.edges.items():
                frozen = tuple(sorted(labels.items()))
                around[source].append((1, frozen, colours[target]))
                around[target].append((0, frozen, colours[source]))
            colours = [hash((c, tuple(sorted(map(hash, near))))) for c, near in zip(colours, around, strict=True)]
        return colours


def difference(expected: Mapping[str, Any], flow: Mapping[str, Any]) -> str | None:
    """Return the first difference as a sentence, or None. Raises: NotAFlow, TooSymmetrical."""
    wanted, made = graph_of(expected), graph_of(flow)
    if differs := _other(Counter(map(str, wanted.looks)), Counter(map(str, made.looks)), "node"):
        return differs
    if differs := _other(_links(wanted), _links(made), "edge"):
        return differs
    return None if _isomorphic(wanted, made) else "the same nodes are linked in another way"


def graph_of(flow: Mapping[str, Any]) -> _Graph:
    """Return the graph of a flow. Raises: NotAFlow."""
    try:
        return _graph_of(flow)
    except (KeyError, TypeError, AttributeError) as error:
        raise NotAFlow("a flow has nodes with id and data.label, and edges with source and target") from error


def _graph_of(flow: Mapping[str, Any]) -> _Graph:
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
    parts = [f"{what} missing: {next(iter(missing))}"] if missing else []
    parts += [f"unexpected {what}: {next(iter(more))}"] if more else []
    return "; ".join(parts) or None


def _isomorphic(wanted: _Graph, made: _Graph) -> bool:
    """Pair the nodes so that every edge has its counterpart, along the edges from a rare node on.

    Raises: TooSymmetrical.
    """
    colours, others = wanted.refined(), made.refined()
    if Counter(colours) != Counter(others):
        return False
    near, near_made = _neighbours(wanted), _neighbours(made)
    if _components(near, colours) != _components(near_made, others):
        return False
    return _Pairing(wanted, made, colours, others, near, near_made).is_complete()


class _Pairing:
    """Depth-first search for partners: the next node is linked with one that has one, so few come into question."""

    def __init__(
        self,
        wanted: _Graph,
        made: _Graph,
        colours: Sequence[int],
        others: Sequence[int],
        near: Sequence[set[int]],
        near_made: Sequence[set[int]],
    ) -> None:
        self._wanted, self._made = wanted, made
        self._colours, self._others = colours, others
        self._near, self._near_made = near, near_made
        self._by_colour: defaultdict[int, list[int]] = defaultdict(list)
        for node, colour in enumerate(others):
            self._by_colour[colour].append(node)
        self._order, self._before = _along_edges(near, [len(self._by_colour[colour]) for colour in colours])
        self._paired: dict[int, int] = {}
        self._taken: set[int] = set()
        self._checks = 0

    def is_complete(self) -> bool:
        """Return whether every node gets a partner. Raises: TooSymmetrical."""
        order = self._order
        tries: list[Iterator[int]] = []
        while len(self._paired) < len(order):
            if len(tries) == len(self._paired):
                tries.append(self._candidates(order[len(tries)]))
            if self._pair(order[len(tries) - 1], tries[-1]):
                continue
            tries.pop()
            if not tries:
                return False
            self._taken.discard(self._paired.pop(order[len(tries) - 1]))
        return True

    def _candidates(self, node: int) -> Iterator[int]:
        before = self._before[node]
        among = self._by_colour[self._colours[node]] if before is None else self._near_made[self._paired[before]]
        return (each for each in sorted(among) if self._others[each] == self._colours[node])

    def _pair(self, node: int, candidates: Iterator[int]) -> bool:
        """Give the node the next partner that fits; False when none is left."""
        for partner in candidates:
            self._checks += 1
            if self._checks > _MAX_CHECKS:
                raise TooSymmetrical
            if partner not in self._taken and _fits(node, partner, self._near, self._wanted, self._made, self._paired):
                self._paired[node] = partner
                self._taken.add(partner)
                return True
        return False


def _along_edges(near: Sequence[set[int]], rarity: Sequence[int]) -> tuple[list[int], dict[int, int | None]]:
    """Return all nodes, each after one that it is linked with (its value in the mapping), rarest of each part first."""
    order: list[int] = []
    before: dict[int, int | None] = {}
    for start in sorted(range(len(near)), key=lambda node: rarity[node]):
        if start in before:
            continue
        before[start] = None
        waiting = deque([start])
        while waiting:
            node = waiting.popleft()
            order.append(node)
            for other in sorted(near[node], key=lambda each: rarity[each]):
                if other not in before:
                    before[other] = node
                    waiting.append(other)
    return order, before


def _components(near: Sequence[set[int]], colours: Sequence[int]) -> Counter[tuple[int, ...]]:
    """Count the connected parts by the colors of their nodes."""
    order, before = _along_edges(near, [0] * len(near))
    parts: list[list[int]] = []
    for node in order:
        if before[node] is None:
            parts.append([])
        parts[-1].append(colours[node])
    return Counter(tuple(sorted(part)) for part in parts)


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
