"""What a table holds, read page by page."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from services.search.listing import _MAX_FACET, _MAX_TEXT
from shared.errors import SearchStoreUnavailable, UnknownCollection, UnknownTable
from tests.services.search.conftest import SESSIONS
from tests.services.search.service import HashedWords, MemorySearchService


def _all(service: MemorySearchService, limit: int) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    after: str | None = None
    while True:
        page = service.records("sessions", limit=limit, after=after)
        assert len(page.records) <= limit
        records += [each.model_dump() for each in page.records]
        after = page.next
        if after is None:
            return records


def test_pages_give_every_record_once_and_whole(filled: MemorySearchService) -> None:
    whole = {str(record["id"]): record for record in SESSIONS}
    for limit in (1, 2, 200):
        records = _all(filled, limit)
        assert sorted(each["id"] for each in records) == sorted(whole)
        for each in records:
            sent = whole[each["id"]]
            assert (each["name"], each["text"], each["cut"]) == (sent["name"], sent["text"], False)
            assert (each["facets"], each["fields"]) == (sent.get("facets", {}), sent.get("fields", {}))
    assert filled.records("sessions", limit=1).total == len(SESSIONS)


def test_a_page_goes_on_where_a_record_was_deleted_meanwhile(filled: MemorySearchService) -> None:
    first = filled.records("sessions", limit=1)
    second = filled.records("sessions", limit=1, after=first.next)
    filled.ingest("sessions", [], delete=[second.records[0].id])
    later = filled.records("sessions", after=first.next)
    assert len(later.records) == len(SESSIONS) - 2
    assert second.records[0].id not in {each.id for each in later.records}


def test_long_texts_are_cut_and_say_so_and_a_page_has_an_end(empty: MemorySearchService) -> None:
    fields = {"blob": "x" * 1_500_000}
    long = [{**SESSIONS[number], "text": "word " * 1000, "fields": fields} for number in range(3)]
    empty.ingest("sessions", long)
    page = empty.records("sessions")
    assert (len(page.records), page.total, page.next is not None) == (1, 3, True)
    assert (len(page.records[0].text), page.records[0].cut) == (_MAX_TEXT, True)
    assert all(len(text) <= _MAX_FACET for text in page.records[0].facets.values())
    assert len(_all(empty, 50)) == 3


def test_records_are_read_although_another_model_embedded_them(filled: MemorySearchService) -> None:
    filled.models.embedder = HashedWords("another")
    assert filled.records("sessions").total == len(SESSIONS)


def test_what_is_not_there_is_named(empty: MemorySearchService) -> None:
    assert empty.records("sessions").model_dump() == {"records": [], "total": 0, "next": None}
    with pytest.raises(UnknownTable):
        empty.records("nowhere")
    with pytest.raises(UnknownCollection):
        empty.records("sessions", collection="another")
    with pytest.raises(ValidationError):
        empty.records("sessions", after="' OR 1=1")


def test_records_that_are_in_another_store_are_missed(filled: MemorySearchService) -> None:
    for bucket in filled.store.buckets():
        filled.store.drop(bucket)
    with pytest.raises(SearchStoreUnavailable, match="ingest it again"):
        filled.records("sessions")
