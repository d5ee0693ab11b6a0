"""The type of answer is read from a question's words, and missed in texts that only are about the topic."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import benchmarks.golden
from services.search.embed.models import EmbeddingModels
from services.search.retrieval.answer_types import lacks_answer
from services.search.store.open import open_local
from tests.services.search.service import MemorySearchService

_ROWS = [
    json.loads(line)
    for line in (Path(benchmarks.golden.__file__).parent / "near_misses.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What does a double room cost?", "A quiet hotel with 42 rooms and a pool."),
        ("How much is a massage?", "Massages by appointment."),
        ("Was kostet eine Massage?", "Massagen nach Anmeldung."),
        ("Combien coûte un massage ?", "Massages sur rendez-vous."),
        ("How heavy is the phone?", "A phone with a screen of 6.1 inches."),
        ("Wie schwer ist das Telefon?", "Ein Telefon mit 6,1 Zoll."),
        ("How long does the battery last?", "The battery is large."),
        ("Wie lange hält der Akku?", "Der Akku ist groß."),
        ("How many rooms are there?", "A quiet hotel on the shore."),
        ("What is the phone number of the service?", "The service answers from 8 to 18 o'clock."),
        ("What is the email address of the service?", "Write to us at any time."),
        ("When was the lodge built?", "A wooden lodge for skiers."),
        ("When was the museum founded?", "Open from Tuesday to Sunday, 10 to 17 o'clock."),
        ("In what year was the phone released?", "A phone with a battery of 4500 mAh for 499 euros."),
        ("Wann wurde die Hütte gebaut?", "Eine Hütte auf 1800 m, täglich offen."),
        ("Quand a été fondé le musée ?", "Ouvert du mardi au dimanche, de 10 à 17 heures."),
        ("¿Cuándo fue fundado el museo?", "Abierto de martes a domingo, de 10 a 17 horas."),
    ],
)
def test_a_text_without_what_is_asked_for_lacks_it(question: str, text: str) -> None:
    assert lacks_answer(question, text)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What does a dog cost?", "Dogs are welcome for 15 francs a night."),
        ("How much is a ticket for children?", "Children enter for free."),
        ("How heavy is it?", "It weighs 310 grams."),
        ("How long is the notice period?", "The notice period is seven days."),
        ("How long is a gift card valid?", "Gift cards are valid for five years."),
        ("How many rooms are there?", "A lodge with sixteen rooms; all 16 rooms face south."),
        ("When may new staff work from home?", "Staff may work from home after the probation period."),
        ("Who built the clock?", "The large clock was built by Agatha Wenger."),
        ("How many rooms are there?", "Die Hütte hat siebzehn Zimmer."),
        ("Wie viele Zimmer gibt es?", "Die Hütte hat siebzehn Zimmer."),
        ("¿Cuántos años dura?", "Dura treinta y cinco años."),
        ("Сколько комнат?", "В доме двадцать две комнаты."),
        ("自転車を借りるといくらですか", "自転車は一日十二ユーロです。"),
        ("Сколько стоит велосипед?", "Велосипеды стоят 12 евро в день."),
        ("Когда тренируются пожарные?", "Они тренируются каждый четверг."),
        ("Когда открывают музей?", "Музей открывают после ремонта."),
        ("Quand ouvre le marché ?", "Il ouvre le samedi matin."),
        ("¿Cuándo es el mercado?", "Los sábados por la mañana."),
        ("Кто директор музея?", "Директор музея — Иван Петров."),
        ("¿Quién limpia las salas?", "El personal de limpieza."),
        ("When was the hall built?", "It was built in 1754."),
        ("When was the hall renovated?", "The renovation ended two years ago."),
        ("Wann wurde der Verein gegründet?", "Der Verein besteht seit dem Krieg."),
        ("Wann wurde sie gebaut?", "Sie stammt von neunzehnhundertachtzig."),
        ("Quand a été fondé le club ?", "Le club est né au siècle dernier."),
        ("When was the shop opened?", "The shop opened its doors in May."),
        ("When was it written?", "Written in nineteen eighty-four."),
        ("Is there a pool?", "A quiet hotel."),
        ("pool", "A quiet hotel."),
    ],
)
def test_in_doubt_a_text_is_taken_to_have_an_answer(question: str, text: str) -> None:
    assert not lacks_answer(question, text)


def test_no_answerable_question_of_our_own_lacks_its_answer() -> None:
    for row in _ROWS:
        for question in row["answered"]:
            assert not lacks_answer(question, f"{row['name']}\n{row['text']}"), question


@pytest.fixture(scope="module")
def guide(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemorySearchService]:
    store = open_local()
    embedder = EmbeddingModels("minilm", tmp_path_factory.mktemp("minilm")).named(None)
    service = MemorySearchService(store, embedder)
    tables = sorted({row["table"] for row in _ROWS})
    service.catalog.create("tenant", "c", {table: {} for table in tables})
    for table in tables:
        records: list[Any] = [
            {key: row[key] for key in ("id", "name", "text")} for row in _ROWS if row["table"] == table
        ]
        service.ingest(table, records)
    yield service
    store.close()


def _verdicts(service: MemorySearchService, kind: str, **more: Any) -> list[str]:
    return [
        service.search(question, tables=[row["table"]], reflection=False, **more).verdict
        for row in _ROWS
        for question in row[kind]
    ]


@pytest.mark.slow
def test_near_misses_are_rarely_found_where_an_answer_is_asked_for(guide: MemorySearchService) -> None:
    missed, answered = _verdicts(guide, "missed"), _verdicts(guide, "answered")
    assert missed.count("found") / len(missed) <= 0.5
    assert answered.count("found") / len(answered) >= 0.95
    assert answered.count("not_found") == 0
    without_answer = _verdicts(guide, "missed", answer=False)
    assert without_answer.count("found") > missed.count("found")


@pytest.mark.slow
def test_a_lone_emoji_is_reported_as_what_it_is(guide: MemorySearchService) -> None:
    for question in ("🙂", "🦄🦄", "???", "%"):
        result = guide.search(question)
        assert (result.verdict, result.hits) == ("not_found", {}), question
    guide.ingest("museum", [{"id": "e", "name": "Party 🎉", "text": "Balloons and cake."}])
    result = guide.search("🎉", tables=["museum"])
    assert [hit.id for hit in result.hits["museum"]] == ["e"]
    guide.ingest("museum", [], delete=["e"])
