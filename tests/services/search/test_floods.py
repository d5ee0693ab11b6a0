"""Records that differ in nothing but their id are listed once, and leave room for others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from services.search.store.edge import EdgeStore
from services.search.store.open import open_local
from shared.contracts.search import SearchResult
from tests.services.search.service import HashedWords, MemorySearchService

QUESTION = "refund policy days"
COPY: dict[str, Any] = {"name": "Refund policy", "text": "Refunds are paid within 14 days."}
TABLES = {"faq": {"facets": {"topic": 1.0}, "fields": {"team": "keyword", "page": "integer"}}}
OTHERS = [
    {"id": "u", "name": "Refund times abroad", "text": "Refunds abroad are paid within 30 days."},
    {"id": "v", "name": "Policy of returns", "text": "Returns are free."},
]


@pytest.fixture(params=["local", "edge", "words"])
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemorySearchService]:
    store = EdgeStore(tmp_path) if request.param == "edge" else open_local()
    service = MemorySearchService(store, None if request.param == "words" else HashedWords())
    service.catalog.create("tenant", "c", TABLES)
    yield service
    store.close()


def ids(result: SearchResult) -> list[str]:
    return [hit.id for hit in result.hits.get("faq", [])]


@pytest.mark.parametrize("copies", [2, 12, 70, 300])
def test_identical_records_are_one_hit_that_says_how_many_there_are(desk: MemorySearchService, copies: int) -> None:
    desk.ingest("faq", [*({"id": f"c{number}", **COPY} for number in range(copies)), *OTHERS])
    result = desk.search(QUESTION, answer=False)
    first, *rest = result.hits["faq"]
    assert first.id.startswith("c")
    assert [hit.id for hit in rest][:1] == ["u"]
    assert not [hit.id for hit in rest if hit.id.startswith("c")]
    assert first.duplicates == copies - 1
    assert first.duplicate_ids
    assert {first.id, *first.duplicate_ids} <= {f"c{number}" for number in range(copies)}
    assert all((hit.duplicates, hit.duplicate_ids) == (0, []) for hit in rest)
    assert first.score > rest[0].score


def test_several_floods_leave_room_for_all_that_is_distinct(desk: MemorySearchService) -> None:
    floods = [
        {"id": f"{kind}{number}", "name": f"Refund policy {kind}", "text": "Refunds are paid within 14 days."}
        for kind in ("cash", "card", "shop")
        for number in range(30)
    ]
    desk.ingest("faq", [*floods, *OTHERS])
    result = desk.search(QUESTION, answer=False, limit=4)
    assert len(ids(result)) == 4
    assert sorted(hit.duplicates for hit in result.hits["faq"]) == [0, 29, 29, 29]


def test_copies_are_counted_within_the_filters(desk: MemorySearchService) -> None:
    same = [{"id": f"c{number}", **COPY, "fields": {"team": "x"}} for number in range(5)]
    desk.ingest("faq", [*same, *({**each, "id": f"d{each['id']}", "fields": {"team": "y"}} for each in same)])
    result = desk.search(QUESTION, answer=False)
    assert [hit.duplicates for hit in result.hits["faq"]] == [4, 4]
    within = desk.search(QUESTION, answer=False, filters={"team": "y"})
    assert [(hit.duplicates, hit.fields) for hit in within.hits["faq"]] == [(4, {"team": "y"})]


def test_records_that_differ_in_a_field_or_in_a_letter_are_each_listed(desk: MemorySearchService) -> None:
    pages = [{"id": f"p{page}", **COPY, "fields": {"page": page}} for page in range(3)]
    desk.ingest("faq", [*pages, {"id": "q", **COPY, "text": "Refunds are paid within 15 days."}])
    assert sorted(ids(desk.search(QUESTION, answer=False))) == ["p0", "p1", "p2", "q"]


def test_facets_and_codes_are_collapsed_too(desk: MemorySearchService) -> None:
    parts = [
        {"id": f"c{number}", "name": "Pump PX-1001", "facets": {"topic": "pumps for water"}} for number in range(15)
    ]
    other = {"id": "o", "name": "Pump PX-1002", "facets": {"topic": "pumps for oil"}}
    desk.ingest("faq", [*parts, other])
    for mode in ("master", "faceted"):
        for text in ("pumps for water", "PX-1001"):
            plan = [{"table": "faq", "search_mode": mode, "query_text": text}]
            result = desk.search("pumps", plan=plan, answer=False)
            first, *rest = result.hits["faq"]
            assert (first.id[0], first.duplicates) == ("c", 14)
            assert not [hit.id for hit in rest if hit.id.startswith("c")]


def test_copies_found_by_several_queries_are_one_hit(desk: MemorySearchService) -> None:
    desk.ingest("faq", [*({"id": f"c{number}", **COPY} for number in range(12)), *OTHERS])
    texts = ("refund policy", "refunds paid within days", "policy of refund in 14 days")
    plan = [{"table": "faq", "search_mode": "master", "query_text": text} for text in texts]
    assert sum(each.startswith("c") for each in ids(desk.search("q", plan=plan, answer=False))) == 1
