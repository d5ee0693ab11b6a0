"""What was found may be close to the question and still not answer it: the result says so."""

from __future__ import annotations

import json
from typing import Any

import pytest

from services.search.retrieval.answerability import DOUBTFUL, answerable
from services.search.tables.thresholds import Threshold
from shared.contracts.search import SearchResult
from tests.services.search.service import MemorySearchService
from tests.support.context import MemoryContext, ScriptedProvider

THRESHOLD = Threshold(floor=0.2, usual=0.3)
S1 = {"table": "sessions", "id": "s1"}


def sentence(text: str, *cited: dict[str, str]) -> dict[str, Any]:
    return {"text": text, "citations": list(cited)}


def answered(service: MemorySearchService, reply: dict[str, Any], job: MemoryContext | None = None) -> SearchResult:
    held = job or MemoryContext(llm=ScriptedProvider({}))
    held.llm.scripts["search.answer"] = json.dumps(reply)
    plan = [{"table": "sessions", "search_mode": "master", "query_text": "postgres vacuum tuning"}]
    return service.search("postgres vacuum tuning", job=held, plan=plan)


def test_what_stands_out_and_holds_the_words_answers() -> None:
    sure = answerable(THRESHOLD, [0.7, *[0.3] * 10], 1.0)
    close = answerable(THRESHOLD, [0.4, *[0.38] * 10], 0.3)
    assert close < DOUBTFUL < sure
    assert answerable(THRESHOLD, [0.4, *[0.38] * 10], 0.8) > close
    assert answerable(THRESHOLD, [0.4, *[0.25] * 10], 0.3) > close
    assert 0 < answerable(THRESHOLD, [0.4], 0.0) < 1


def test_an_answer_without_a_model_says_when_the_records_may_not_answer(empty: MemorySearchService) -> None:
    alike = [{"id": f"r{number}", "name": f"vacuum tuning of engine{number} part{number}"} for number in range(12)]
    empty.ingest("sessions", alike)
    sure = empty.search("vacuum tuning of engine7 part7")
    doubtful = empty.search("vacuum tuning for whales mountains")
    for result, words in ((sure, "These records match"), (doubtful, "they may not answer it")):
        assert result.verdict == "found"
        assert words in (result.answer or "")
    assert sure.evaluation is not None
    assert doubtful.evaluation is not None
    assert (doubtful.evaluation.answerable or 1) < DOUBTFUL < (sure.evaluation.answerable or 0)


def test_keywords_alone_tell_nothing_about_answers(words_only: MemorySearchService) -> None:
    evaluation = words_only.search("tuning postgres vacuums").evaluation
    assert evaluation is not None
    assert evaluation.answerable is None


def test_a_sentence_that_nothing_supports_is_left_out(service: MemorySearchService) -> None:
    job = MemoryContext(llm=ScriptedProvider({}))
    said = [
        sentence("Scaling Postgres has 100 seats.", S1),
        sentence("It costs 9999 euros.", S1),
        sentence("Everybody likes it."),
        sentence("Ask at the desk.", {"table": "sessions", "id": "nobody"}),
    ]
    result = answered(service, {"answered": True, "sentences": said}, job)
    assert result.answer == "Scaling Postgres has 100 seats."
    assert [cited.id for cited in result.citations] == ["s1"]
    assert any("3 sentences of the model were left out" in warning for warning in job.report.warnings)


def test_when_no_sentence_is_left_the_records_are_listed(service: MemorySearchService) -> None:
    result = answered(service, {"answered": True, "sentences": [sentence("It costs 9999 euros.", S1)]})
    assert "Scaling Postgres [s1]" in (result.answer or "")
    assert "9999" not in (result.answer or "")


@pytest.mark.parametrize("said", [[], [sentence("None of them says what it costs.")]])
def test_a_model_that_finds_no_answer_makes_the_verdict_weak(service: MemorySearchService, said: list[Any]) -> None:
    result = answered(service, {"answered": False, "sentences": said})
    assert result.verdict == "weak"
    assert "may not answer it" in (result.answer or "")
    assert [hit.id for hit in result.hits["sessions"]] == ["s1"]


def test_items_of_a_list_stay_on_lines_of_their_own(service: MemorySearchService) -> None:
    result = answered(service, {"answered": True, "sentences": [sentence("- One.", S1), sentence("- Two.", S1)]})
    assert result.answer == "- One.\n- Two."
    assert result.verdict == "found"
