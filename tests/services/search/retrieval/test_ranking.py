"""The formulas of ranking."""

from __future__ import annotations

import pytest

from services.search.retrieval.ranking import composite, fused
from tests.services.search.service import MemorySearchService

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


def test_fusion_weighs_both_arms_and_the_best_of_both_has_one() -> None:
    scores = fused({"a": 0.8, "b": 0.8, "c": 0.35}, {"a": 12.0, "c": 6.0})
    assert scores["a"] == pytest.approx(1)
    assert scores["b"] == pytest.approx(0.8)
    assert scores["c"] == pytest.approx(0.8 * 1.35 / 1.8 + 0.2 * 0.5)


def test_an_arm_can_weigh_more() -> None:
    scores = fused({"a": 1.0, "b": 0.0}, {"b": 3.0}, share=0.25)
    assert scores == pytest.approx({"a": 0.25, "b": 0.125 + 0.75})


def test_words_and_their_pieces_share_what_the_vectors_leave() -> None:
    scores = fused({"a": 0.8, "b": 0.8, "c": 0.8}, {"a": 12.0, "c": 6.0}, {"a": 5.0, "b": 5.0})
    assert scores == pytest.approx({"a": 1.0, "b": 0.9, "c": 0.85})


def test_where_no_word_matches_the_vectors_alone_decide() -> None:
    assert fused({"a": 1.0, "b": 0.0}, {}) == pytest.approx({"a": 1.0, "b": 0.6})
    assert fused({}, {}) == {}


def test_what_the_first_records_share_moves_others_up(empty: MemorySearchService) -> None:
    """Two records hold one word of the question each; the one that resembles the first records comes first."""
    empty.ingest(
        "sessions",
        [
            *({"id": f"first{number}", "text": f"garden tulips soil spade x{number}"} for number in range(3)),
            {"id": "alike", "text": "garden soil spade rain"},
            {"id": "apart", "text": "garden opera violin cello"},
        ],
    )
    plan = [{"table": "sessions", "search_mode": "master", "query_text": "garden tulips", "score_threshold": 0.1}]
    hits = {hit.id: hit for hit in empty.search("q", plan=plan).hits["sessions"]}
    assert hits["alike"].similarity == hits["apart"].similarity
    assert hits["alike"].score > hits["apart"].score
