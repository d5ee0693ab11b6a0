"""Tables in other languages are found in by their words, also where no model knows the language."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.golden.languages import gain, load
from services.search.store.edge import EdgeStore
from services.search.store.port import TablePart
from services.search.tables.words import Words
from tests.services.search.service import MemorySearchService

SETS = load()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[MemorySearchService]:
    store = EdgeStore(tmp_path / "store")
    service = MemorySearchService(store, None)
    service.catalog.create("tenant", "c", {language: {} for language in SETS})
    yield service
    store.close()


def test_there_are_thirty_questions_of_each_language() -> None:
    assert sorted(SETS) == ["arabic", "french", "german", "japanese", "spanish"]
    for known in SETS.values():
        assert len({text for text, _ in known.questions}) == 30
        assert {right for _, right in known.questions} == {record["id"] for record in known.records}


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize("language", sorted(SETS))
def test_words_alone_find_the_records(service: MemorySearchService, language: str) -> None:
    known = SETS[language]
    service.ingest(language, list(known.records))
    gains = []
    for text, right in known.questions:
        hits = service.search(text, tables=[language], answer=False).hits.get(language, [])
        gains.append(gain([hit.id for hit in hits], right))
    assert sum(gains) / len(gains) >= 0.85


@pytest.mark.parametrize("language", ["arabic", "french", "german", "spanish"])
def test_the_language_of_the_records_is_told(service: MemorySearchService, language: str) -> None:
    service.ingest(language, list(SETS[language].records))
    table = service.library.open(service.catalog.find("tenant", "c"), language)
    assert table.layouts[TablePart.MASTER].language == language


@pytest.mark.parametrize("word", ["延長", "四週間", "カード", "子ども"])
def test_a_japanese_word_alone_is_found_in_its_sentence(word: str) -> None:
    """Alone, a word of Chinese characters could be Chinese; the sentence around it is Japanese."""
    record = next(record for record in SETS["japanese"].records if record["name"] == "図書館")
    held = Words(10.0).distinct(record["text"])
    assert Words(10.0).distinct(word) <= held
    assert not Words(10.0).distinct("駐車") & held
