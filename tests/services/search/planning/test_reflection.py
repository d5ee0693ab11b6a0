"""Reflect and replan, with a scripted model: what it may do, and the defects of its forerunner that are absent here."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from pydantic import JsonValue

from services.search.search import Search
from services.search.store.open import open_local
from services.search.store.port import Bucket, NearestQuery
from shared.contracts.search import SearchInput, SearchResult
from shared.errors import JobCancelled, NoProviderConfigured, ProvidersFailed, SearchStoreUnavailable
from shared.llm.chat import ChatMessage, ChatReply, ChatRequest, Finish
from shared.loop import Budget
from tests.services.search.service import MemorySearchService
from tests.support.context import MemoryContext, ScriptedProvider


def query(text: str, table: str = "sessions", mode: str = "master", limit: int = 10, **more: Any) -> dict[str, Any]:
    return {"table": table, "search_mode": mode, "query_text": text, "limit": limit, **more}


def reflection(strategy: str, *queries: dict[str, Any], **more: Any) -> str:
    reply = {"reasoning": "because", "strategy": strategy, "user_message": "Let me look elsewhere.", **more}
    return json.dumps({**reply, "new_queries": list(queries)})


def job(**scripts: Any) -> MemoryContext:
    """A job whose model answers by role: ``plan``, ``reflect``, ``answer``."""
    return MemoryContext(llm=ScriptedProvider({f"search.{role}": script for role, script in scripts.items()}))


def ids(result: SearchResult, table: str = "sessions") -> list[str]:
    return [hit.id for hit in result.hits.get(table, [])]


def strategies(result: SearchResult) -> list[str]:
    return [done.strategy for done in result.attempts]


REWRITE = reflection("rewrite", query("postgres vacuum tuning"))
PIVOT = reflection("pivot", query("deploy models consulting", "exhibitors"))


def test_a_rewrite_finds_what_other_words_did_not(service: MemorySearchService) -> None:
    held = job(reflect=REWRITE)
    result = service.search("q", job=held, plan=[query("elephant housekeeping")])
    assert (result.verdict, strategies(result), ids(result)) == ("found", ["initial", "rewrite"], ["s1"])
    assert result.hits["sessions"][0].label == "rewritten"
    assert result.attempts[1].reasoning == "because"
    assert result.attempts[1].user_message == "Let me look elsewhere."
    [thought] = result.thinking
    assert (thought.message, thought.strategy, thought.retry_count) == ("Let me look elsewhere.", "rewrite", 1)
    assert result.zero_result_tables == []
    [event] = held.report.of("thinking")
    assert (event["message"], event["strategy"], event["retry_count"]) == ("Let me look elsewhere.", "rewrite", 1)
    assert "ts" in event


def test_a_pivot_finds_it_in_another_table_and_the_first_is_still_reported(service: MemorySearchService) -> None:
    result = service.search("q", job=job(reflect=PIVOT), plan=[query("elephant housekeeping")])
    assert strategies(result) == ["initial", "pivot"]
    assert ids(result, "exhibitors") == ["e1"]
    assert result.hits["exhibitors"][0].label == "pivoted"
    assert result.zero_result_tables == ["sessions"]
    assert len(result.thinking) == 1


def test_relaxing_keeps_the_words_lowers_the_threshold_to_the_floor_and_doubles_the_limit(
    service: MemorySearchService,
) -> None:
    told = reflection("relax", query("something else entirely", limit=1))
    text = "postgres vacuum gardens mountains rivers songs whales clouds"
    result = service.search("q", job=job(reflect=told), plan=[query(text)])
    assert strategies(result) == ["initial", "relax"]
    before, after = (done.queries[0] for done in result.attempts)
    assert (after.query_text, after.limit) == (text, 20)
    assert after.score_threshold is not None
    assert before.score_threshold is not None
    floor = service.catalog.known[("c1", "sessions")].thresholds["master_floor"]
    assert after.score_threshold == pytest.approx(floor, abs=1e-4)
    assert after.score_threshold < before.score_threshold


def test_two_reflections_and_no_more(service: MemorySearchService) -> None:
    held = job(reflect=[reflection("rewrite", query("zeppelins one")), reflection("rewrite", query("zeppelins two"))])
    result = service.search("q", job=held, plan=[query("zeppelins zero")])
    assert strategies(result) == ["initial", "rewrite", "rewrite"]
    assert [thought.retry_count for thought in result.thinking] == [1, 2]
    assert result.verdict == "not_found"
    assert held.llm.asked("search.reflect") == 2


def test_one_reflection_when_one_is_allowed(service: MemorySearchService) -> None:
    held = job(reflect=reflection("rewrite", query("zeppelins one")))
    result = service.search("q", job=held, plan=[query("zeppelins")], max_reflections=1)
    assert strategies(result) == ["initial", "rewrite"]


def test_no_model_is_asked_about_a_question_that_was_answered(service: MemorySearchService) -> None:
    held = job(reflect=REWRITE)
    result = service.search("q", job=held, plan=[query("postgres vacuum tuning")], answer=False)
    assert result.verdict == "found"
    assert held.llm.requests == []


def test_reflection_off_asks_no_model(service: MemorySearchService) -> None:
    held = job(reflect=REWRITE)
    service.search("q", job=held, plan=[query("elephant housekeeping")], reflection=False)
    assert held.llm.asked("search.reflect") == 0


def test_one_constraint_that_alone_caused_it_is_relaxed_without_a_model(service: MemorySearchService) -> None:
    held = job(reflect=REWRITE)
    result = service.search(
        "q", job=held, relax_filters=True, plan=[query("postgres vacuum tuning", filters={"track": "web"})]
    )
    assert (strategies(result), ids(result)) == (["initial", "mechanical"], ["s1"])
    result = service.search("q", job=held, plan=[query("postgres vacuum tuning", score_threshold=0.9)])
    assert (strategies(result), ids(result)) == (["initial", "mechanical"], ["s1"])
    assert held.llm.asked("search.reflect") == 0


def test_no_model_is_asked_when_no_record_is_within_the_callers_filters(service: MemorySearchService) -> None:
    held = job(reflect=REWRITE)
    result = service.search("q", job=held, plan=[query("postgres vacuum tuning", filters={"track": "nosuch"})])
    assert (result.verdict, held.llm.asked("search.reflect")) == ("not_found", 0)


def test_a_models_new_plan_stays_within_the_callers_filters(service: MemorySearchService) -> None:
    held = job(reflect=reflection("pivot", query("deploy models consulting", "exhibitors")))
    result = service.search("elephants", job=held, tables=["sessions"], filters={"track": "web"})
    assert all(each.filters == {"track": "web"} for attempt in result.attempts for each in attempt.queries)


def test_the_model_is_given_history_evidence_and_what_was_tried(service: MemorySearchService) -> None:
    held = job(reflect=[reflection("rewrite", query("zeppelins one")), reflection("rewrite", query("zeppelins two"))])
    service.search("where are my zeppelins", job=held, plan=[query("zeppelins zero"), query("postgres vacuum tuning")])
    # The table has hits by its other query, so nothing was empty.
    assert held.llm.requests == []
    service.search("where are my zeppelins", job=held, plan=[query("zeppelins zero"), query("deploy", "exhibitors")])
    first, second = [json.loads(request.messages[1].content) for request in held.llm.requests][:2]
    assert first["user_message"] == "where are my zeppelins"
    assert first["planned_queries"][0]["query_text"] == "zeppelins zero"
    assert first["results_summary"]["sessions"] == "0 results"
    assert "sessions" in first["zero_result_tables"]
    assert (first["retry_count"], second["retry_count"]) == (0, 1)
    assert first["evidence"][0]["results_without"]["score_threshold"] == 3
    assert len(first["evidence"][0]["closest_records"]) == 3
    assert [tried["strategy"] for tried in second["attempts"]] == ["initial", "rewrite"]
    request = held.llm.requests[0]
    assert request.schema is not None
    assert request.prompt is not None
    assert (request.role, request.prompt.key) == ("search.reflect", "search.reflect")
    assert "session_topic" in request.messages[0].content


# The thirteen defects.


def test_1_thresholds_reach_the_search(service: MemorySearchService) -> None:
    text = "postgres vacuum tuning python models"
    everything = service.search("q", plan=[query(text, score_threshold=0.0)])
    strict = service.search("q", plan=[query(text, score_threshold=0.3)])
    assert (len(ids(everything)), ids(strict)) == (3, ["s1"])


def test_2_a_second_attempt_adds_to_what_was_found(service: MemorySearchService) -> None:
    first = [query("postgres vacuum tuning"), query("elephant housekeeping", "exhibitors")]
    held = job(reflect=reflection("rewrite", query("deploy models consulting", "exhibitors")))
    result = service.search("q", job=held, plan=first)
    assert (ids(result), ids(result, "exhibitors")) == (["s1"], ["e1"])
    assert result.hits["sessions"][0].label == "exact"
    assert result.hits["sessions"][0].attempt == 1
    assert result.hits["exhibitors"][0].attempt == 2
    assert [executed.table for executed in result.attempts[1].queries] == ["exhibitors"]


def test_3_the_original_plan_is_kept_and_tables_with_results_are_left_alone(service: MemorySearchService) -> None:
    first = [query("postgres vacuum tuning"), query("elephants", "exhibitors", filters={"hall": "A"})]
    told = reflection("relax", query("postgres vacuum tuning"), query("elephants", "exhibitors"))
    result = service.search("q", job=job(reflect=told), plan=first)
    kept = [planned.model_dump() for planned in result.original_plan]
    assert kept == [{"score_threshold": None, "filters": {}, **planned} for planned in first]
    assert all(executed.table == "exhibitors" for done in result.attempts[1:] for executed in done.queries)


def test_4_thresholds_never_rise_and_limits_never_fall(service: MemorySearchService) -> None:
    told = reflection("relax", query("x"))
    held = job(reflect=told)
    low = service.search("q", job=held, plan=[query("zeppelins", limit=80, score_threshold=0.05)])
    mine = [executed for done in low.attempts for executed in done.queries if executed.table == "sessions"]
    thresholds = [executed.score_threshold for executed in mine]
    limits = [executed.limit for executed in mine]
    assert thresholds == sorted(thresholds, reverse=True)  # type: ignore[type-var]
    assert limits == sorted(limits)
    assert max(limits) <= 100


def test_5_what_is_relaxed_by_hand_is_relaxed_once(service: MemorySearchService) -> None:
    """A broken model and no model do the same."""
    plan = [query("elephants", limit=5)]
    by_hand = service.search("q", plan=plan)
    broken = service.search("q", job=job(reflect="no json"), plan=plan)
    shown = [
        [(done.strategy, executed.score_threshold, executed.limit) for executed in done.queries]
        for done in by_hand.attempts
    ]
    assert shown == [
        [(done.strategy, executed.score_threshold, executed.limit) for executed in done.queries]
        for done in broken.attempts
    ]
    assert shown[1][0][2] == 10


@pytest.mark.parametrize(
    "reply",
    [
        reflection("rewrite", query("x", "nowhere")),
        reflection("rewrite", query("")),
        reflection("rewrite"),
        reflection("magic", query("x", "nowhere")),
        "[]",
        "{}",
        '{"new_queries": "all"}',
        '{"new_queries": [null, 5, "x"]}',
        '{"new_queries": [{"table": 5, "query_text": {}}]}',
        "{" * 5000,
        "",
        "I am sorry, I cannot do that.",
        '{"strategy": "rewrite", "new_queries": [{"table": "sessions", "limit": NaN}]}',
    ],
)
def test_6_whatever_a_model_says_the_search_goes_on_by_hand(service: MemorySearchService, reply: str) -> None:
    result = service.search("q", job=job(reflect=reply), plan=[query("elephant housekeeping")])
    assert result.verdict in ("not_found", "weak")
    assert set(strategies(result)[1:]) <= {"mechanical", "relax"}
    assert all(thought.message for thought in result.thinking)


def test_6_numbers_and_modes_of_a_model_are_clamped(service: MemorySearchService) -> None:
    told = reflection("rewrite", query("postgres vacuum tuning", limit=10**6, mode="quantum", score_threshold=0.0))
    result = service.search("q", job=job(reflect=told), plan=[query("elephant housekeeping")])
    [executed] = result.attempts[1].queries
    assert (executed.limit, executed.search_mode) == (100, "master")
    assert executed.score_threshold is not None
    assert executed.score_threshold > 0.15


def test_6_dozens_of_queries_are_cut_with_a_warning(service: MemorySearchService) -> None:
    held = job(reflect=reflection("rewrite", *[query(f"zeppelins {number}") for number in range(60)]))
    result = service.search("q", job=held, plan=[query("elephants")], max_reflections=1)
    assert len(result.attempts[1].queries) == 20
    assert any("60 queries" in warning for warning in held.report.warnings)


@pytest.mark.parametrize("role", ["plan", "reflect"])
def test_6_an_unknown_table_is_named_in_a_warning_even_when_nothing_else_was_planned(
    service: MemorySearchService, role: str
) -> None:
    scripts = {"plan": json.dumps({"queries": [query("x", "nowhere")]}), "reflect": PIVOT.replace("exhibitors", "nope")}
    held = job(**{role: scripts[role]})
    service.search("elephants", job=held, plan=None if role == "plan" else [query("elephants")])
    assert any("table that the collection does not have" in warning for warning in held.report.warnings)


@pytest.mark.parametrize("message", ["I lowered the score threshold.", "see https://evil.test", "x" * 5000, "", 5])
def test_6_a_message_that_is_not_fit_for_a_person_is_replaced(service: MemorySearchService, message: Any) -> None:
    told = reflection("rewrite", query("postgres vacuum tuning"), user_message=message)
    result = service.search("q", job=job(reflect=told), plan=[query("elephant housekeeping")])
    assert result.thinking[0].message == "Let me try that in other words..."


def test_6_no_raw_error_text_reaches_anybody(service: MemorySearchService) -> None:
    def fails(request: ChatRequest) -> str:
        raise ProvidersFailed("secret-host refused key sk-123")

    held = job(reflect=fails, answer=fails)
    result = service.search("q", job=held, plan=[query("elephant housekeeping")])
    told = result.model_dump_json() + json.dumps(held.report.events) + json.dumps(held.report.warnings)
    assert "sk-123" not in told
    assert "secret-host" not in told


def test_6_the_warnings_say_that_there_was_no_model_and_why(service: MemorySearchService) -> None:
    def unconfigured(request: ChatRequest) -> str:
        raise NoProviderConfigured("none")

    def hangs(request: ChatRequest) -> str:
        attempt: JsonValue = {"provider": "p", "model": "m", "outcome": "timed_out", "seconds": 2.5, "detail": "sk-1"}
        raise ProvidersFailed("No model provider answered. sk-1", attempts=[attempt])

    held = job(reflect=unconfigured, answer=unconfigured)
    service.search("q", job=held, plan=[query("elephant housekeeping")])
    assert held.report.warnings == ["No model provider is configured: the search continued without a model."]
    held = job(reflect=hangs, answer=hangs)
    service.search("q", job=held, plan=[query("elephant housekeeping")])
    warning, *_ = held.report.warnings
    assert warning.endswith("the search continued without one. Called: p (m): timed_out after 2.5 s.")


def test_7_roles_and_prompts_go_by_the_same_key(service: MemorySearchService) -> None:
    held = job(
        plan=json.dumps({"queries": [query("elephants")]}),
        reflect=REWRITE,
        answer=json.dumps({"answer": "See Scaling Postgres.", "citations": []}),
    )
    service.search("q", job=held)
    assert [request.role for request in held.llm.requests] == ["search.plan", "search.reflect", "search.answer"]
    assert all(request.prompt and request.prompt.key == request.role for request in held.llm.requests)


def test_8_a_table_that_held_nothing_is_reported_after_every_pivot(service: MemorySearchService) -> None:
    there_and_back = [
        PIVOT.replace("deploy models consulting", "zeppelins"),
        reflection("pivot", query("x y", "people")),
    ]
    result = service.search("q", job=job(reflect=there_and_back), plan=[query("elephant housekeeping")])
    assert result.zero_result_tables == ["sessions", "exhibitors", "people"]
    assert [why.table for why in result.why_empty] == result.zero_result_tables


class _Failing:
    """A store in which the searches of one table fail."""

    def __init__(self, service: MemorySearchService, table: str) -> None:
        self._store = service.store
        self._table = table

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def search(self, bucket: Bucket, searches: list[NearestQuery]) -> Any:
        if bucket.table in (self._table, None) or self._table == "*":
            raise SearchStoreUnavailable("down")
        return self._store.search(bucket, searches)


@pytest.fixture
def broken(service: MemorySearchService) -> Any:
    store = service.library.store

    def break_table(table: str) -> None:
        service.library.store = _Failing(service, table)  # type: ignore[assignment]

    yield break_table
    service.library.store = store


def test_9_an_outage_is_never_taken_for_emptiness(service: MemorySearchService, broken: Callable[[str], None]) -> None:
    broken("*")
    held = job(reflect=REWRITE)
    with pytest.raises(SearchStoreUnavailable, match="nothing is known"):
        service.search("q", job=held, plan=[query("postgres vacuum tuning")])
    assert held.llm.requests == []


def test_9_a_table_that_failed_is_named_and_the_others_answer(
    service: MemorySearchService, broken: Callable[[str], None]
) -> None:
    broken("exhibitors")
    held = job(reflect=REWRITE)
    result = service.search("q", job=held, plan=[query("postgres vacuum tuning"), query("deploy", "exhibitors")])
    assert ids(result) == ["s1"]
    failed = result.attempts[0].queries[1]
    assert (failed.error, failed.hits) == ("search_store_unavailable", 0)
    assert result.zero_result_tables == []
    assert any("exhibitors" in warning for warning in held.report.warnings)
    assert held.llm.asked("search.reflect") == 0


def test_9_an_outage_beside_an_empty_table_is_no_finding_either(
    service: MemorySearchService, broken: Callable[[str], None]
) -> None:
    broken("exhibitors")
    with pytest.raises(SearchStoreUnavailable):
        service.search("q", plan=[query("elephants"), query("deploy", "exhibitors")])


def test_10_earlier_messages_reach_the_plan(service: MemorySearchService) -> None:
    held = job(plan=json.dumps({"queries": [query("postgres vacuum tuning")]}))
    held.history = [ChatMessage("user", f"message {number}") for number in range(8)]
    service.search("and the second one?", job=held)
    told = json.loads(held.llm.requests[0].messages[1].content)
    assert [message["content"] for message in told["history"]] == [f"message {number}" for number in range(3, 8)]


def test_10_a_repeat_is_refused(service: MemorySearchService) -> None:
    held = job(reflect=reflection("rewrite", query("  Elephant   HOUSEKEEPING ", limit=50)))
    result = service.search("q", job=held, plan=[query("elephant housekeeping")])
    identities = [
        (executed.table, executed.search_mode, executed.query_text.lower().split(), executed.score_threshold)
        for done in result.attempts
        for executed in done.queries
    ]
    assert len(identities) == len({str(identity) for identity in identities})
    assert "rewrite" not in strategies(result)


def test_11_no_model_id_stands_in_the_code(service: MemorySearchService) -> None:
    held = job(reflect=REWRITE)
    service.search("q", job=held, plan=[query("elephant housekeeping")])
    [request, *_] = held.llm.requests
    assert (request.provider, request.model, request.parameters) == (None, None, None)


def test_12_progress_is_told_at_every_visit(service: MemorySearchService) -> None:
    held = job(reflect=[reflection("rewrite", query("zeppelins one")), reflection("rewrite", query("zeppelins two"))])
    service.search("q", job=held, plan=[query("zeppelins zero")])
    nodes = [step["node"] for step in held.report.of("progress")]
    assert nodes == [
        "plan_queries",
        "execute_queries",
        "check_results",
        "reflect_and_replan",
        "execute_queries",
        "check_results",
        "reflect_and_replan",
        "execute_queries",
        "check_results",
        "generate_response",
    ]


def test_13_no_model_is_asked_that_could_not_answer_in_time(service: MemorySearchService) -> None:
    held = job(plan="never", reflect=REWRITE, answer="never")
    held.budget = Budget(seconds=1.0)
    nobody_was_asked_yet = Search(service.library)
    wanted = SearchInput(collection="c", question="postgres vacuum tuning")
    result = nobody_was_asked_yet(held.context("search"), wanted)
    assert held.llm.requests == []
    assert (result.verdict, ids(result)) == ("found", ["s1"])
    assert any("too short" in warning for warning in held.report.warnings)


def test_13_a_models_deadline_leaves_time_for_the_search(service: MemorySearchService) -> None:
    held = job(reflect=REWRITE)
    held.budget = Budget(seconds=20)
    service.search("q", job=held, plan=[query("elephant housekeeping")])
    [request, *_] = held.llm.requests
    assert request.deadline is not None
    assert held.budget.deadline is not None
    assert request.deadline < held.budget.deadline - 1


# The rest of the contract.


def test_a_dead_model_is_asked_once(service: MemorySearchService) -> None:
    asked: list[str] = []

    def dead(request: ChatRequest) -> str:
        asked.append(request.role)
        raise ProvidersFailed("all of them")

    result = service.search("postgres vacuum tuning", job=job(plan=dead, reflect=dead, answer=dead))
    assert asked == ["search.plan"]
    assert (result.verdict, ids(result)) == ("found", ["s1"])
    assert result.answer


def test_spent_turns_end_the_asking_not_the_search(service: MemorySearchService) -> None:
    held = job(reflect=REWRITE, plan="never")
    held.budget = Budget(turns=0)
    result = service.search("postgres vacuum tuning", job=held)
    assert result.verdict == "found"
    assert held.llm.requests == []


def test_a_refusal_is_no_answer(service: MemorySearchService) -> None:
    class Refusing(ScriptedProvider):
        def complete(self, request: ChatRequest) -> ChatReply:
            return replace(super().complete(request), finish=Finish.REFUSAL)

    held = MemoryContext(llm=Refusing({"search.reflect": REWRITE}))
    result = service.search("q", job=held, plan=[query("elephant housekeeping")])
    assert "rewrite" not in strategies(result)


@pytest.mark.parametrize(
    "wrap", ["```json\n{}\n```", "Sure!\n{}\nHope that helps.", "{}", "<thinking>{{}}</thinking>{}"]
)
def test_fences_and_prose_around_an_answer_are_forgiven(service: MemorySearchService, wrap: str) -> None:
    reply = wrap.replace("{}", REWRITE) if "{{}}" not in wrap else REWRITE
    result = service.search("q", job=job(reflect=reply), plan=[query("elephant housekeeping")])
    assert ids(result) == ["s1"]


def test_a_models_plan_is_run(service: MemorySearchService) -> None:
    plan = {"queries": [query("postgres vacuum tuning", filters={"track": "data"}, limit=3)]}
    result = service.search("tell me about databases", job=job(plan=json.dumps(plan)))
    [executed] = result.attempts[0].queries
    assert (executed.query_text, executed.filters, executed.limit) == ("postgres vacuum tuning", {"track": "data"}, 3)
    assert ids(result) == ["s1"]


@pytest.mark.parametrize(
    "reply", ["nothing", '{"queries": []}', '{"queries": [{"table": "nowhere", "query_text": "x"}]}']
)
def test_without_a_usable_plan_the_question_itself_is_searched(service: MemorySearchService, reply: str) -> None:
    result = service.search("postgres vacuum tuning", job=job(plan=reply))
    assert result.attempts[0].queries[0].query_text == "postgres vacuum tuning"
    assert ids(result) == ["s1"]


def test_too_much_of_a_models_plan_is_ignored_with_a_warning(service: MemorySearchService) -> None:
    many = [query(f"postgres vacuum tuning {number}", limit=1000) for number in range(30)]
    held = job(plan=json.dumps({"queries": many}))
    result = service.search("q", job=held)
    assert len(result.attempts[0].queries) == 20
    assert {executed.limit for executed in result.attempts[0].queries} == {100}
    assert len(held.report.warnings) >= 2


def test_a_callers_filters_hold_for_a_models_plan(service: MemorySearchService) -> None:
    held = job(plan=json.dumps({"queries": [query("postgres python language models", score_threshold=0.0)]}))
    result = service.search("q", job=held, filters={"track": "web"})
    assert ids(result) == ["s2"]


def test_a_filter_of_a_model_that_does_not_fit_is_ignored_with_a_warning(service: MemorySearchService) -> None:
    held = job(plan=json.dumps({"queries": [query("postgres vacuum tuning", filters={"colour": "red", "seats": "x"})]}))
    result = service.search("q", job=held)
    assert ids(result) == ["s1"]
    assert any("filter" in warning for warning in held.report.warnings)


def test_an_answer_cites_only_what_was_found(service: MemorySearchService) -> None:
    cited = [{"table": "sessions", "id": "s1"}, {"table": "sessions", "id": "ghost"}, {"table": "x", "id": "s1"}]
    held = job(answer=json.dumps({"answer": "Go to Scaling Postgres.", "citations": cited}))
    result = service.search("q", job=held, plan=[query("postgres vacuum tuning")])
    assert result.answer == "Go to Scaling Postgres."
    assert [(item.table, item.id) for item in result.citations] == [("sessions", "s1")]
    assert result.evaluation is not None
    assert result.evaluation.quality == pytest.approx(1 / 3, abs=1e-3)
    assert any("cited 2 records" in warning for warning in held.report.warnings)
    assert "".join(str(part["text"]) for part in held.report.of("chunk")) == result.answer
    assert held.report.said == [("q", "Go to Scaling Postgres.")]


def test_nothing_found_is_never_put_into_a_models_mouth(service: MemorySearchService) -> None:
    held = job(answer=json.dumps({"answer": "It is surely somewhere.", "citations": []}))
    result = service.search("q", job=held, plan=[query("elephants")], max_reflections=0)
    assert held.llm.asked("search.answer") == 0
    assert "Nothing in this collection" in (result.answer or "")


def test_the_ledger_is_kept_with_the_gain_of_each_attempt(service: MemorySearchService) -> None:
    service.search("q", job=job(reflect=REWRITE), plan=[query("elephant housekeeping")])
    rows = service.catalog.kept_rows
    assert [(row["number"], row["strategy"], row["gain"]) for row in rows] == [(1, "initial", 0), (2, "rewrite", 1)]
    assert rows[1]["queries"][0]["hits"] == 1  # type: ignore[index,call-overload]


def test_a_rewrite_that_worked_is_remembered_and_used_when_no_model_answers(service: MemorySearchService) -> None:
    plan = [query("elephant housekeeping")]
    service.search("q", job=job(reflect=REWRITE), plan=plan)
    result = service.search("q", plan=[query("Elephant housekeeping?")])
    assert (strategies(result), ids(result)) == (["initial", "rewrite"], ["s1"])
    assert result.hits["sessions"][0].label == "rewritten"


def test_a_run_of_an_evaluation_teaches_no_rewrite(service: MemorySearchService) -> None:
    plan = [query("elephant housekeeping")]
    measured = replace(job(reflect=REWRITE), labels={"evaluation": "e"})
    assert strategies(service.search("q", job=measured, plan=plan)) == ["initial", "rewrite"]
    assert service.catalog.kept_rewrites == []
    service.search("q", job=job(reflect=REWRITE), plan=plan)
    assert len(service.catalog.kept_rewrites) == 1


def test_a_rewrite_keeps_the_callers_filters(service: MemorySearchService) -> None:
    held = job(reflect=reflection("rewrite", query("postgres python language models")))
    result = service.search("q", job=held, plan=[query("elephants", filters={"track": "web"})], max_reflections=1)
    assert ids(result) in ([], ["s2"])
    assert result.attempts[1].queries[0].filters == {"track": "web"}


def test_a_cancelled_search_stops(service: MemorySearchService) -> None:
    held = job(reflect=REWRITE)
    held.cancelled.set()
    with pytest.raises(JobCancelled):
        service.search("postgres vacuum tuning", job=held)


def test_without_any_model_another_table_is_tried_last(service: MemorySearchService) -> None:
    result = service.search("deploy models consulting", plan=[query("deploy rollout consulting")])
    assert ids(result, "exhibitors") == ["e1"]
    assert result.hits["exhibitors"][0].label == "pivoted"
    assert result.zero_result_tables == ["sessions", "people"]


def test_near_hits_of_the_first_wording_are_better_than_none_at_the_end(service: MemorySearchService) -> None:
    """Reflection must not find less than relaxing without a model."""
    near = "postgres vacuum gardens mountains rivers songs whales clouds"
    held = job(reflect=[reflection("rewrite", query("zeppelins one")), reflection("rewrite", query("zeppelins two"))])
    result = service.search("q", job=held, plan=[query(near)])
    assert strategies(result) == ["initial", "rewrite", "rewrite"]
    assert (result.verdict, ids(result)) == ("weak", ["s1"])
    assert result.hits["sessions"][0].label == "relaxed"
    assert [executed.hits for executed in result.attempts[2].queries] == [0, 1]


def test_records_that_are_in_another_store_are_not_taken_for_missing(service: MemorySearchService) -> None:
    elsewhere = MemorySearchService(open_local(), service.models.embedder)
    elsewhere.catalog.collections = service.catalog.collections
    elsewhere.catalog.known = service.catalog.known
    with pytest.raises(SearchStoreUnavailable, match="ingest it again"):
        elsewhere.search("q", plan=[query("postgres vacuum tuning")])
    elsewhere.store.close()


def test_only_rewrites_of_similar_wordings_are_shown_to_the_model(service: MemorySearchService) -> None:
    service.search("q", job=job(reflect=REWRITE), plan=[query("elephant housekeeping")])
    shown = []
    for wording in ("elephant housekeeping tips", "zeppelins over the sea"):
        held = job(reflect=reflection("rewrite", query("zeppelins two")))
        service.search("q", job=held, plan=[query(wording)], max_reflections=1)
        told = json.loads(held.llm.requests[0].messages[1].content)
        shown.append([item["wording"] for item in told["rewrites_that_worked_before"]])
    assert shown == [["elephant housekeeping"], []]


def test_a_table_that_was_not_relaxed_in_its_turn_is_looked_into_next(service: MemorySearchService) -> None:
    """One table is empty because of a filter, which needs no model; the other because of its words."""
    plan = [query("postgres vacuum tuning", filters={"track": "web"}), query("elephants", "exhibitors")]
    held = job(reflect=reflection("rewrite", query("deploy models consulting", "exhibitors")))
    result = service.search("q", job=held, plan=plan, relax_filters=True)
    assert strategies(result) == ["initial", "mechanical", "rewrite"]
    assert (ids(result), ids(result, "exhibitors")) == (["s1"], ["e1"])
    assert (result.hits["sessions"][0].label, result.hits["exhibitors"][0].label) == ("relaxed", "rewritten")


def test_an_answer_without_a_citation_does_not_replace_the_list_of_records(service: MemorySearchService) -> None:
    held = job(answer=json.dumps({"answer": "The answer is", "citations": []}))
    result = service.search("q", job=held, plan=[query("postgres vacuum tuning")])
    assert "s1" in (result.answer or "")
    assert [citation.id for citation in result.citations] == ["s1"]
    assert any("cited no record" in warning for warning in held.report.warnings)


def test_a_model_is_offered_only_the_tables_that_there_are(service: MemorySearchService) -> None:
    held = job(plan=json.dumps({"queries": [query("postgres vacuum tuning")]}))
    service.search("q", job=held)
    schema = held.llm.requests[0].schema
    assert schema is not None
    proposed: Any = dict(schema.schema)["$defs"]
    assert sorted(proposed["ProposedQuery"]["properties"]["table"]["enum"]) == ["exhibitors", "people", "sessions"]


def test_an_answer_that_was_cut_is_told_so(service: MemorySearchService) -> None:
    held = job()
    held.llm.scripts["search.answer"] = lambda _: ChatReply('{"answer": "The', "x", "y", finish=Finish.LENGTH)
    service.search("q", job=held, plan=[query("postgres vacuum tuning")])
    assert "The model's answer was cut (search.answer); the search continued without it." in held.report.warnings
