"""A model's plan is read as it is meant, kept within what the caller chose, and called exact only where it was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from services.search.store.open import open_local
from shared.contracts.search import SearchResult
from shared.llm.chat import ChatMessage
from tests.services.search.service import HashedWords, MemorySearchService
from tests.support.context import MemoryContext, Script, ScriptedProvider

FILMS = {"year": "integer", "rating": "float", "genre": "keyword", "seen": "bool", "released": "datetime"}
TABLES = {"films": {"fields": FILMS}, "faq": {}, "salaries": {"fields": {"team": "keyword"}}}


def film(number: int, **fields: Any) -> dict[str, Any]:
    return {"id": f"m{number}", "name": f"Space film {number}", "text": "A film about space.", "fields": fields}


@pytest.fixture(scope="module")
def cinema() -> Iterator[MemorySearchService]:
    store = open_local()
    service = MemorySearchService(store, HashedWords())
    service.catalog.create("tenant", "c", TABLES)
    service.ingest(
        "films",
        [
            film(1, year=1993, rating=8.2, genre="science fiction", seen=True, released="1993-06-11"),
            film(2, year=1994, rating=7.7, genre="science fiction", seen=False, released="1994-06-11"),
            film(3, year=1993, rating=8.1, genre="Film noir", seen=True, released="1993-06-12"),
            film(4, year=2001, rating=9.0, genre="drama", seen=False),
        ],
    )
    service.ingest("faq", [{"id": "f1", "name": "Lunch", "text": "The canteen opens at noon."}])
    text = "The director earns 250000 euros a year."
    service.ingest("salaries", [{"id": "s1", "name": "Salary", "text": text, "fields": {"team": "x"}}])
    yield service
    store.close()


def job(**scripts: Script) -> MemoryContext:
    return MemoryContext(llm=ScriptedProvider({f"search.{role}": script for role, script in scripts.items()}))


def query(table: str = "films", text: str = "film about space", **more: Any) -> dict[str, Any]:
    return {"table": table, "search_mode": "master", "query_text": text, "limit": 10, **more}


def planned(*queries: dict[str, Any]) -> str:
    return json.dumps({"queries": list(queries)})


def replanned(strategy: str, *queries: dict[str, Any]) -> str:
    return json.dumps({"reasoning": "r", "strategy": strategy, "user_message": "m", "new_queries": list(queries)})


def ids(result: SearchResult, table: str = "films") -> set[str]:
    return {hit.id for hit in result.hits.get(table, [])}


def labels(result: SearchResult) -> set[str]:
    return {hit.label for hits in result.hits.values() for hit in hits}


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"year": "1993"}, {"m1", "m3"}),
        ({"year": "1993.0"}, {"m1", "m3"}),
        ({"year": ["1993", 2001]}, {"m1", "m3", "m4"}),
        ({"rating": {"gt": "8.1"}}, {"m1", "m4"}),
        ({"rating": {"gte": "8,1"}}, {"m1", "m3", "m4"}),
        ({"rating": {"between": [7, "8.1"]}}, {"m2", "m3"}),
        ({"genre": "Science Fiction"}, {"m1", "m2"}),
        ({"genre": " SCIENCE-FICTION "}, {"m1", "m2"}),
        ({"genre": ["Sciencefiction", "FILM NOIR"]}, {"m1", "m2", "m3"}),
        ({"genre": {"not": "Science Fiction"}}, {"m3", "m4"}),
        ({"genre": {"ne": "Drama"}}, {"m1", "m2", "m3"}),
        ({"seen": "true"}, {"m1", "m3"}),
        ({"seen": "no"}, {"m2", "m4"}),
        ({"released": "1993-06-11"}, {"m1"}),
        ({"released": ["1993-06-12", "1994-06-11"]}, {"m2", "m3"}),
        ({"released": None}, {"m4"}),
        ({"or": [{"year": "2001"}, {"genre": "Film Noir"}]}, {"m3", "m4"}),
        ({"not": {"genre": "Science Fiction"}, "year": "1993"}, {"m3"}),
    ],
)
def test_a_filter_of_a_model_is_taken_as_it_is_meant(
    cinema: MemorySearchService, filters: Any, expected: set[str]
) -> None:
    held = job(plan=planned(query(filters=filters)))
    result = cinema.search("films about space", job=held, answer=False)
    assert ids(result) == expected
    assert labels(result) == {"exact"}
    assert not [warning for warning in held.report.warnings if "filter" in warning or "No record" in warning]


def test_a_long_list_of_values_is_read_whatever_their_case(cinema: MemorySearchService) -> None:
    genres = [*(f"genre {number}" for number in range(200)), "Science Fiction", "FILM NOIR"]
    held = job(plan=planned(query(filters={"genre": genres})))
    assert ids(cinema.search("films about space", job=held, answer=False)) == {"m1", "m2", "m3"}
    assert cinema.search("films about space", tables=["films"], filters={"genre": genres}).verdict == "not_found"


def test_a_misspelt_value_is_taken_for_the_one_that_it_is_like_and_said(cinema: MemorySearchService) -> None:
    held = job(plan=planned(query(filters={"genre": "sciense fiction"})))
    assert ids(cinema.search("films about space", job=held, answer=False)) == {"m1", "m2"}
    assert any("'sciense fiction'" in warning and "'science fiction'" in warning for warning in held.report.warnings)


@pytest.mark.parametrize(
    "filters",
    [{"colour": "red"}, {"year": "nineteen"}, {"rating": {"roughly": 8}}, {"or": [{"year": 1993}, {"colour": "red"}]}],
)
def test_hits_without_a_filter_that_was_dropped_are_relaxed(cinema: MemorySearchService, filters: Any) -> None:
    held = job(plan=planned(query(filters=filters)))
    result = cinema.search("films about space", job=held, answer=False)
    assert len(ids(result)) == 4
    assert labels(result) == {"relaxed"}
    assert any(next(iter(filters)) in warning for warning in held.report.warnings)


def test_a_value_that_no_record_has_is_relaxed_with_a_warning(cinema: MemorySearchService) -> None:
    held = job(plan=planned(query(filters={"genre": "western"})))
    result = cinema.search("films about space", job=held, answer=False)
    assert labels(result) == {"relaxed"}
    assert any("'western'" in warning for warning in held.report.warnings)
    assert any("filters on genre were relaxed" in warning for warning in held.report.warnings)


@pytest.mark.parametrize(
    ("value", "suggestion"),
    [("Science Fiction", "science fiction"), ("sciense fiction", "science fiction"), ("film noire", "Film noir")],
)
def test_a_callers_value_holds_and_a_similar_one_is_suggested(
    cinema: MemorySearchService, value: str, suggestion: str
) -> None:
    for filters in ({"genre": value}, {"or": [{"genre": value}, {"genre": "musical"}]}):
        result = cinema.search("films about space", tables=["films"], filters=filters)
        assert result.verdict == "not_found"
        [why] = [each for each in result.why_empty if each.constraint in ("genre", "or")]
        assert (why.suggestions, why.hits_without) == ([suggestion], 4)
        assert suggestion in (result.answer or "")


def test_values_that_records_have_are_not_suggested_against(cinema: MemorySearchService) -> None:
    result = cinema.search("films about space", tables=["films"], filters={"genre": "drama", "year": 1993})
    assert all(why.suggestions == [] for why in result.why_empty)


def test_the_planner_is_shown_what_the_tables_hold_and_the_conversation(cinema: MemorySearchService) -> None:
    held = job(plan=planned(query(text="zeppelins")), reflect=replanned("rewrite", query(text="airships")))
    held.history = [ChatMessage("user", "What films do you know?"), ChatMessage("assistant", "Four.")]
    cinema.search("and which of them are about zeppelins?", job=held)
    shown = {request.role: json.loads(request.messages[1].content) for request in held.llm.requests}
    for role in ("search.plan", "search.reflect"):
        films = shown[role]["tables"]["films"]
        assert (films["language"], films["records"]) == ("english", 4)
        assert "Space film 1" in films["names"]
        assert films["values"]["genre"] == ["science fiction", "Film noir", "drama"]
        assert set(films["values"]["year"]) == {1993, 1994, 2001}
        assert set(films["values"]["seen"]) == {True, False}
        assert films["values"]["rating"]
        assert [message["content"] for message in shown[role]["history"]] == ["What films do you know?", "Four."]


_DIRECTOR = "What does the director earn a year?"


def searched(result: SearchResult) -> set[str]:
    return {query.table for attempt in result.attempts for query in attempt.queries}


@pytest.mark.parametrize("reflection", [True, False])
@pytest.mark.parametrize("strategy", ["pivot", "rewrite", "relax"])
def test_a_model_may_not_leave_the_tables_that_were_named(
    cinema: MemorySearchService, strategy: str, reflection: bool
) -> None:
    away = query("salaries", "director earns 250000 euros a year")
    for plan in (planned(away), planned(query("faq", "director salary"), away), planned(query("faq", "zeppelin"))):
        held = job(plan=plan, reflect=replanned(strategy, away))
        result = cinema.search(_DIRECTOR, job=held, tables=["faq"], reflection=reflection)
        assert searched(result) == {"faq"}
        assert "salaries" not in result.hits
        assert "salaries" not in (result.answer or "")
        if plan == planned(away) or reflection:
            assert any("salaries, which was not to be searched" in warning for warning in held.report.warnings)


def test_a_table_that_exists_is_not_called_missing(cinema: MemorySearchService) -> None:
    held = job(plan=planned(query("salaries"), query("wages")))
    cinema.search(_DIRECTOR, job=held, tables=["faq"])
    assert any("table salaries, which was not to be searched" in warning for warning in held.report.warnings)
    assert any("a table that the collection does not have" in warning for warning in held.report.warnings)


def test_tables_that_were_named_may_be_left_when_the_caller_allows_it(cinema: MemorySearchService) -> None:
    held = job(plan=planned(query("faq", "zeppelin")), reflect=replanned("pivot", query("salaries", _DIRECTOR)))
    result = cinema.search(_DIRECTOR, job=held, tables=["faq"], relax_filters=True)
    assert result.hits["salaries"][0].label == "pivoted"


# Weak hits.

_WEAK = query(text="space whales mountains gardens rivers songs clouds")


def test_a_model_is_asked_again_when_all_hits_are_weak(cinema: MemorySearchService) -> None:
    held = job(plan=planned(_WEAK), reflect=replanned("rewrite", query(text="a film about space")))
    result = cinema.search("whales and mountains", job=held, answer=False)
    assert [attempt.strategy for attempt in result.attempts] == ["initial", "rewrite"]
    assert result.verdict == "found"
    assert result.hits["films"][0].label == "exact"
    asked = json.loads(held.llm.requests[1].messages[1].content)
    assert "all of them weak" in asked["results_summary"]["films"]
    assert asked["evidence"][0]["closest_records"]
    [thought] = result.thinking
    assert thought.strategy == "rewrite"


def test_weak_hits_stay_where_no_other_wording_is_better(cinema: MemorySearchService) -> None:
    other = query(text="space oceans hills forests poems rain")
    for reply in (replanned("rewrite", other), replanned("relax"), "nothing", replanned("rewrite", _WEAK)):
        held = job(plan=planned(_WEAK), reflect=reply)
        result = cinema.search("whales and mountains", job=held, answer=False)
        assert result.verdict == "weak"
        assert ids(result)


def test_nobody_is_asked_about_weak_hits_when_reflection_is_off_or_spent(cinema: MemorySearchService) -> None:
    for more in ({"reflection": False}, {"max_reflections": 0}):
        held = job(plan=planned(_WEAK), reflect=replanned("rewrite", query()))
        assert cinema.search("whales", job=held, answer=False, **more).verdict == "weak"
        assert held.llm.asked("search.reflect") == 0


def test_without_a_model_weak_hits_are_not_searched_again(cinema: MemorySearchService) -> None:
    result = cinema.search("q", plan=[_WEAK])
    assert (result.verdict, len(result.attempts), result.thinking) == ("weak", 1, [])


# Tables without records.


def test_a_search_of_empty_tables_says_that_nothing_was_ingested(cinema: MemorySearchService) -> None:
    cinema.catalog.create("tenant", "new", {"talks": {}, "people": {}})
    held = job(reflect=replanned("rewrite", query("talks", "zeppelins")))
    result = cinema.search("zeppelins", collection="new", job=held)
    assert (result.verdict, result.hits) == ("not_found", {})
    assert "Nothing was ingested yet" in (result.answer or "")
    assert "talks, people" in (result.answer or "")
    assert held.llm.asked("search.reflect") == 0
    cinema.ingest("talks", [{"id": "t", "name": "Gardening"}], collection="new")
    answer = cinema.search("zeppelins", collection="new").answer or ""
    assert "talks, people (which is empty)" in answer
    assert "Nothing was ingested" not in answer
