"""The ledger: which tables are empty, which need another attempt, and how hits of several attempts join."""

from __future__ import annotations

from services.search.planning.ledger import Ledger
from services.search.queries.query import Label, Mode, Query, Strategy
from services.search.retrieval.engine import Match
from services.search.retrieval.runner import QueryOutcome

Tried = tuple[Strategy, list[QueryOutcome]]


def match(record: str, score: float = 0.5, weak: bool = False) -> Match:
    return Match(record, record.upper(), score, score, weak, (), {})


def outcome(
    table: str, *matches: Match, text: str = "q", label: Label = "exact", mode: Mode = "master", limit: int = 10
) -> QueryOutcome:
    query = Query(table, mode, text, limit, None, (), label)
    return QueryOutcome(query, "ok" if matches else "empty", matches, 0.3, None, 0.01)


def failed(table: str) -> QueryOutcome:
    query = Query(table, "master", "q", 10, None, ())
    return QueryOutcome(query, "error", (), None, "search_store_unavailable", 0.01)


def ledger(*attempts: Tried) -> Ledger:
    filled = Ledger()
    for strategy, outcomes in attempts:
        filled.add(strategy, "why", "message", outcomes)
    return filled


def test_a_table_is_empty_when_no_attempt_found_anything_in_it() -> None:
    tried = ledger(
        ("initial", [outcome("a"), outcome("b"), failed("c")]), ("rewrite", [outcome("a", match("1")), outcome("d")])
    )
    assert tried.tables == ["a", "b", "c", "d"]
    assert tried.zero_tables == ["b", "d"]
    assert [each.query.table for each in tried.failed] == ["c"]


def test_after_a_changed_plan_only_its_own_tables_are_pending() -> None:
    first: Tried = ("initial", [outcome("a"), outcome("b")])
    assert ledger(first).pending_tables == ["a", "b"]
    assert ledger(first, ("rewrite", [outcome("a", label="rewritten")])).pending_tables == ["a"]
    assert ledger(first, ("mechanical", [outcome("a", label="relaxed")])).pending_tables == ["a", "b"]
    pivoted: Tried = ("pivot", [outcome("c", match("1"), label="pivoted")])
    assert ledger(first, pivoted).pending_tables == []


def test_the_gain_counts_records_that_no_earlier_attempt_found() -> None:
    tried = ledger(("initial", [outcome("a", match("1"))]), ("relax", [outcome("a", match("1"), match("2"))]))
    assert [attempt.gain for attempt in tried.attempts] == [1, 1]


def test_a_record_has_its_best_score_its_strictest_label_and_its_first_attempt() -> None:
    tried = ledger(
        ("initial", [outcome("a", match("1", 0.4))]),
        ("relax", [outcome("a", match("2", 0.6), match("1", 0.9), label="relaxed")]),
    )
    hits = [(hit.id, hit.score, hit.label, hit.attempt) for hit in tried.hits()["a"]]
    assert hits == [("1", 0.9, "exact", 1), ("2", 0.6, "relaxed", 2)]


def test_scores_of_both_modes_share_one_scale() -> None:
    tried = ledger(("initial", [outcome("a", match("1", 0.5)), outcome("a", match("2", 8.0), mode="faceted")]))
    assert [(hit.id, hit.score) for hit in tried.hits()["a"]] == [("2", 0.8), ("1", 0.5)]


def test_only_rewrites_with_a_strong_match_are_successful() -> None:
    first: Tried = ("initial", [outcome("a", text="cars"), outcome("b", text="cars")])
    rewrites = [
        outcome("a", match("1"), text="vehicles", label="rewritten"),
        outcome("b", match("2", weak=True), text="vehicles", label="rewritten"),
    ]
    [rewrite] = ledger(first, ("rewrite", rewrites)).successful_rewrites()
    assert (rewrite.table, rewrite.wording, rewrite.rewritten) == ("a", "cars", "vehicles")
