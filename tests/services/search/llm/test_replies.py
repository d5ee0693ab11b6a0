"""Replies of models: parsed leniently; messages to people are friendly and not technical."""

from __future__ import annotations

import pytest

from services.search.llm.replies import PlanReply, ProposedQuery, friendly, parse, stock_message


@pytest.mark.parametrize(
    "message",
    ["I will look for related topics instead.", "Vielleicht steht es woanders. Ich schaue nach!", "Let's try again 🙂"],
)
def test_a_friendly_message_is_kept(message: str) -> None:
    assert friendly(message, "rewrite") == message


@pytest.mark.parametrize(
    "message",
    [
        "",
        "   ",
        "I will lower the score threshold.",
        "Switching to faceted search",
        "Trying master search now",
        "The VECTOR was off",
        "new query_text coming",
        'Here: {"a": 1}',
        "see https://evil.test",
        "<b>bold</b>",
        "x" * 301,
    ],
)
def test_anything_else_becomes_a_stock_sentence(message: str) -> None:
    assert friendly(message, "rewrite") == stock_message("rewrite")


def test_line_breaks_and_control_characters_are_removed() -> None:
    assert friendly("one\n\ntwo\x00\x1b three", "pivot") == "one two three"


@pytest.mark.parametrize("strategy", ["relax", "rewrite", "pivot", "mechanical"])
def test_the_stock_sentences_pass_their_own_check(strategy: str) -> None:
    sentence = stock_message(strategy)  # type: ignore[arg-type]
    assert friendly(sentence, "relax") == sentence


@pytest.mark.parametrize(
    "text",
    [
        '{"queries": []}',
        'Here is the plan:\n```json\n{"queries": []}\n```\nGood luck!',
        '{"thought": "none"} {"queries": []}',
        '{broken {"queries": []}',
    ],
)
def test_the_first_object_that_fits_is_taken_whatever_surrounds_it(text: str) -> None:
    assert parse(text, PlanReply) == PlanReply(queries=[])


@pytest.mark.parametrize("text", ["", "no JSON", "[]", '{"queries": NaN}', '{"plan": []}', "{" * 5000])
def test_a_reply_without_such_an_object_is_none(text: str) -> None:
    assert parse(text, PlanReply) is None


def test_bad_members_of_a_query_become_their_defaults() -> None:
    text = (
        '{"queries": [7, {"table": 1, "search_mode": "magic", "limit": "many", "score_threshold": 7, "filters": []}]}'
    )
    plan = parse(text, PlanReply)
    assert plan is not None
    assert plan.queries == [ProposedQuery()]
