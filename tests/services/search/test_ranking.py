"""The formulas of ranking."""

from __future__ import annotations

import pytest

from services.search.ranking import composite, fused

WEIGHTS = {"topic": 1.5, "audience": 1.2, "outcome": 1.3}


def test_the_composite_is_breadth_and_weighted_depth() -> None:
    matched = {"topic": 0.8, "outcome": 0.5}
    depth = (0.8 * 1.5 + 0.5 * 1.3) / (1.5 + 1.3)
    assert composite(matched, WEIGHTS) == pytest.approx((2 / 3 * 0.4 + depth * 0.6) * 10)


def test_a_perfect_match_of_every_facet_is_ten() -> None:
    assert composite(dict.fromkeys(WEIGHTS, 1.0), WEIGHTS) == pytest.approx(10)


def test_an_undeclared_facet_weighs_half() -> None:
    matched = {"topic": 0.8, "else": 0.4}
    depth = (0.8 * 1.5 + 0.4 * 0.5) / 2.0
    assert composite(matched, WEIGHTS) == pytest.approx((2 / 3 * 0.4 + depth * 0.6) * 10)


def test_without_declared_facets_there_are_four_of_one_weight() -> None:
    assert composite({"a": 0.6, "b": 0.2}, {}) == pytest.approx((2 / 4 * 0.4 + 0.4 * 0.6) * 10)


def test_breadth_never_passes_one() -> None:
    assert composite(dict.fromkeys("abcdef", 1.0), {}) == pytest.approx(10)
    assert composite({}, WEIGHTS) == 0


def test_fusion_is_by_reciprocal_rank_and_its_first_has_one() -> None:
    scores = fused([["a", "b", "c"], ["a", "c"]])
    assert scores["a"] == pytest.approx(1)
    assert scores["c"] == pytest.approx((1 / 63 + 1 / 62) / (2 / 61))
    assert scores["b"] == pytest.approx((1 / 62) / (2 / 61))


def test_an_arm_can_weigh_more() -> None:
    scores = fused([["a"], ["b"]], weights=[3.0, 1.0])
    assert scores == pytest.approx({"a": 0.75, "b": 0.25})
