"""Records below the usual threshold are listed as weak, and change nothing about the verdict."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from services.search.embed.port import Vectors
from services.search.retrieval.question_words import AskedWords
from services.search.tables.points import point_id
from services.search.tables.thresholds import Threshold
from shared.contracts.search import Hit, SearchResult
from tests.services.search.service import HashedWords, MemorySearchService

RECORDS = [
    {"id": "near", "name": "vacuum tuning", "facets": {"session_topic": "vacuum tuning"}},
    {"id": "far", "name": "vacuum cleaners and carpets of old hotels", "facets": {"session_topic": "vacuum carpets"}},
    {"id": "none", "name": "gardening", "facets": {"session_topic": "gardening"}},
]
_PARTS = ("Brake", "Clutch", "Filter", "Gearbox", "Piston", "Radiator")


@pytest.fixture
def graded(empty: MemorySearchService) -> MemorySearchService:
    """One record above the usual threshold, one below it, one that has nothing in common with the questions."""
    empty.ingest("sessions", RECORDS)
    _set_thresholds(empty, floor=0.15, usual=0.6)
    return empty


def _set_thresholds(service: MemorySearchService, floor: float, usual: float) -> None:
    learned = service.catalog.known[("c1", "sessions")]
    marks = {"master_floor": floor, "master": usual, "faceted_floor": floor, "faceted": usual}
    service.catalog.known[("c1", "sessions")] = replace(learned, thresholds=marks)


def ask(service: MemorySearchService, text: str, **more: Any) -> SearchResult:
    return service.search("q", plan=[{"table": "sessions", "search_mode": "master", "query_text": text, **more}])


def flags(result: SearchResult) -> list[tuple[str, bool]]:
    return [(hit.id, hit.weak) for hit in listed(result)]


def listed(result: SearchResult) -> list[Hit]:
    return result.hits.get("sessions", [])


def test_what_lies_below_the_usual_threshold_is_listed_as_weak(graded: MemorySearchService) -> None:
    result = ask(graded, "vacuum tuning")
    assert flags(result) == [("near", False), ("far", True)]
    assert (result.verdict, len(result.attempts)) == ("found", 1)
    assert listed(result)[1].similarity == pytest.approx(1 / math.sqrt(2 * 5), abs=1e-4)


def test_the_answer_without_a_model_names_strong_hits_only(graded: MemorySearchService) -> None:
    result = ask(graded, "vacuum tuning")
    assert [cited.id for cited in result.citations] == ["near"]
    assert "carpets" not in (result.answer or "")


def test_facets_below_the_threshold_are_listed_after_those_that_match(graded: MemorySearchService) -> None:
    result = ask(graded, "vacuum tuning", search_mode="faceted")
    assert flags(result) == [("near", False), ("far", True)]
    near, far = listed(result)
    assert near.score == pytest.approx((1 / 2 * 0.4 + 0.6) * 10)
    assert far.score == pytest.approx(0.5 * 0.6 * 10, abs=0.001)


def test_when_only_weak_records_are_there_the_table_still_counts_as_empty(graded: MemorySearchService) -> None:
    result = ask(graded, "vacuum cleaners for gardens")
    assert result.attempts[0].queries[0].hits == 0
    assert result.verdict == "weak"
    assert all(weak for _, weak in flags(result))
    assert {hit.label for hit in listed(result)} == {"relaxed"}


@pytest.mark.parametrize("mode", ["master", "faceted"])
def test_a_chosen_threshold_cuts_the_list(graded: MemorySearchService, mode: str) -> None:
    assert flags(ask(graded, "vacuum tuning", score_threshold=0.6, search_mode=mode)) == [("near", False)]
    assert flags(ask(graded, "vacuum tuning", score_threshold=0.2, search_mode=mode)) == [
        ("near", False),
        ("far", True),
    ]


class _Synonyms(HashedWords):
    """Takes an automobile for a car, as no comparison of words does."""

    def query(self, text: str) -> Vectors:
        return super().query(text.replace("automobile", "car"))


def test_weak_records_never_push_the_strong_one_out(empty: MemorySearchService) -> None:
    empty.models.embedder = _Synonyms()
    crowd = [{"id": f"w{number}", "name": f"automobile of a car with tyres{number} x{number}"} for number in range(9)]
    empty.ingest("sessions", [*crowd, {"id": "strong", "name": "car engines"}])
    _set_thresholds(empty, floor=0.55, usual=0.6)
    many, one = ask(empty, "automobile", limit=10), ask(empty, "automobile", limit=2)
    assert flags(many)[-1] == ("strong", False)
    assert flags(one)[1] == ("strong", False)
    assert len(flags(one)) == 2
    assert many.verdict == one.verdict == "found"


def test_the_threshold_of_a_table_of_titles_is_not_that_of_a_title_with_itself(empty: MemorySearchService) -> None:
    titles = [{"id": f"t{number}", "name": f"{word} maintenance of engines"} for number, word in enumerate(_PARTS)]
    learned = empty.ingest("sessions", titles).thresholds
    known = empty.library.probes(HashedWords()).known()
    assert learned["master"] - learned["master_floor"] <= (known - learned["master_floor"]) * 0.25


def test_a_title_need_not_hold_words_that_it_has_no_room_for(empty: MemorySearchService) -> None:
    empty.ingest("sessions", [{"id": "title", "name": "Disk quotas"}, {"id": "other", "name": "Network adapters"}])
    table = empty.library.open(empty.catalog.find("tenant", "c"), "sessions")
    ids = {name: point_id(name) for name in ("title", "other")}

    def shares(question: str) -> dict[str, float]:
        return AskedWords(empty.store, table, question).shares(list(ids.values()))

    asked = shares("limit how much of the disk each person may use, by quotas")
    assert asked == {ids["title"]: 1.0, ids["other"]: 0.0}
    assert shares("disk printers")[ids["title"]] == 0.5


def test_a_word_that_no_record_holds_weighs_more_than_one_that_another_holds(empty: MemorySearchService) -> None:
    empty.ingest(
        "sessions",
        [
            {"id": "layers", "name": "layer masks in images"},
            {"id": "drivers", "name": "printer drivers and their images"},
        ],
    )
    table = empty.library.open(empty.catalog.find("tenant", "c"), "sessions")
    near = Threshold(floor=0.2, usual=0.3)

    def weak(question: str, cosine: float) -> bool:
        return bool(AskedWords(empty.store, table, question).weak(near, {point_id("layers"): cosine}))

    assert not weak("layer printer", 0.32)  # one of two
    assert weak("layer photoshop", 0.32)  # one of four
    assert not weak("layer photoshop", 0.46)
    assert weak("layer masks", 0.29)
