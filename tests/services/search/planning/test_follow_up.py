"""A question that refers to an earlier one is searched with its words, when no model plans the search."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from services.search.planning.follow_up import refers, resolved
from services.search.store.open import open_local
from shared.llm.chat import ChatMessage
from tests.services.search.service import HashedWords, MemorySearchService
from tests.support.context import MemoryContext

PHONES = [
    {"id": "a", "name": "Alpha One", "text": "Phone with a 50 megapixel camera and a battery that can last two days."},
    {"id": "b", "name": "Beta Two", "text": "Phone with a 50 megapixel camera and wireless charging."},
    {"id": "c", "name": "Gamma", "text": "Tablet for drawing, with a pen."},
]
FIRST = "Which phone has a 50 megapixel camera?"
ANSWER = "These records match the question.\nphones: Alpha One [a]; Beta Two [b]."


@pytest.fixture(scope="module")
def shop() -> Iterator[MemorySearchService]:
    store = open_local()
    service = MemorySearchService(store, HashedWords())
    service.catalog.create("tenant", "c", {"phones": {}})
    service.ingest("phones", PHONES)
    yield service
    store.close()


def talk(*messages: str) -> list[ChatMessage]:
    return [ChatMessage("assistant" if number % 2 else "user", text) for number, text in enumerate(messages)]


@pytest.mark.parametrize(
    "question",
    [
        "and the second one?", "how long does its battery last?", "what about the cheaper one?", "which one is new?",
        "why?", "tell me more", "is it waterproof?", "does it have 5G?", "And in Germany?", "what does that cost?",
        "how much are they?", "who made it?", "what colors does it come in?", "the last one", "When was she born?",
        "how about red?", "more details please", "und die zweite?", "Wer hat davon gehört?", "et le deuxième ?",
        "y el segundo?", "e il secondo?", "а второй?", "その価格は？", "第二个呢",
    ],
)  # fmt: skip
def test_a_question_that_stands_for_something_said_before_refers(question: str) -> None:
    assert refers(question)


@pytest.mark.parametrize(
    "question",
    [
        FIRST, "How do I reset my password?", "Is it possible to cancel an order?", "How long does it take to ship?",
        "a phone that has 5G", "What is the first step of installing Linux?", "When it rains, is the match cancelled?",
        "Do employees lose leave if they resign?", "Which authors publish their own novels?", "opening hours",
        "What is the second largest city?", "E-mail settings", "What is the capital of France?", "Y-axis label",
        "Wie viel Urlaub habe ich?", "Wie lauten Ihre Öffnungszeiten?", "Quelle est la capitale de la France ?",
        "日本の首都はどこですか", "как сбросить пароль", "Notebook und Drucker", "Where is the museum?", "???",
    ],
)  # fmt: skip
def test_a_question_that_stands_alone_does_not_refer(question: str) -> None:
    assert not refers(question)


@pytest.mark.parametrize(
    ("question", "first", "record"),
    [
        ("and the second one?", "b", "Beta Two"),
        ("the first one, does it have a battery that lasts?", "a", "Alpha One"),
        ("what about the last one?", "b", "Beta Two"),
        ("how long does its battery last?", None, ""),
        ("does it last for the first two days?", None, ""),
        ("what about the second phone?", "b", "Beta Two"),
    ],
)
def test_a_follow_up_is_searched_with_what_it_refers_to(
    shop: MemorySearchService, question: str, first: str | None, record: str
) -> None:
    job = MemoryContext()
    job.history = talk(FIRST, ANSWER)
    result = shop.search(question, job=job)
    assert result.verdict == "found"
    assert {"a", "b"} <= {hit.id for hit in result.hits["phones"] if not hit.weak}
    assert first in (None, result.hits["phones"][0].id)
    [query] = result.attempts[0].queries
    assert query.query_text == " ".join(filter(None, [FIRST, record, question]))
    assert any(FIRST in warning for warning in job.report.warnings)
    alone = shop.search(question)
    assert alone.attempts[0].queries[0].query_text == question


def test_the_conversation_of_the_service_itself_is_followed(shop: MemorySearchService) -> None:
    asked = MemoryContext()
    answer = shop.search(FIRST, job=asked).answer or ""
    job = MemoryContext()
    job.history = talk(FIRST, answer)
    names = {"a": "Alpha One", "b": "Beta Two"}
    second = shop.search(FIRST).hits["phones"][1].id
    result = shop.search("and the second one?", job=job)
    assert (result.verdict, result.hits["phones"][0].name) == ("found", names[second])


@pytest.mark.parametrize(
    "answer",
    [
        "1. Alpha One: a phone\n2. Beta Two: another\n",
        "These fit:\n- Alpha One (50 MP)\n- **Beta Two** (wireless)",
        ANSWER,
    ],
)
def test_a_list_in_a_models_answer_is_pointed_into(answer: str) -> None:
    assert resolved("and the second one?", talk(FIRST, answer)) == (f"{FIRST} Beta Two and the second one?", FIRST)


def test_a_question_that_stands_alone_is_searched_as_it_is_in_a_conversation(shop: MemorySearchService) -> None:
    job = MemoryContext()
    job.history = talk(FIRST, ANSWER)
    result = shop.search("opening hours of the museum", job=job)
    assert (result.verdict, result.attempts[0].queries[0].query_text) == ("not_found", "opening hours of the museum")


def test_a_chain_of_follow_ups_goes_back_to_the_question_that_stands_alone() -> None:
    history = talk(FIRST, ANSWER, "and the second one?", "phones: Beta Two [b].", "why?", "It is so.")
    assert resolved("and its price?", history) == (f"{FIRST} and its price?", FIRST)
    assert resolved("and its price?", history[:4]) == (f"{FIRST} Beta Two and its price?", FIRST)


def test_without_an_earlier_question_there_is_nothing_to_refer_to() -> None:
    assert resolved("and the second one?", []) is None
    assert resolved("and the second one?", [ChatMessage("assistant", ANSWER)]) is None
    assert resolved("and?", talk("and the other?", "x")) == ("and the other? and?", "and the other?")
