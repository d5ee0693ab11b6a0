"""Layers: cycles are broken by depth-first search, then every edge leads at least one layer further."""

from __future__ import annotations

from collections.abc import Sequence

Arc = tuple[int, int]


def acyclic(count: int, arcs: Sequence[Arc]) -> list[Arc]:
    """Return the arcs, reversed where they close a cycle, without self-loops and duplicates."""
    out: list[list[int]] = [[] for _ in range(count)]
    entered = [0] * count
    for source, target in dict.fromkeys(arcs):
        if source != target:
            out[source].append(target)
            entered[target] += 1
    roots = [node for node in range(count) if not entered[node]] + list(range(count))
    state = bytearray(count)  # 0 new, 1 on the path, 2 done
    kept: dict[Arc, None] = {}
    for root in roots:
        if state[root]:
            continue
        state[root] = 1
        path = [(root, iter(out[root]))]
        while path:
            node, targets = path[-1]
            for target in targets:
                kept[(target, node) if state[target] == 1 else (node, target)] = None
                if not state[target]:
                    state[target] = 1
                    path.append((target, iter(out[target])))
                    break
            else:
                state[node] = 2
                path.pop()
    return list(kept)


def ranks_of(count: int, arcs: Sequence[Arc]) -> list[int]:
    """Return the layer of every node, from 0: longest path, then nodes drawn towards their successors."""
    out: list[list[int]] = [[] for _ in range(count)]
    into: list[list[int]] = [[] for _ in range(count)]
    for source, target in arcs:
        out[source].append(target)
        into[target].append(source)
    waiting = [len(sources) for sources in into]
    order = [node for node in range(count) if not waiting[node]]
    ranks = [0] * count
    for node in order:  # grows while it is walked
        for target in out[node]:
            ranks[target] = max(ranks[target], ranks[node] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                order.append(target)
    for node in reversed(order):
        if len(out[node]) > len(into[node]):
            ranks[node] = min(ranks[target] for target in out[node]) - 1
    lowest = min(ranks, default=0)
    return [rank - lowest for rank in ranks]
