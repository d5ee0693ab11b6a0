"""Search without any model: plans, filters, thresholds, modes, verdicts."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from services.search.embed.port import Vectors
from services.search.retrieval.ranking import composite
from services.search.store.open import open_store
from services.search.tables.thresholds import Threshold
from shared.contracts.search import SearchResult
from shared.errors import InvalidRequest, SearchStoreUnavailable, UnknownCollection, UnknownField, UnknownTable
from tests.services.search.conftest import CONFERENCE, SESSIONS
from tests.services.search.service import HashedWords, MemorySearchService
from tests.services.search.store.qdrant_server import serving
from tests.support.context import MemoryContext


def ids(result: SearchResult, table: str = "sessions") -> list[str]:
    return [hit.id for hit in result.hits.get(table, [])]


def plan(text: str = "postgres vacuum tuning", **more: Any) -> list[dict[str, Any]]:
    return [{"table": "sessions", "search_mode": "master", "query_text": text, **more}]


def test_a_question_is_answered_from_the_table_that_holds_it(service: MemorySearchService) -> None:
    result = service.search("postgres vacuum tuning")
    assert result.verdict == "found"
    assert ids(result) == ["s1"]
    [hit] = result.hits["sessions"]
    assert (hit.name, hit.label, hit.weak, hit.attempt) == ("Scaling Postgres", "exact", False, 1)
    assert hit.fields == SESSIONS[0]["fields"]
    assert hit.similarity == pytest.approx(3 / math.sqrt(3 * 11), abs=1e-4)
    assert len(result.attempts) == 1
    assert result.thinking == []
    assert result.why_empty == []


def test_the_same_works_in_the_embedded_engine(on_disk: MemorySearchService) -> None:
    result = on_disk.search("postgres vacuum tuning", filters={"track": "data"})
    assert (result.verdict, ids(result)) == ("found", ["s1"])
    assert on_disk.search("zeppelin").verdict == "not_found"


@pytest.mark.slow
def test_the_same_works_on_a_server_and_its_outage_is_no_finding() -> None:
    with serving() as server:
        store = open_store(server.url, Path("/nonexistent"), timeout=60)
        service = MemorySearchService(store, HashedWords())
        service.catalog.create("tenant", "c", CONFERENCE)
        service.ingest("sessions", SESSIONS)
        result = service.search("vacuum tuning for databases", filters={"track": ["data", "web"]})
        assert [hit.id for hit in result.hits["sessions"]] == ["s1"]
        assert service.search("how to boil eggs").verdict == "not_found"
        for fault in ("503", "cut", "garbage"):
            server.fault = fault
            with pytest.raises(SearchStoreUnavailable):
                service.search("how to boil eggs")
            with pytest.raises(SearchStoreUnavailable):
                service.ingest("sessions", [{"id": "new", "name": "lost?"}])
        server.fault = None
        assert service.ingest("sessions", [{"id": "new", "name": "kept"}]).ingested == 1
        store.close()


def test_without_a_model_the_answer_names_the_records_and_cites_them(service: MemorySearchService) -> None:
    result = service.search("postgres vacuum tuning")
    assert "Scaling Postgres" in (result.answer or "")
    assert [(cited.table, cited.id) for cited in result.citations] == [("sessions", "s1")]


def test_a_result_says_how_far_it_can_be_trusted(service: MemorySearchService) -> None:
    sure = service.search("vacuum tuning for large databases").evaluation
    weak = service.search("vacuum", plan=plan("people tuning", score_threshold=0.01), max_reflections=0)
    absent = service.search("how to boil eggs").evaluation
    assert sure is not None
    assert weak.evaluation is not None
    assert absent is not None
    assert sure.quality == 1
    assert 0 < (sure.confidence or 0) <= 1
    assert weak.verdict == "weak"
    assert weak.evaluation.quality == 0
    assert (weak.evaluation.confidence or 0) < (sure.confidence or 0)
    assert (absent.quality, absent.confidence) == (1, 0)
    unanswered = service.search("vacuum tuning for large databases", answer=False).evaluation
    assert unanswered is not None
    assert unanswered.quality is None


def test_no_answer_is_made_when_none_is_wanted(service: MemorySearchService) -> None:
    result = service.search("postgres vacuum tuning", answer=False)
    assert (result.answer, result.citations) == (None, [])


def test_what_is_not_there_is_said_to_be_not_there(service: MemorySearchService) -> None:
    result = service.search("zeppelin maintenance")
    assert result.verdict == "not_found"
    assert result.hits == {}
    assert result.citations == []
    assert "zeppelin maintenance" in (result.answer or "")
    assert "sessions" in (result.answer or "")
    assert {"sessions", "exhibitors"} <= set(result.zero_result_tables)
    assert len(result.attempts) <= 3


def test_a_callers_plan_is_run_as_it_is(service: MemorySearchService) -> None:
    result = service.search("anything", plan=plan(limit=1, score_threshold=0.3, filters={"track": "data"}))
    [query] = result.attempts[0].queries
    assert (query.table, query.search_mode, query.limit, query.score_threshold) == ("sessions", "master", 1, 0.3)
    assert (query.query_text, query.filters, query.hits, query.error) == (
        "postgres vacuum tuning",
        {"track": "data"},
        1,
        None,
    )
    assert query.ms >= 0
    assert [planned.model_dump() for planned in result.original_plan] == [
        {
            "table": "sessions",
            "search_mode": "master",
            "query_text": "postgres vacuum tuning",
            "limit": 1,
            "score_threshold": 0.3,
            "filters": {"track": "data"},
        }
    ]


def test_master_scores_are_between_zero_and_one_and_order_the_hits(service: MemorySearchService) -> None:
    result = service.search("q", plan=plan("language models postgres python", score_threshold=0.0))
    scores = [hit.score for hit in result.hits["sessions"]]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


def test_faceted_scores_follow_the_formula_from_the_facets_shown(service: MemorySearchService) -> None:
    faceted = [{"table": "sessions", "search_mode": "faceted", "query_text": "database administrators tuning"}]
    [hit] = service.search("q", plan=faceted).hits["sessions"]
    matched = {facet.key: facet.score for facet in hit.facets}
    assert set(matched) == {"session_topic", "target_audience"}
    assert hit.score == pytest.approx(composite(matched, CONFERENCE["sessions"]["facets"]), abs=1e-4)  # type: ignore[arg-type]
    assert matched["target_audience"] == pytest.approx(2 / math.sqrt(2 * 3), abs=1e-3)


def test_a_faceted_plan_on_a_table_without_facets_searches_whole_records(empty: MemorySearchService) -> None:
    empty.ingest("sessions", [{"id": "plain", "name": "Postgres vacuum"}])
    result = empty.search("q", plan=[{"table": "sessions", "search_mode": "faceted", "query_text": "postgres vacuum"}])
    assert ids(result) == ["plain"]
    assert result.attempts[0].queries[0].search_mode == "master"


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"track": "data"}, ["s1"]),
        ({"track": ["data", "web"]}, ["s1", "s2"]),
        ({"seats": {"gte": 100}}, ["s1", "s3"]),
        ({"seats": {"gt": 50, "lt": 200}}, ["s1"]),
        ({"start": {"gte": "2026-05-02"}}, ["s2", "s3"]),
        ({"track": "data", "seats": 100}, ["s1"]),
    ],
)
def test_hits_of_the_first_attempt_are_within_the_filters(
    service: MemorySearchService, filters: Any, expected: list[str]
) -> None:
    everything = plan("postgres python language models", score_threshold=0.0)
    assert sorted(ids(service.search("q", plan=everything, filters=filters))) == expected
    inside = plan("postgres python language models", score_threshold=0.0, filters=filters)
    assert sorted(ids(service.search("q", plan=inside))) == expected


def test_top_level_filters_join_each_querys_own(service: MemorySearchService) -> None:
    own = plan("postgres python language models", score_threshold=0.0, filters={"seats": {"gte": 100}})
    result = service.search("q", plan=own, filters={"start": {"gte": "2026-05-02"}})
    assert ids(result) == ["s3"]
    assert result.attempts[0].queries[0].filters == {"start": {"gte": "2026-05-02"}, "seats": {"gte": 100}}


def test_two_filters_on_one_field_both_hold(service: MemorySearchService) -> None:
    own = plan("postgres python language models", score_threshold=0.0, filters={"seats": {"gte": 60}})
    result = service.search("q", plan=own, filters={"seats": {"lte": 150}})
    assert ids(result) == ["s1"]


def test_filters_choose_the_tables_that_have_their_fields(service: MemorySearchService) -> None:
    result = service.search("deploy models consulting", filters={"hall": "A"})
    assert ids(result, "exhibitors") == ["e1"]
    assert {query.table for query in result.attempts[0].queries} == {"exhibitors"}


def test_a_filter_that_kept_everything_out_is_named_and_relaxed(service: MemorySearchService) -> None:
    result = service.search(
        "postgres vacuum tuning",
        tables=["sessions"],
        filters={"track": "web", "seats": {"gte": 10}},
        relax_filters=True,
    )
    assert ids(result) == ["s1"]
    assert result.hits["sessions"][0].label == "relaxed"
    assert [done.strategy for done in result.attempts] == ["initial", "mechanical"]
    assert result.attempts[1].queries[0].filters == {"seats": {"gte": 10}}
    assert {(why.constraint, why.hits_without) for why in result.why_empty} == {
        ("track", 1),
        ("seats", 0),
        ("score_threshold", 1),
    }
    assert result.thinking[0].retry_count == 1
    assert result.zero_result_tables == []


def test_a_callers_filters_hold_unless_relaxing_is_asked_for(service: MemorySearchService) -> None:
    """Neither the threshold, nor another mode, nor another table finds what is outside of them."""
    for filters in ({"track": "web"}, {"track": "no such track"}, {"track": "web", "seats": 200}):
        result = service.search("postgres vacuum tuning", filters=filters)
        assert all(hit.fields["track"] == filters["track"] for hits in result.hits.values() for hit in hits)
        assert "s1" not in ids(result)
        assert all(query.filters == filters for attempt in result.attempts for query in attempt.queries)
    planned = service.search("q", plan=plan("postgres vacuum tuning", filters={"track": "no such track"}))
    assert (planned.verdict, ids(planned)) == ("not_found", [])
    assert ("track", 1) in {(why.constraint, why.hits_without) for why in planned.why_empty}


def test_what_was_relaxed_is_said(service: MemorySearchService) -> None:
    held = MemoryContext()
    service.search(
        "postgres vacuum tuning", job=held, tables=["sessions"], filters={"track": "web"}, relax_filters=True
    )
    assert [text for text in held.report.warnings if "relaxed" in text] == [
        "In table sessions the filters on track were relaxed to find anything."
    ]


def test_two_filters_that_only_together_keep_everything_out_are_relaxed(service: MemorySearchService) -> None:
    filters = {"track": "web", "seats": 200}
    result = service.search("postgres vacuum tuning", tables=["sessions"], filters=filters, relax_filters=True)
    assert ids(result) == ["s1"]
    assert result.hits["sessions"][0].label == "relaxed"
    assert all(why.hits_without == 0 for why in result.why_empty)


def test_a_callers_threshold_is_obeyed_even_below_the_calibrated_one(service: MemorySearchService) -> None:
    low = service.search("q", plan=plan("postgres gardening whales", score_threshold=0.01))
    assert ids(low) == ["s1"]
    assert low.attempts[0].queries[0].score_threshold == 0.01
    assert low.verdict == "weak"
    assert low.hits["sessions"][0].weak
    assert len(low.attempts) == 1


def test_a_threshold_that_kept_everything_out_is_relaxed_and_named(service: MemorySearchService) -> None:
    result = service.search("q", plan=plan(score_threshold=0.99))
    assert ids(result) == ["s1"]
    assert result.hits["sessions"][0].label == "relaxed"
    before, after = (done.queries[0] for done in result.attempts)
    assert after.score_threshold is not None
    assert before.score_threshold == 0.99 > after.score_threshold >= 0.15
    assert after.limit == 2 * before.limit
    assert [(why.constraint, why.hits_without) for why in result.why_empty] == [("score_threshold", 3)]


def test_the_threshold_cuts_keyword_hits_too(service: MemorySearchService) -> None:
    """The word is there, but the record is about something else."""
    strict = plan("postgres whales gardens mountains rivers songs", score_threshold=0.5)
    result = service.search("q", plan=strict, max_reflections=0)
    assert result.hits == {}


@pytest.mark.slow
def test_hits_without_ignores_the_limit(empty: MemorySearchService) -> None:
    many = [{"id": f"m{n}", "name": "Postgres vacuum tuning", "fields": {"track": "data"}} for n in range(40)]
    empty.ingest("sessions", many)
    result = empty.search("q", plan=plan(limit=3, filters={"track": "none"}))
    assert {(why.constraint, why.hits_without) for why in result.why_empty} == {("track", 40), ("score_threshold", 0)}


def test_no_second_try_when_none_is_allowed(service: MemorySearchService) -> None:
    result = service.search("postgres vacuum tuning", tables=["sessions"], filters={"track": "none"}, max_reflections=0)
    assert result.verdict == "not_found"
    assert len(result.attempts) == 1
    assert result.thinking == []
    assert result.zero_result_tables == ["sessions"]
    assert {why.constraint for why in result.why_empty} == {"track", "score_threshold"}


def test_reflection_off_still_relaxes_by_hand(service: MemorySearchService) -> None:
    job = MemoryContext()
    job.llm.scripts["search.reflect"] = "never asked"
    result = service.search("q", job=job, plan=plan(score_threshold=0.99), reflection=False)
    assert ids(result) == ["s1"]
    assert job.llm.asked("search.reflect") == 0


def test_a_limit_is_kept(empty: MemorySearchService) -> None:
    empty.ingest("sessions", [{"id": f"m{n}", "name": f"Postgres vacuum tuning {n}"} for n in range(30)])
    assert len(empty.search("postgres vacuum tuning", limit=7).hits["sessions"]) == 7
    assert len(empty.search("q", plan=plan(limit=20)).hits["sessions"]) == 20


def test_two_queries_of_one_table_give_each_record_once(service: MemorySearchService) -> None:
    both = [*plan("postgres vacuum tuning"), *plan("scaling postgres databases")]
    assert ids(service.search("q", plan=both)) == ["s1"]


def test_a_profile_searches_the_facets_that_answer_it(empty: MemorySearchService) -> None:
    empty.ingest(
        "people",
        [
            {"id": "p1", "name": "Ada", "facets": {"selling_intent": "database consulting services for banks"}},
            {"id": "p2", "name": "Bob", "facets": {"buying_intent": "database consulting services for banks"}},
            {"id": "p3", "name": "Cy", "facets": {"selling_intent": "garden furniture", "offering": "chief surgeon"}},
        ],
    )
    profile = {"buying_intent": "database consulting services", "seeking": "chief surgeon please"}
    result = empty.search("whom should I meet", tables=["people"], profile=profile)
    assert sorted(ids(result, "people")) == ["p1", "p3"]
    best = next(hit for hit in result.hits["people"] if hit.id == "p1")
    [facet] = best.facets
    assert facet.key == "selling_intent"
    assert best.score == pytest.approx((1 / 2 * 0.4 + facet.score * 0.6) * 10, abs=1e-3)


def test_what_a_profile_would_find_is_counted_by_the_profile(empty: MemorySearchService) -> None:
    facets = {"selling_intent": "database consulting services for banks"}
    empty.ingest("people", [{"id": "p1", "name": "Ada", "facets": facets}, {"id": "p2", "name": "Bob"}])
    wanted = [{"table": "people", "search_mode": "faceted", "query_text": "unheard of", "score_threshold": 0.99}]
    profile = {"buying_intent": "database consulting services"}
    result = empty.search("q", plan=wanted, profile=profile, max_reflections=1)
    assert [(hit.id, hit.label) for hit in result.hits["people"]] == [("p1", "relaxed")]
    assert result.attempts[1].reasoning.startswith("One constraint alone")


def test_a_profile_text_that_is_too_short_is_not_searched(empty: MemorySearchService) -> None:
    empty.ingest("people", [{"id": "p1", "name": "Ada", "facets": {"selling_intent": "databases"}}])
    result = empty.search("zeppelins", tables=["people"], profile={"buying_intent": "databases"}, max_reflections=0)
    assert result.hits == {}


def test_an_empty_table_is_not_an_error(empty: MemorySearchService) -> None:
    result = empty.search("anything at all")
    assert result.verdict == "not_found"
    assert result.hits == {}


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"collection": "nothing"}, UnknownCollection),
        ({"tables": ["nowhere"]}, UnknownTable),
        ({"plan": [{"table": "nowhere", "query_text": "x"}]}, UnknownTable),
        ({"filters": {"colour": "red"}}, UnknownField),
        ({"plan": [{"table": "sessions", "query_text": "x", "filters": {"hall": "A"}}]}, UnknownField),
        ({"tables": ["sessions"], "filters": {"hall": "A"}}, UnknownField),
        ({"filters": {"seats": "many"}}, InvalidRequest),
        ({"filters": {"track": {"gte": "a"}}}, InvalidRequest),
        ({"filters": {"seats": {"above": 1}}}, InvalidRequest),
        ({"filters": {"seats": {}}}, InvalidRequest),
        ({"filters": {"track": []}}, InvalidRequest),
        ({"filters": {"track": {"ne": "web"}}}, InvalidRequest),
        ({"filters": {"or": []}}, InvalidRequest),
        ({"filters": {"or": [{"colour": "red"}]}}, UnknownField),
        ({"filters": {"not": {"colour": "red"}}}, UnknownField),
        ({"tables": ["sessions"], "filters": {"or": [{"hall": "A"}, {"track": "web"}]}}, UnknownField),
        ({"filters": {"start": "tomorrow"}}, InvalidRequest),
        ({"plan": [{"table": "sessions", "query_text": "  "}]}, InvalidRequest),
    ],
)
def test_what_does_not_exist_or_fit_is_a_clear_error(
    service: MemorySearchService, more: Any, error: type[Exception]
) -> None:
    with pytest.raises(error):
        service.search("postgres", **more)


@pytest.mark.parametrize(
    "more",
    [
        {"question": ""},
        {"question": "   "},
        {"question": "x" * 8001},
        {"plan": [{"table": "sessions", "query_text": "x"}] * 21},
        {"plan": [{"table": "sessions", "query_text": "x", "limit": 10**6}]},
        {"plan": [{"table": "sessions", "query_text": "x", "limit": 0}]},
        {"plan": [{"table": "sessions", "query_text": "x", "score_threshold": math.nan}]},
        {"plan": [{"table": "sessions", "query_text": "x", "score_threshold": 1.5}]},
        {"plan": [{"table": "sessions", "query_text": "x", "search_mode": "magic"}]},
        {"limit": 101},
        {"max_reflections": 3},
        {"surprise": 1},
    ],
)
def test_what_the_contract_refuses_never_becomes_a_job(service: MemorySearchService, more: Any) -> None:
    with pytest.raises(ValidationError):
        service.search(**{"question": "q", **more})


def test_another_tenants_collection_is_unknown(service: MemorySearchService) -> None:
    with pytest.raises(UnknownCollection):
        service.search("postgres", job=MemoryContext(tenant="other"))


def test_without_an_embedding_model_keywords_are_searched_and_that_is_said(words_only: MemorySearchService) -> None:
    job = MemoryContext()
    result = words_only.search("tuning postgres vacuums", job=job)
    assert (result.verdict, ids(result)) == ("found", ["s1"])
    [hit] = result.hits["sessions"]
    assert hit.similarity is None
    assert 0 < hit.score < 1
    assert result.attempts[0].queries[0].score_threshold is None
    assert any("keywords only" in warning for warning in job.report.warnings)
    weak = words_only.search("postgres whales mountains gardens")
    assert weak.verdict == "weak"
    assert words_only.search("zeppelins").verdict == "not_found"


def test_questions_of_every_script_are_searched(service: MemorySearchService) -> None:
    for question in ("数据库", "🙂", "؟", "the of and", "a'; DROP TABLE", "{{ config }}", "x" * 8000):
        assert service.search(question).verdict in ("found", "weak", "not_found")


def test_the_embedded_question_is_the_one_that_was_asked(service: MemorySearchService) -> None:
    model = service.models.embedder
    assert isinstance(model, HashedWords)
    before = model.embedded
    service.search("a question asked twice")
    once = model.embedded - before
    service.search("a question asked twice")
    assert model.embedded - before == once


class _Illiterate(HashedWords):
    """Knows no word that holds a sign beyond ASCII."""

    def query(self, text: str) -> Vectors | None:  # type: ignore[override]
        return super().query(text) if text.isascii() else None


def test_a_question_that_the_model_cannot_read_is_searched_by_its_words(empty: MemorySearchService) -> None:
    empty.models.embedder = _Illiterate()
    empty.ingest("sessions", [{"id": "hi", "name": "डेटाबेस ट्यूनिंग"}, {"id": "party", "name": "Party 🎉"}])
    result = empty.search("डेटाबेस", tables=["sessions"])
    assert (result.verdict, ids(result)) == ("found", ["hi"])
    assert result.hits["sessions"][0].similarity is None
    assert result.attempts[0].queries[0].score_threshold is None
    assert empty.search("🦄", tables=["sessions"]).verdict == "not_found"


_LONG = " ".join(f"{first}{second}tation" for first in "bcdfghjklmnpqrst" for second in "aeioumnrls")
PUMP = {"id": "pump", "name": "Hydraulic pump", "text": f"Spare part X-4471B {_LONG}"}
VALVE = {"id": "valve", "name": "Hydraulic valve", "text": "Spare part Y-4472C for the same excavators."}


@pytest.mark.parametrize("code", ["X-4471B", "x4471b", "4471B"])
def test_a_code_is_found_where_it_stands_however_similar_that_is(empty: MemorySearchService, code: str) -> None:
    empty.ingest("sessions", [PUMP, VALVE])
    job = MemoryContext()
    job.llm.scripts["search.reflect"] = "never asked"
    result = empty.search("q", job=job, plan=plan(code))
    assert (result.verdict, ids(result)) == ("found", ["pump"])
    assert (result.hits["sessions"][0].label, len(result.attempts)) == ("exact", 1)
    assert job.llm.asked("search.reflect") == 0


def test_a_code_that_stands_nowhere_is_not_found(empty: MemorySearchService) -> None:
    empty.ingest("sessions", [PUMP, VALVE])
    assert empty.search("X-9999Z", tables=["sessions"]).hits == {}


def test_words_that_all_stand_in_a_record_are_a_weak_match(empty: MemorySearchService) -> None:
    empty.ingest("sessions", [PUMP, VALVE])
    result = empty.search("q", plan=plan("batation cutation"), max_reflections=1)
    assert [(hit.id, hit.weak, hit.label) for hit in result.hits["sessions"]] == [("pump", True, "relaxed")]


def test_a_code_does_not_pass_a_callers_filters_or_threshold(empty: MemorySearchService) -> None:
    empty.ingest("sessions", [{**PUMP, "fields": {"track": "a"}}, {**VALVE, "fields": {"track": "b"}}])
    inside = empty.search("q", plan=plan("X-4471B", filters={"track": "b"}), max_reflections=0)
    assert inside.hits == {}
    strict = empty.search("q", plan=plan("X-4471B", score_threshold=0.9))
    assert strict.hits == {}


class _Synonyms(HashedWords):
    """Takes some words for others."""

    def query(self, text: str) -> Vectors:
        return super().query(text.replace("automobile", "car").replace("mending", "repair"))


def test_near_the_threshold_a_hit_needs_the_words_of_the_question_too(empty: MemorySearchService) -> None:
    empty.models.embedder = _Synonyms()
    empty.ingest("sessions", [{"id": "car", "name": "car repair", "text": " ".join(_LONG.split()[:18])}])
    learned = empty.catalog.known[("c1", "sessions")]
    marks = {**learned.thresholds, "master_floor": 0.15, "master": 0.3}
    empty.catalog.known[("c1", "sessions")] = replace(learned, thresholds=marks)
    literal, synonyms = (empty.search("q", plan=plan(text)) for text in ("car repair", "automobile mending"))
    assert (
        literal.hits["sessions"][0].similarity
        == synonyms.hits["sessions"][0].similarity
        == pytest.approx(0.316, abs=1e-3)
    )
    assert [(result.verdict, len(result.attempts)) for result in (literal, synonyms)] == [("found", 1), ("weak", 1)]


def test_far_above_the_threshold_no_words_are_needed() -> None:
    mark = Threshold(floor=0.2, usual=0.3)
    assert [mark.words_needed(cosine) for cosine in (0.3, 0.35, 0.4, 0.9)] == pytest.approx([0.5, 0.25, 0, 0])
    assert [mark.words_needed(cosine, roomy=True) for cosine in (0.3, 0.375, 0.45)] == pytest.approx([0.5, 0.25, 0])
    assert mark.words_needed(0.29) > 1
    assert Threshold(floor=0.3, usual=0.3).words_needed(0.3) == 0


def test_named_tables_hold_in_every_attempt(empty: MemorySearchService) -> None:
    empty.catalog.create("tenant", "c", {"faq": {}, "salaries": {}})
    empty.ingest("faq", [{"id": "f1", "name": "Lunch", "text": "The canteen opens at noon."}])
    empty.ingest("salaries", [{"id": "s1", "name": "Salary", "text": "The director earns 250000 euros a year."}])
    question = "director earns 250000 euros a year"
    for reflection in (True, False):
        result = empty.search(question, tables=["faq"], reflection=reflection)
        assert "salaries" not in {query.table for attempt in result.attempts for query in attempt.queries}
        assert "salaries" not in result.hits
    assert "salaries" in empty.search(question, tables=["faq"], relax_filters=True).hits
    assert "salaries" in empty.search(question).hits


def test_a_code_is_answered_by_what_holds_it_and_by_nothing_else(empty: MemorySearchService) -> None:
    def pads(number: int) -> dict[str, Any]:
        text = f"Cross references: {300000 + 7 * number}D{number % 10}, pads for passenger cars, with wear sensor."
        return {"id": f"f{number}", "name": f"Brake pad set {number}", "text": text}

    empty.catalog.create("tenant", "c", {"parts": {}})
    own = {"id": "sku1", "name": "Disc", "text": "Article 311992D3, ISBN 978-952-51-5799-1, mail jane@parts.example"}
    empty.ingest("parts", [*map(pads, range(60)), own])
    for question in ("311992D3", "sku 311992d3", "ISBN 9789525157991", "who is jane@parts.example?"):
        result = empty.search(question)
        assert result.verdict == "found", question
        assert (result.hits["parts"][0].id, result.hits["parts"][0].weak) == ("sku1", False), question
        assert all(hit.weak for hit in result.hits["parts"][1:]), question
    for question in ("311992D4", "ISBN 9789525157992", "brake pad set 300000D9", "mail john@parts.example"):
        assert empty.search(question).verdict != "found", question
