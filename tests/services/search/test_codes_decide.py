"""A code of the question decides in the first attempt: what holds it is first and strong, nothing else answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from services.search.store.edge import EdgeStore
from services.search.store.open import open_local
from shared.contracts.search import SearchResult
from tests.services.search.service import HashedWords, MemorySearchService
from tests.support.context import MemoryContext, ScriptedProvider

TABLES = {
    "parts": {"facets": {"use": 1.0}, "fields": {"sku": "keyword", "stock": "integer"}},
    "books": {},
    "notes": {},
}


def pads(number: int) -> dict[str, Any]:
    text = f"Cross references: {300000 + 7 * number}D{number % 10}, pads for passenger cars, front axle, wear sensor."
    facets = {"use": f"front axle {number}"}
    return {"id": f"f{number}", "name": f"Brake pad set {number}", "text": text, "facets": facets}


def book(number: int) -> dict[str, Any]:
    isbn = f"978-952-{10 + number % 90}-{1000 + 7 * number}-{number % 10}"
    return {"id": f"b{number}", "name": f"Novel {number}", "text": f"A novel of the sea. ISBN {isbn}"}


PARTS = [
    *map(pads, range(60)),
    {"id": "sku1", "name": "Disc", "text": "Article 311992D3, mail jane@parts.example", "facets": {"use": "rear"}},
    {"id": "fielded", "name": "Caliper", "text": "For vans.", "fields": {"sku": "QX-7781", "stock": 8837261}},
    {"id": "KX-2231", "name": "Bleed screw", "text": "Sold in packs.", "facets": {"use": "hydraulic system"}},
]
NOTES = [
    {"id": "n1", "name": "Problem details", "text": "RFC 9457 defines problem details for HTTP APIs."},
    {"id": "n2", "name": "Release", "text": "Version 3.11.2 fixes the scheduler."},
    {"id": "n3", "name": "Release", "text": "Version 3.11.20 changes the scheduler."},
    {"id": "n4", "name": "Error E501", "text": "The line is too long."},
    {"id": "n5", "name": "Supplier", "text": "Call +49 (30) 123-4567, pay to DE89 3704 0044 0532 0130 00."},
    {"id": "n6", "name": "Two pumps", "text": "The pump PX-1001 replaces the pump PX-1002."},
    {"id": "n7", "name": "Pump PX-1003", "text": "A pump for gardens."},
    {"id": "n8", "name": "Article 04433", "text": "A screw."},
    {"id": "n9", "name": "Article 4433", "text": "A nut."},
    {"id": "n10", "name": "水中ポンプ", "text": "商品番号KZ-55120の水中ポンプです。"},
    {"id": "n11", "name": "Arrays", "text": "Cite https://doi.org/10.1038/s41586-020-2649-2 for arrays."},
    {"id": "n12", "name": "家", "text": "2024年5月3日に123456円で売れた家。"},
    {"id": "n13", "name": "Dienstreisen", "text": "Eine Dienstreise wird mit Formular DR-17 beantragt."},
    {"id": "n14", "name": "Helpdesk", "text": "Gesperrte Konten entsperrt der Helpdesk, Durchwahl 4711."},
]


@pytest.fixture(scope="module", params=["local", "edge"])
def stocked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemorySearchService]:
    store = open_local() if request.param == "local" else EdgeStore(tmp_path_factory.mktemp("codes"))
    service = MemorySearchService(store, HashedWords())
    service.catalog.create("tenant", "c", TABLES)
    service.ingest("parts", PARTS)
    service.ingest("books", [book(number) for number in range(150)])
    service.ingest("notes", NOTES)
    yield service
    store.close()


def first(result: SearchResult, table: str) -> tuple[str, bool]:
    hit = result.hits[table][0]
    return hit.id, hit.weak


def flat(text: str) -> str:
    return "".join(sign for sign in text if sign.isalnum())


@pytest.mark.parametrize("mode", ["master", "faceted"])
@pytest.mark.parametrize(
    ("question", "table", "record"),
    [
        ("311992D3", "parts", "sku1"),
        ("which axle is 311992d3 for?", "parts", "sku1"),
        ("brake pad set 300007D1", "parts", "f1"),
        ("who is jane@parts.example?", "parts", "sku1"),
        ("QX-7781", "parts", "fielded"),
        ("is QX7781 a brake pad set for the front axle?", "parts", "fielded"),
        ("article 8837261", "parts", "fielded"),
        ("KX-2231", "parts", "KX-2231"),
        ("What does RFC 9457 define?", "notes", "n1"),
        ("what changed in 3.11.2", "notes", "n2"),
        ("E501", "notes", "n4"),
        ("who is called at +49 30 1234567?", "notes", "n5"),
        ("whose account is DE89370400440532013000", "notes", "n5"),
        ("article 04433", "notes", "n8"),
        ("4433", "notes", "n9"),
        ("replace PX-1001 or PX-1002", "notes", "n6"),
        ("商品番号KZ-55120の在庫はありますか", "notes", "n10"),
        ("品番：ＫＺ－５５１２０", "notes", "n10"),
        ("who wrote doi:10.1038/s41586-020-2649-2?", "notes", "n11"),
        ("Formular DR-17", "notes", "n13"),
        ("Wofür ist DR17?", "notes", "n13"),
        ("Durchwahl 4711", "notes", "n14"),
    ],
)
def test_a_code_that_a_record_holds_is_found_first(
    stocked: MemorySearchService, question: str, table: str, record: str, mode: str
) -> None:
    plan = [{"table": table, "search_mode": mode, "query_text": question}]
    for more in ({"plan": plan}, {"tables": [table]}):
        result = stocked.search(question, **more)
        assert (result.verdict, first(result, table)) == ("found", (record, False))
        assert (result.hits[table][0].label, len(result.attempts)) == ("exact", 1)


@pytest.mark.parametrize("number", range(0, 150, 7))
def test_an_isbn_is_found_however_it_is_written_among_many_that_begin_alike(
    stocked: MemorySearchService, number: int
) -> None:
    isbn = book(number)["text"].split()[-1]
    for question in (isbn, flat(isbn), f"who wrote the book {isbn.replace('-', ' ')}?"):
        result = stocked.search(question, tables=["books"])
        assert (result.verdict, first(result, "books")) == ("found", (f"b{number}", False)), question
        assert all(hit.weak for hit in result.hits["books"][1:])


@pytest.mark.parametrize("mode", ["master", "faceted"])
@pytest.mark.parametrize(
    "question",
    [
        "311992D4",
        "brake pad set 300000D9",
        "ISBN 978-952-10-1000-1",
        "A novel of the sea, 9789521010001",
        "mail john@parts.example",
        "QX-7782 for vans",
        "What does RFC 9458 define for HTTP APIs?",
        "Version 3.11.3 fixes the scheduler",
        "error E502 the line is too long",
        "Call +49 (30) 123-4568",
        "pump PX-1009 for gardens",
        "商品番号KZ-55121の水中ポンプ",
        "Cite 10.1038/s41586-020-2649-3 for arrays",
        "is the pump PX-1001 better than the pump PX-1009?",
        "Mit welchem Formular DR-71 wird eine Dienstreise beantragt?",
        "Helpdesk, Durchwahl 4712",
    ],
)
def test_a_code_that_no_record_holds_is_never_found(stocked: MemorySearchService, question: str, mode: str) -> None:
    assert stocked.search(question).verdict != "found"
    plans = [{"table": table, "search_mode": mode, "query_text": question} for table in TABLES]
    assert stocked.search(question, plan=plans).verdict != "found"
    assert stocked.search(question, max_reflections=0, answer=False).verdict != "found"


@pytest.mark.parametrize("question", ["2024年5月3日に売れた家", "123456円で売れた家", "123457円以下で売れた家"])
def test_a_date_or_an_amount_among_other_signs_does_not_hide_what_is_found(
    stocked: MemorySearchService, question: str
) -> None:
    result = stocked.search(question, tables=["notes"], answer=False)
    assert (result.verdict, result.hits["notes"][0].id) == ("found", "n12")


def test_two_codes_that_two_records_hold_are_both_found(stocked: MemorySearchService) -> None:
    result = stocked.search("compare PX-1001 with PX-1003", tables=["notes"])
    assert result.verdict == "found"
    assert {hit.id for hit in result.hits["notes"] if not hit.weak} == {"n6", "n7"}


def test_a_model_that_leaves_the_code_out_does_not_make_it_found(stocked: MemorySearchService) -> None:
    reworded = {"table": "books", "search_mode": "master", "query_text": "A novel of the sea", "limit": 10}
    reply = {"reasoning": "r", "strategy": "rewrite", "user_message": "m", "new_queries": [reworded]}
    scripts: Any = {"search.plan": json.dumps({"queries": [reworded]}), "search.reflect": json.dumps(reply)}
    job = MemoryContext(llm=ScriptedProvider(scripts))
    assert stocked.search("Who wrote ISBN 978-952-10-1000-1?", job=job, answer=False).verdict == "weak"
    number = 77
    isbn = book(number)["text"].split()[-1]
    found = stocked.search(f"Who wrote ISBN {isbn}?", job=MemoryContext(llm=ScriptedProvider(scripts)), answer=False)
    assert (found.verdict, first(found, "books")) == ("found", ("b77", False))


def test_a_code_that_a_model_invents_does_not_hide_what_is_found(stocked: MemorySearchService) -> None:
    plan = {"queries": [{"table": "notes", "search_mode": "master", "query_text": "the line is too long W9999"}]}
    job = MemoryContext(llm=ScriptedProvider({"search.plan": json.dumps(plan)}))
    result = stocked.search("error when the line is too long", job=job, answer=False)
    assert (result.verdict, first(result, "notes")) == ("found", ("n4", False))


def test_words_with_numbers_that_many_records_hold_stay_words(stocked: MemorySearchService) -> None:
    many = [
        {"id": f"l{number}", "name": f"use {number}", "text": "log10 of a column of numbers"} for number in range(5)
    ]
    other = {"id": "other", "name": "decimal logarithm of a series", "text": "of a column of numbers"}
    stocked.catalog.create("tenant", "logs", {"docs": {}})
    stocked.ingest("docs", [*many, other], collection="logs")
    result = stocked.search("decimal logarithm of a series log10", collection="logs", answer=False)
    assert result.hits["docs"][0].id == "other"


def test_a_code_in_the_filters_field_stays_within_the_filters(tmp_path: Path) -> None:
    store = EdgeStore(tmp_path)
    service = MemorySearchService(store, HashedWords())
    service.catalog.create("tenant", "c", {"parts": {"fields": {"team": "keyword"}}})
    service.ingest("parts", [{"id": "a", "name": "X-4471B", "fields": {"team": "a"}}, {"id": "b", "name": "valve"}])
    assert service.search("X-4471B", filters={"team": "b"}, max_reflections=0).hits == {}
    assert service.search("X-4471B", filters={"team": {"not": "b"}}).verdict == "found"
    store.close()


def test_codes_are_found_by_keywords_alone_too() -> None:
    store = open_local()
    service = MemorySearchService(store, None)
    service.catalog.create("tenant", "c", TABLES)
    service.ingest("parts", PARTS)
    assert first(service.search("who sells 311992d3?"), "parts") == ("sku1", False)
    assert first(service.search("QX7781"), "parts") == ("fielded", False)
    assert service.search("Cross references 311992D4 for passenger cars").verdict != "found"
    store.close()
