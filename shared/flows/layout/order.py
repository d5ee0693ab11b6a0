"""The order inside the layers: barycentre sweeps forward and back; the order with the fewest crossings is taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shared.flows.layout.ranks import Arc

SWEEPS = 8
_WITHOUT_GAIN = 3


@dataclass(frozen=True)
class Layered:
    """Nodes in layers; those from ``real`` on are bends of long arcs. Neighbours are one layer before and after."""

    layers: list[list[int]]
    before: list[list[int]]
    after: list[list[int]]
    real: int


def layered(count: int, arcs: Sequence[Arc], ranks: Sequence[int]) -> Layered:
    """Return the layers, with a bend wherever an arc passes one; beyond a limit, arcs are left out to bound the
    cost.
    """
    layers: list[list[int]] = [[] for _ in range(max(ranks, default=-1) + 1)]
    for node in range(count):
        layers[ranks[node]].append(node)
    before: list[list[int]] = [[] for _ in range(count)]
    after: list[list[int]] = [[] for _ in range(count)]
    bends_left = 4 * count + 200
    for source, target in sorted(arcs, key=lambda arc: ranks[arc[1]] - ranks[arc[0]]):
        bends_left -= ranks[target] - ranks[source] - 1
        if bends_left < 0:
            break
        last = source
        for rank in range(ranks[source] + 1, ranks[target]):
            bend = len(before)
            before.append([last])
            after.append([])
            after[last].append(bend)
            layers[rank].append(bend)
            last = bend
        after[last].append(target)
        before[target].append(last)
    return Layered(layers, before, after, count)


def ordered(graph: Layered) -> list[list[int]]:
    """Return the layers in an order with few crossings; equal inputs give equal orders."""
    layers = _walked(graph)
    best, fewest = [list(layer) for layer in layers], _crossings(graph, layers)
    gainless = 0
    for sweep in range(SWEEPS):
        if not fewest or gainless == _WITHOUT_GAIN:
            break
        _sweep(layers, graph, forward=sweep % 2 == 0)
        crossings = _crossings(graph, layers)
        if crossings < fewest:
            best, fewest, gainless = [list(layer) for layer in layers], crossings, 0
        else:
            gainless += 1
    return best


def _walked(graph: Layered) -> list[list[int]]:
    """Return a first order, by depth-first search: a tree has no crossings in it."""
    seen = bytearray(len(graph.before))
    layers: list[list[int]] = [[] for _ in graph.layers]
    rank_of = {node: rank for rank, layer in enumerate(graph.layers) for node in layer}
    for root in (node for layer in graph.layers for node in layer):
        pending = [root]
        while pending:
            node = pending.pop()
            if seen[node]:
                continue
            seen[node] = 1
            layers[rank_of[node]].append(node)
            pending.extend(reversed(graph.after[node]))
    return layers


def _sweep(layers: list[list[int]], graph: Layered, forward: bool) -> None:
    indices = range(1, len(layers)) if forward else range(len(layers) - 2, -1, -1)
    neighbours = graph.before if forward else graph.after
    place = [0.0] * len(graph.before)
    for layer in layers:
        for index, node in enumerate(layer):
            place[node] = index
    for rank in indices:
        layer = layers[rank]
        centre = {
            node: sum(place[other] for other in around) / len(around) if (around := neighbours[node]) else place[node]
            for node in layer
        }
        layer.sort(key=centre.__getitem__)
        for index, node in enumerate(layer):
            place[node] = index


def _crossings(graph: Layered, layers: list[list[int]]) -> int:
    """Return how many pairs of arcs cross, counted layer by layer with a Fenwick tree."""
    place = [0] * len(graph.before)
    for layer in layers:
        for index, node in enumerate(layer):
            place[node] = index
    crossings = 0
    for rank in range(len(layers) - 1):
        size = len(layers[rank + 1])
        tree, total = [0] * (size + 1), 0
        for node in layers[rank]:
            targets = sorted(place[other] for other in graph.after[node])
            for target in targets:
                crossings += total - _sum(tree, target + 1)
            for target in targets:
                total += 1
                index = target + 1
                while index <= size:
                    tree[index] += 1
                    index += index & -index
    return crossings


def _sum(tree: list[int], index: int) -> int:
    total = 0
    while index:
        total += tree[index]
        index -= index & -index
    return total
