"""Coordinates across the layers: every node as near to its neighbours' middle as the order and the gaps allow."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from shared.flows.layout.order import Layered

_PASSES = 4


def across(graph: Layered, layers: Sequence[Sequence[int]], extents: Sequence[float], gap: float) -> list[float]:
    """Return the center of every node on the axis across the layers. ``extents`` are sizes on it; a bend has none."""
    centre = [0.0] * len(graph.before)
    offsets = [_offsets(layer, extents, gap) for layer in layers]
    for layer, offset in zip(layers, offsets, strict=True):
        for node, place in zip(layer, offset, strict=True):
            centre[node] = place
    for number in range(_PASSES):
        forward = number % 2 == 0
        neighbours = graph.before if forward else graph.after
        indices = range(len(layers)) if forward else range(len(layers) - 1, -1, -1)
        for rank in indices:
            _settle(layers[rank], offsets[rank], neighbours, centre)
    return centre


def _offsets(layer: Sequence[int], extents: Sequence[float], gap: float) -> list[float]:
    """Centres when the layer is packed as tightly as the gaps allow."""
    places: list[float] = []
    edge = 0.0
    for node in layer:
        extent = extents[node] if node < len(extents) else 0.0
        places.append(edge + extent / 2)
        edge += extent + (gap if node < len(extents) else gap / 2)
    return places


def _settle(
    layer: Sequence[int], offsets: Sequence[float], neighbours: Sequence[Sequence[int]], centre: list[float]
) -> None:
    """Fit the layer by least squares in its order: isotonic regression of the wanted positions (pool adjacent
    violators).
    """
    pools: list[tuple[float, int]] = []  # mean of the wanted positions, how many
    for node, offset in zip(layer, offsets, strict=True):
        around = neighbours[node]
        mean = (median(centre[other] for other in around) if around else centre[node]) - offset
        size = 1
        while pools and pools[-1][0] > mean:
            other_mean, other_size = pools.pop()
            mean = (mean * size + other_mean * other_size) / (size + other_size)
            size += other_size
        pools.append((mean, size))
    index = 0
    for mean, size in pools:
        for _ in range(size):
            centre[layer[index]] = mean + offsets[index]
            index += 1
