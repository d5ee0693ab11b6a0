"""A sentence deep in a long record is found, shown where it is, and cited there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from services.search.store.edge import EdgeStore
from services.search.store.port import TablePart
from services.search.tables.library import OpenTable
from shared.contracts.search import HitPassage, SearchResult
from shared.llm.chat import ChatMessage
from tests.services.search.service import HashedWords, MemorySearchService
from tests.support.context import MemoryContext, ScriptedProvider

#: A sentence that fills a record, the one that answers, and a question for it.
DEEP = {
    "english": (
        "The employment agreement governs the duties of both parties and the place of work.",
        "The notice period after ten years of service is four months to the end of a quarter.",
        "What is the notice period after ten years of service?",
    ),
    "german": (
        "Der Arbeitsvertrag regelt die Pflichten beider Seiten und den Ort der Arbeit.",
        "Die Kündigungsfrist nach zehn Jahren beträgt vier Monate zum Ende des Quartals.",
        "Welche Kündigungsfrist gilt nach zehn Jahren?",
    ),
    "french": (
        "Le bâtiment est construit en béton armé avec un toit en acier.",
        "Les extincteurs sont accrochés près de l'ascenseur au troisième étage.",
        "Où sont accrochés les extincteurs ?",
    ),
    "spanish": (
        "Las recetas de este capítulo describen sopas y verduras asadas.",
        "Para el pan sin gluten se usa psilio y harina de trigo sarraceno.",
        "¿Qué harina se usa para el pan sin gluten?",
    ),
    "russian": (
        "Многолетние растения любят солнце и хорошо дренированную почву.",
        "Слизней отпугивает от хосты кольцо из яичной скорлупы.",
        "Что отпугивает слизней от хосты?",
    ),
    "japanese": (
        "この章のレシピでは、一時間以内に作れるスープと野菜料理を紹介します。",
        "消火器は三階のエレベーターの横に掛けてあります。",
        "消火器はどこに掛けてありますか",
    ),
    "chinese": (
        "本章介绍一小时以内可以做好的汤和烤蔬菜。",
        "灭火器挂在三楼电梯旁边的墙上。",
        "灭火器挂在哪里",
    ),
}
MARKDOWN = (
    "# Pump\n\n" + "The pump moves water through the pipes of the house. " * 60 + "\n\n"
    "```sh\npump --start\npump --stop  # Then wait. Always.\n```\n\n"
    + "| part | spare number |\n|---|---|\n"
    + "".join(f"| gasket {number} | G-{number:04} |\n" for number in range(120))
    + "\n- Check the filter. Weekly.\n- Descale the impeller with vinegar every spring.\n\n"
    + "The pump moves water through the pipes of the house. " * 60
)


def long(filler: str, sentence: str, characters: int = 12_000) -> str:
    times = characters // (2 * len(filler) + 2)
    return " ".join([*[filler] * times, sentence, *[filler] * times])


@pytest.fixture
def service(tmp_path: Path) -> Iterator[MemorySearchService]:
    store = EdgeStore(tmp_path / "store")
    made = MemorySearchService(store, HashedWords())
    made.catalog.create("tenant", "c", {"t": {"fields": {"page": "integer", "shelf": "keyword"}}, "sized": SIZED})
    yield made
    store.close()


SIZED = {"facets": {"about": 1.0}, "passages": {"size": 40, "overlap": 0}}


def table_of(service: MemorySearchService, name: str = "t") -> OpenTable:
    return service.library.open(service.catalog.find("tenant", "c"), name)


def points_of(service: MemorySearchService, part: TablePart = TablePart.MASTER, name: str = "t") -> int:
    return service.store.count(table_of(service, name).bucket(part))


def best(result: SearchResult, table: str = "t") -> HitPassage:
    return result.hits[table][0].passages[0]


@pytest.mark.parametrize("language", DEEP)
def test_a_sentence_deep_in_a_long_record_is_found_and_shown(service: MemorySearchService, language: str) -> None:
    records = [{"id": name, "name": name, "text": long(*texts[:2])} for name, texts in DEEP.items()]
    service.ingest("t", records)
    _, sentence, question = DEEP[language]
    result = service.search(question)
    assert result.verdict == "found"
    assert result.hits["t"][0].id == language
    passage, text = best(result), next(str(record["text"]) for record in records if record["id"] == language)
    assert sentence in passage.text
    assert text[passage.start : passage.end] == passage.text
    assert len(passage.text) < 3000
    [cited, *_] = result.citations
    assert (cited.id, cited.facet) == (language, None)
    assert sentence in text[cited.start : cited.end]


SYLLABLES = ("ka", "lo", "mi", "nu", "re", "so", "ti", "va")
OTHER_WORDS = ["".join(each) for each in product(SYLLABLES, repeat=3)]


@pytest.mark.parametrize("language", ["english", "german", "russian", "japanese"])
def test_one_sentence_of_a_passage_about_many_other_things_is_found(
    service: MemorySearchService, language: str
) -> None:
    _, sentence, question = DEEP[language]
    others = [f"{' '.join(OTHER_WORDS[at : at + 10]).capitalize()}." for at in range(0, 180, 10)]
    text = " ".join([*others[:12], sentence, *others[12:]])
    service.ingest("t", [{"id": "a", "text": text}, {"id": "b", "text": " ".join(others[::-1])}])
    result = service.search(question)
    assert result.verdict == "found"
    hit = result.hits["t"][0]
    assert (hit.id, hit.weak) == ("a", False)
    assert sentence in hit.passages[0].text
    assert service.search("Which bishop crowned the emperor of Bohemia?").verdict == "not_found"


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("when to descale the impeller with vinegar", "Descale the impeller with vinegar every spring."),
        ("spare number of gasket 77", "| gasket 77 | G-0077 |"),
        ("pump stop wait always", "pump --stop  # Then wait. Always."),
    ],
)
def test_markdown_is_found_in_lists_tables_and_code(service: MemorySearchService, question: str, said: str) -> None:
    service.ingest("t", [{"id": "pump", "name": "Pump", "text": MARKDOWN}, {"id": "other", "text": "Curtains."}])
    result = service.search(question)
    assert result.hits["t"][0].id == "pump"
    assert any(said in passage.text for passage in result.hits["t"][0].passages)
    for passage in result.hits["t"][0].passages:
        assert passage.text.count("```") in (0, 2)
        assert all(line.startswith("|") == line.endswith("|") for line in passage.text.splitlines() if "gasket" in line)


def test_words_of_the_question_are_marked_in_the_passage(service: MemorySearchService) -> None:
    filler, sentence, question = DEEP["english"]
    service.ingest("t", [{"id": "a", "text": long(filler, sentence)}])
    passage = best(service.search(question))
    marked = [passage.text[mark.start : mark.end] for mark in passage.highlights]
    assert set(marked) == {"notice", "period", "ten", "years", "service"}


@pytest.mark.parametrize("text", ["消火器は三階に掛けてあります。", "灭火器挂在三楼。"])
def test_what_scripts_without_spaces_have_in_common_is_marked(service: MemorySearchService, text: str) -> None:
    service.ingest("t", [{"id": "a", "text": text}])
    passage = best(service.search(f"{text[:3]}?"))
    assert passage.text[passage.highlights[0].start : passage.highlights[0].end] == text[:3]


def test_a_short_record_is_one_point_and_shows_its_text(service: MemorySearchService) -> None:
    service.ingest("t", [{"id": "a", "name": "Pump", "text": "  It moves water. "}, {"id": "b", "text": "Curtains."}])
    assert points_of(service) == 2
    passage = best(service.search("pump water"))
    assert (passage.start, passage.end, passage.text, passage.page) == (2, 17, "It moves water.", None)


def test_a_facet_that_says_more_of_the_question_is_shown(service: MemorySearchService) -> None:
    service.ingest("sized", [{"id": "a", "text": "Curtains.", "facets": {"about": "blue velvet for windows"}}])
    assert best(service.search("blue velvet", tables=["sized"]), "sized").facet == "about"


def test_records_rank_by_their_best_passage_and_each_is_listed_once(service: MemorySearchService) -> None:
    filler, sentence, _ = DEEP["english"]
    texts = [long(filler, sentence if n == 7 else filler) for n in range(12)]
    service.ingest("t", [{"id": f"r{n}", "text": text, "fields": {"number": n}} for n, text in enumerate(texts)])
    result = service.search("notice period after ten years of an employment agreement that governs duties", limit=10)
    ids = [hit.id for hit in result.hits["t"]]
    assert ids[0] == "r7"
    assert len(ids) == len(set(ids)) == 10
    assert result.hits["t"][0].passages == sorted(result.hits["t"][0].passages, key=lambda each: -each.score)


def test_pages_are_counted_by_form_feeds_or_told_by_the_record(service: MemorySearchService) -> None:
    filler, sentence, question = DEEP["english"]
    pages = [long(filler, filler, 1500), long(filler, sentence, 1500), long(filler, filler, 1500)]
    service.ingest("t", [{"id": "a", "text": "\f".join(pages)}])
    assert best(service.search(question)).page == 2
    service.ingest("t", [{"id": "a", "text": sentence, "fields": {"page": 14}}])
    assert best(service.search(question)).page == 14


def test_a_passage_names_the_heading_that_it_is_under(service: MemorySearchService) -> None:
    filler, sentence, question = DEEP["english"]
    service.ingest(
        "t", [{"id": "a", "text": f"# General\n\n{filler}\n\n## Leaving the company\n\n{long(filler, sentence)}"}]
    )
    assert best(service.search(question)).heading == "Leaving the company"


def test_filters_hold_for_every_passage(service: MemorySearchService) -> None:
    filler, sentence, question = DEEP["english"]
    service.ingest("t", [{"id": name, "text": long(filler, sentence), "fields": {"shelf": name}} for name in "ab"])
    assert [hit.id for hit in service.search(question, filters={"shelf": "b"}).hits["t"]] == ["b"]


def test_size_and_overlap_are_settings_of_the_table(service: MemorySearchService) -> None:
    filler, sentence, question = DEEP["english"]
    for name in ("t", "sized"):
        service.ingest(name, [{"id": "a", "text": long(filler, sentence)}])
    assert points_of(service, name="sized") > 4 * points_of(service)
    assert len(best(service.search(question, tables=["sized"]), "sized").text.split()) <= 40


def test_a_long_facet_is_split_in_both_modes(service: MemorySearchService) -> None:
    filler, sentence, question = DEEP["english"]
    service.ingest(
        "sized", [{"id": "a", "name": "A", "text": "Curtains.", "facets": {"about": long(filler, sentence)}}]
    )
    for mode in ("master", "faceted"):
        plan = [{"table": "sized", "search_mode": mode, "query_text": question}]
        passage = best(service.search("q", plan=plan), "sized")
        assert passage.facet == "about"
        assert sentence in passage.text
    assert points_of(service, TablePart.FACETS, "sized") > 10


def test_only_passages_of_changed_records_are_embedded_again(service: MemorySearchService) -> None:
    filler, sentence, _ = DEEP["english"]
    records = [{"id": name, "text": long(filler, sentence)} for name in "abc"]
    service.ingest("t", records)
    model = service.models.embedder
    assert isinstance(model, HashedWords)
    points, before = points_of(service), model.embedded
    assert service.ingest("t", records).unchanged == 3
    assert model.embedded == before
    changed = {"id": "b", "text": long(filler, sentence.replace("four", "six"))}
    assert service.ingest("t", [records[0], changed, records[2]]).updated == 1
    assert model.embedded - before <= points // 3 + 5
    assert points_of(service) == points


def test_a_record_that_became_short_or_is_deleted_leaves_no_passage(service: MemorySearchService) -> None:
    filler, sentence, question = DEEP["english"]
    service.ingest("t", [{"id": name, "text": long(filler, sentence)} for name in "ab"])
    service.ingest("t", [{"id": "a", "text": "Curtains."}])
    assert [hit.id for hit in service.search(question).hits["t"]] == ["b"]
    assert service.ingest("t", None, delete=["b"]).deleted == 1
    assert points_of(service) == 1
    assert service.search(question).verdict == "not_found"


def test_records_are_counted_and_listed_once(service: MemorySearchService) -> None:
    filler, sentence, _ = DEEP["english"]
    records = [{"id": f"r{number}", "text": long(filler, sentence)} for number in range(7)]
    service.ingest("t", records)
    listed, after = [], None
    while True:
        page = service.records("t", limit=3, after=after)
        assert page.total == 7
        listed += [record.id for record in page.records]
        after = page.next
        if after is None:
            break
    assert sorted(listed) == sorted(str(record["id"]) for record in records)
    assert service.library.catalog.find("tenant", "c").statistics["t"].records == 7


def test_another_model_embeds_every_passage_again(service: MemorySearchService) -> None:
    filler, sentence, question = DEEP["english"]
    service.ingest("t", [{"id": "a", "name": "A", "text": long(filler, sentence), "fields": {"shelf": "x"}}])
    service.models.embedder = HashedWords("other", 1024)
    service.ingest("t", [])
    assert sentence in best(service.search(question, filters={"shelf": "x"})).text
    assert service.records("t").records[0].text == long(filler, sentence)[:2000]


def test_a_table_from_before_there_were_passages_is_searched_and_split_when_sent_again(
    service: MemorySearchService,
) -> None:
    filler, sentence, question = DEEP["english"]
    old = {"id": "a", "name": "A", "text": f"{sentence} {long(filler, filler)}"}
    service.ingest("t", [{**old, "text": "short"}])
    table = table_of(service)
    [[payload]] = list(service.store.every_payload(table.bucket(TablePart.MASTER)))
    [vector] = HashedWords().documents([f"A\n{old['text']}"[:2000]])
    words = table.words(TablePart.MASTER)
    point = _point(payload, {"text": old["text"]}, vector, words.document(old["text"]))
    service.store.upsert(table.bucket(TablePart.MASTER), [point])
    result = service.search(question)
    assert [hit.id for hit in result.hits["t"]] == ["a"]
    assert len(best(result).text) <= 4000
    assert service.ingest("t", [old]).updated == 1
    assert points_of(service) > 5
    assert service.search(question).verdict == "found"


def _point(payload: Any, changes: dict[str, Any], vector: Any, words: Any) -> Any:
    from services.search.store.port import Point  # noqa: PLC0415
    from services.search.tables.points import point_id  # noqa: PLC0415

    return Point(point_id("a"), vector, (words,), {**payload, **changes})


def answering(*sentences: tuple[str, str]) -> MemoryContext:
    reply = {"sentences": [{"text": text, "citations": [{"table": "t", "id": id}]} for text, id in sentences]}
    return MemoryContext(llm=ScriptedProvider({"search.answer": json.dumps(reply)}))


def asked(job: MemoryContext) -> dict[str, Any]:
    [request] = [request for request in job.llm.requests if request.role == "search.answer"]
    content: dict[str, Any] = json.loads(request.messages[-1].content)
    return content


@pytest.mark.parametrize("language", DEEP)
def test_a_model_reads_the_passage_and_its_citation_names_the_sentence(
    service: MemorySearchService, language: str
) -> None:
    filler, sentence, question = DEEP[language]
    text = long(filler, sentence)
    service.ingest("t", [{"id": "a", "text": text}])
    job = answering((sentence, "a"))
    result = service.search(question, job=job, plan=[{"table": "t", "query_text": question}])
    assert sentence in asked(job)["hits"]["t"][0]["text"]
    assert result.answer == sentence
    [cited] = result.citations
    assert text[cited.start : cited.end] == sentence


def test_a_true_sentence_of_the_middle_is_kept_and_a_wrong_figure_is_not(service: MemorySearchService) -> None:
    filler = "It has many features that are described at length here."
    records = [
        {
            "id": "a",
            "name": "Alpha One",
            "text": f"Alpha One is a phone. {f'{filler} ' * 12}Its battery lasts 41 hours.",
        },
        {"id": "b", "name": "Beta Two", "text": f"Beta Two is a phone. {f'{filler} ' * 90}Its battery lasts 29 hours."},
    ]
    service.ingest("t", records)
    question = "how long does the battery of the Beta Two phone last?"
    said = (("The battery of Beta Two lasts 29 hours.", "b"), ("The battery of Alpha One lasts 29 hours.", "a"))
    job = answering(*said)
    result = service.search(question, job=job, plan=[{"table": "t", "query_text": question}])
    assert result.answer == said[0][0]
    assert [cited.id for cited in result.citations] == ["b", "a"]


def test_who_answers_sees_the_conversation_and_the_wording_that_was_searched(service: MemorySearchService) -> None:
    service.ingest("t", [{"id": "b", "name": "Beta Two", "text": "Its battery lasts 29 hours."}])
    job = answering(("The battery of Beta Two lasts 29 hours.", "b"))
    job.history = [ChatMessage("user", "Which phones do you have?"), ChatMessage("assistant", "Alpha One; Beta Two.")]
    plan = [{"table": "t", "query_text": "battery life of Beta Two"}]
    result = service.search("and the second one, how long does its battery last?", job=job, plan=plan)
    content = asked(job)
    assert [message["content"] for message in content["history"]] == [
        "Which phones do you have?",
        "Alpha One; Beta Two.",
    ]
    assert content["tried"][0]["wordings"] == ["battery life of Beta Two"]
    assert result.answer == "The battery of Beta Two lasts 29 hours."
