"""Words are weighed in the language that the records speak."""

from __future__ import annotations

import pytest

from services.search.tables import points
from services.search.tables.passages import Splitter
from services.search.tables.words import Words, average_words, language_of
from shared.contracts.search import Record
from tests.services.search.service import MemorySearchService

GERMAN = "Der schnelle Fuchs springt über den faulen Hund, und die Katze schläft auf dem Dach."


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (GERMAN, "german"),
        ("Le renard brun saute par-dessus le chien et la souris dort dans la maison.", "french"),
        ("El zorro salta sobre el perro y los gatos duermen en la casa de la ciudad.", "spanish"),
        ("Лиса прыгает через ленивую собаку и не может остановиться на этом месте.", "russian"),
        ("Partitioning of tables, and the tuning of a vacuum for large databases.", "english"),
        ("unused import", "english"),
        ("word1 word2 der", "english"),
        ("数据库性能调优", "chinese"),
        ("リズムとは、周期的な動きや進行の調子である。", "japanese"),
        ("데이터베이스 성능 조정", "korean"),
        ("", "english"),
    ],
)
def test_the_language_is_the_one_whose_small_words_are_used(text: str, language: str) -> None:
    assert language_of([text]) == language


def test_stems_are_those_of_the_language() -> None:
    words = Words(10.0, "german")
    assert words.distinct("Häuser") == words.distinct("Haus")
    assert words.distinct("und der die das") == frozenset()
    assert Words(10.0).distinct("Häuser") != Words(10.0).distinct("Haus")
    assert Words(10.0, "klingon").distinct("running") == Words(10.0).distinct("run")


@pytest.mark.parametrize(("text", "part"), [("数据库性能调优指南", "数据库"), ("日本語のテキスト検索", "テキスト")])
def test_scripts_without_spaces_are_cut_into_words(text: str, part: str) -> None:
    assert Words(10.0).distinct(part) <= Words(10.0).distinct(text)
    assert len(Words(10.0).distinct(text)) > 1


def test_words_between_signs_of_another_script_stay_what_they_are() -> None:
    assert Words(10.0).distinct("read_csv") < Words(10.0).distinct("read_csv を使う")


def test_the_average_counts_every_word_that_counts() -> None:
    assert average_words(["dogs dogs run", "the cat"], "english") == 2.0
    assert average_words(["", "the"], "english") == 1.0
    assert average_words([], "english") > 1.0


def test_a_name_weighs_more_than_the_text_and_a_repeated_facet_once() -> None:
    record = Record(id="r", name="vacuum", text="tuning of tables", facets={"a": "tuning", "b": "queues"})
    [split] = points.split([record], Splitter(None, None))
    assert points.weighted_texts([split]) == ["vacuum\nvacuum\nvacuum\ntuning of tables\nqueues"]


def test_a_table_is_searched_in_the_language_of_its_first_records(words_only: MemorySearchService) -> None:
    words_only.ingest("people", [{"id": "h", "name": "Häuser", "text": GERMAN}, {"id": "k", "name": "Kühe"}])
    plan = [{"table": "people", "search_mode": "master", "query_text": "das Haus"}]
    result = words_only.search("q", plan=plan, max_reflections=0)
    assert [hit.id for hit in result.hits["people"]] == ["h"]


def test_pieces_outlive_slips_compounds_and_hyphens() -> None:
    words = Words(10.0)

    def shared(one: str, other: str) -> float:
        mine, theirs = set(words.query_ngrams(one).indices), set(words.document_ngrams(other).indices)
        return len(mine & theirs) / len(mine)

    assert shared("databse", "database") > 0.4
    assert shared("Schifffahrt", "Donaudampfschifffahrtsgesellschaft") > 0.7
    assert shared("Häuser", "haus") == shared("Hauser", "haus") > 0
    assert shared("数据库", "大型数据库调整") > shared("天气", "大型数据库调整") == 0
    assert shared("zeppelin", "database") == 0
    assert words.query_ngrams("?!").indices == ()


def test_a_piece_weighs_more_in_a_shorter_text() -> None:
    words = Words(10.0)
    short, long = (words.document_ngrams(text) for text in ("tuning", "tuning " + "gardens and mountains " * 40))
    weight = dict(zip(long.indices, long.values, strict=True))
    assert all(value > weight[piece] for piece, value in zip(short.indices, short.values, strict=True))
