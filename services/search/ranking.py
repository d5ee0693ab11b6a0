"""How hits are ordered: reciprocal rank fusion of two arms, and the composite of facets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

#: Stores default to a much smaller constant, which lets one arm's first hit decide alone.
FUSION_K = 60
BREADTH, DEPTH = 0.4, 0.6
UNKNOWN_WEIGHT = 0.5
FACETS_WHEN_UNDECLARED = 4


def fused(arms: Sequence[Sequence[str]], weights: Sequence[float] | None = None, k: int = FUSION_K) -> dict[str, float]:
    """Reciprocal rank fusion, scaled so that the first of every arm has 1."""
    shares = list(weights or [1.0] * len(arms))
    best = sum(shares) / (k + 1)
    scores: dict[str, float] = {}
    for arm, share in zip(arms, shares, strict=True):
        for rank, item in enumerate(arm, 1):
            scores[item] = scores.get(item, 0.0) + share / (k + rank) / best
    return scores


def composite(matched: Mapping[str, float], weights: Mapping[str, float], total: int | None = None) -> float:
    """0..10: how many of the facets match (breadth) and how well (depth); ``matched``: facet to score.

    ``total`` is the number of facets that could match; without declared facets it is 4 and every facet counts alike.
    """
    if not matched:
        return 0.0
    share = {facet: weights.get(facet, UNKNOWN_WEIGHT) if weights else 1.0 for facet in matched}
    depth = sum(score * share[facet] for facet, score in matched.items()) / sum(share.values())
    possible = total or len(weights) or FACETS_WHEN_UNDECLARED
    breadth = min(len(matched) / possible, 1.0)
    return (breadth * BREADTH + depth * DEPTH) * 10
