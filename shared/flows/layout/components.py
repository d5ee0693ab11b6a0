"""One connected part of a diagram, and several parts side by side; a part that is laid out already does not move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shared.flows.layout.coordinates import across
from shared.flows.layout.order import layered, ordered
from shared.flows.layout.ranks import Arc, acyclic, ranks_of

Point = tuple[float, float]

_SAME = 0.011  #: coordinates are kept with two decimals


@dataclass(frozen=True)
class NodeBox:
    """Something to place: a size along the layers and across them."""

    along: float
    across: float


@dataclass(frozen=True)
class Separation:
    along: float
    across: float


def connected(count: int, arcs: Sequence[Arc]) -> list[list[int]]:
    """Return the nodes of each connected part, parts and nodes in order."""
    root = list(range(count))

    def find(node: int) -> int:
        while root[node] != node:
            root[node] = root[root[node]]
            node = root[node]
        return node

    for source, target in arcs:
        first, second = sorted((find(source), find(target)))
        root[second] = first
    parts: dict[int, list[int]] = {}
    for node in range(count):
        parts.setdefault(find(node), []).append(node)
    return list(parts.values())


def shape(
    boxes: Sequence[NodeBox], arcs: Sequence[Arc], gaps: Separation, labels: Mapping[Arc, float] | None = None
) -> list[Point]:
    """Return the corner (along, across) of each node of one part, relative to the part's corner.

    ``labels`` are the sizes along the layers of what is written on arcs: it fits between two layers.
    """
    between = _between(labels or {}, arcs := acyclic(len(boxes), arcs), ranks := ranks_of(len(boxes), arcs))
    graph = layered(len(boxes), arcs, ranks)
    layers = ordered(graph)
    centre = across(graph, layers, [box.across for box in boxes], gaps.across)
    points: list[Point] = [(0.0, 0.0)] * len(boxes)
    edge = 0.0
    for rank, layer in enumerate(layers):
        real = [node for node in layer if node < len(boxes)]
        thickness = max((boxes[node].along for node in real), default=0.0)
        for node in real:
            points[node] = (edge + (thickness - boxes[node].along) / 2, centre[node] - boxes[node].across / 2)
        edge += thickness + max(gaps.along, between.get(rank, 0.0))
    low_along, low_across = (min((p[axis] for p in points), default=0.0) for axis in (0, 1))
    return [(round(a - low_along, 2), round(c - low_across, 2)) for a, c in points]


def _between(labels: Mapping[Arc, float], arcs: Sequence[Arc], ranks: Sequence[int]) -> Mapping[int, float]:
    """Return the gaps after the layers that labels need, on arcs from one layer to the next."""
    needed: dict[int, float] = {}
    for source, target in arcs:
        size = max(labels.get((source, target), 0.0), labels.get((target, source), 0.0))
        if size and ranks[target] - ranks[source] == 1:
            needed[ranks[source]] = max(needed.get(ranks[source], 0.0), size)
    return needed


def arrangement(
    boxes: Sequence[NodeBox],
    arcs: Sequence[Arc],
    gaps: Separation,
    now: Mapping[int, Point],
    labels: Mapping[Arc, float] | None = None,
) -> list[Point]:
    """Return a position for every node. ``now`` holds current positions: a part that has its shape already is not
    moved.
    """
    parts = connected(len(boxes), arcs)
    own_arcs = _by_part(parts, arcs)
    shapes = [
        shape([boxes[node] for node in part], own, gaps, _of_part(part, labels or {}))
        for part, own in zip(parts, own_arcs, strict=True)
    ]
    corners = [_corner(part, points, now) for part, points in zip(parts, shapes, strict=True)]
    taken = [
        _extent(corner, part, points, boxes)
        for corner, part, points in zip(corners, parts, shapes, strict=True)
        if corner is not None
    ]
    taken, corners = _without_overlaps(taken, corners, gaps)
    places: list[Point] = [(0.0, 0.0)] * len(boxes)
    edge = 0.0
    for corner, part, points in zip(corners, parts, shapes, strict=True):
        start = corner
        if start is None:
            extent = _extent((0.0, edge), part, points, boxes)
            extent = _first_free(extent, taken, gaps)
            start, edge = (0.0, extent[2]), extent[3] + gaps.across
        for node, (a, c) in zip(part, points, strict=True):
            places[node] = (round(start[0] + a, 2), round(start[1] + c, 2))
    return places


_Extent = tuple[float, float, float, float]  # low and high along, low and high across


def _by_part(parts: Sequence[Sequence[int]], arcs: Sequence[Arc]) -> list[list[Arc]]:
    home = {node: (number, index) for number, part in enumerate(parts) for index, node in enumerate(part)}
    own: list[list[Arc]] = [[] for _ in parts]
    for source, target in arcs:
        own[home[source][0]].append((home[source][1], home[target][1]))
    return own


def _of_part(part: Sequence[int], labels: Mapping[Arc, float]) -> Mapping[Arc, float]:
    if not labels:
        return labels
    index = {node: number for number, node in enumerate(part)}
    return {(index[source], index[target]): size for (source, target), size in labels.items() if source in index}


def _corner(part: Sequence[int], points: Sequence[Point], now: Mapping[int, Point]) -> Point | None:
    """Return the part's corner if its nodes are in their shape already; None when they have to move."""
    if any(node not in now for node in part):
        return None
    corner = (now[part[0]][0] - points[0][0], now[part[0]][1] - points[0][1])
    if len(part) == 1 and abs(corner[0]) > _SAME:
        return None  # every single node has its shape; only those in the column of single nodes are settled
    for node, (a, c) in zip(part, points, strict=True):
        if abs(now[node][0] - corner[0] - a) > _SAME or abs(now[node][1] - corner[1] - c) > _SAME:
            return None
    return corner


def _extent(corner: Point, part: Sequence[int], points: Sequence[Point], boxes: Sequence[NodeBox]) -> _Extent:
    along = [a + boxes[node].along for node, (a, _) in zip(part, points, strict=True)]
    width = [c + boxes[node].across for node, (_, c) in zip(part, points, strict=True)]
    return corner[0], corner[0] + max(along), corner[1], corner[1] + max(width)


def _first_free(extent: _Extent, taken: Sequence[_Extent], gaps: Separation) -> _Extent:
    """Return the extent, moved across the layers until it touches no settled part; these are sorted by low edge."""
    for other in taken:
        if _touch(extent, other, gaps):
            moved = other[3] + gaps.across
            extent = (extent[0], extent[1], moved, moved + extent[3] - extent[2])
    return extent


def _without_overlaps(
    taken: list[_Extent], corners: list[Point | None], gaps: Separation
) -> tuple[list[_Extent], list[Point | None]]:
    """Clear the corner of a part that overlaps an earlier one, so that it is placed again; compared by low edge."""
    kept: list[_Extent] = []
    answer = list(corners)
    settled = [index for index, corner in enumerate(corners) if corner is not None]
    for index, extent in sorted(zip(settled, taken, strict=True), key=lambda pair: (pair[1][2], pair[0])):
        near = kept[-50:]  # by low edge: only the last ones can still reach this far, in all but extreme diagrams
        if any(_touch(extent, other, gaps) for other in near):
            answer[index] = None
        else:
            kept.append(extent)
    return kept, answer


def _touch(one: _Extent, other: _Extent, gaps: Separation) -> bool:
    return (
        one[0] < other[1] + gaps.along - _SAME
        and other[0] < one[1] + gaps.along - _SAME
        and one[2] < other[3] + gaps.across - _SAME
        and other[2] < one[3] + gaps.across - _SAME
    )
