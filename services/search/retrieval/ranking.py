"""How hits are ordered: the fusion of the retrievers' scores, and the composite of facets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from services.search.tables.points import record_key

#: The weight of the cosine compared with the words: published as the best over many data sets (Bruch, Gai and Ingber,
#: 2023). Words and n-grams share the rest equally.
DENSE_SHARE = 0.8
BREADTH, DEPTH = 0.4, 0.6
UNKNOWN_WEIGHT = 0.5
FACETS_WHEN_UNDECLARED = 4


def fused(
    cosines: Mapping[str, float], *words: Mapping[str, float], share: float = DENSE_SHARE, zero: float = -1.0
) -> dict[str, float]:
    """Return a convex combination of the retrievers, each scaled from its least score (``zero``, words 0) to its best
    one.

    0..1, and 1 for a record that is best in all. Unlike ranks, scores tell by how much one hit is better than another.
    """
    nearest = max(max(cosines.values(), default=0.0) - zero, 1e-6)
    each = (1.0 - share) / max(len(words), 1)
    with_best = [(scores, max(scores.values(), default=0.0)) for scores in words]
    return {
        item: share * max(cosine - zero, 0.0) / nearest
        + sum(each * (scores.get(item, 0.0) / best if best else 1.0) for scores, best in with_best)
        for item, cosine in cosines.items()
    }


def ordered(scores: Mapping[str, float], cosines: Mapping[str, float]) -> list[str]:
    """Return the best first; of equal ones the more similar."""
    return sorted(scores, key=lambda key: (-scores[key], -cosines.get(key, 0.0), key))


def best_of_each(points: Iterable[str]) -> list[str]:
    """Return the first point of each record: a record ranks as its best passage does."""
    first: dict[str, str] = {}
    for point in points:
        first.setdefault(record_key(point), point)
    return list(first.values())


def depth(scores: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Return the weighted mean of the facets' scores; an undeclared one weighs half, all alike if none is declared."""
    share = {facet: weights.get(facet, UNKNOWN_WEIGHT) if weights else 1.0 for facet in scores}
    return sum(score * share[facet] for facet, score in scores.items()) / sum(share.values())


def below(scores: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Return the composite of a record none of whose facets matches: what their depth alone gives, less than any
    match has.
    """
    return depth(scores, weights) * DEPTH * 10


def composite(matched: Mapping[str, float], weights: Mapping[str, float], total: int | None = None) -> float:
    """0..10: how many of the facets match (breadth) and how well (depth); ``matched``: facet to score.

    ``total`` is the number of facets that could match; without declared facets it is 4 and every facet counts alike.
    """
    if not matched:
        return 0.0
    possible = total or len(weights) or FACETS_WHEN_UNDECLARED
    breadth = min(len(matched) / possible, 1.0)
    return (breadth * BREADTH + depth(matched, weights) * DEPTH) * 10
