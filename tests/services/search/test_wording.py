"""What a person is told is friendly and free of the machinery."""

from __future__ import annotations

import pytest

from services.search.wording import friendly, stock


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
    assert friendly(message, "rewrite") == stock("rewrite")


def test_line_breaks_and_control_signs_are_removed() -> None:
    assert friendly("one\n\ntwo\x00\x1b three", "pivot") == "one two three"


@pytest.mark.parametrize("strategy", ["relax", "rewrite", "pivot", "mechanical"])
def test_the_stock_sentences_pass_their_own_check(strategy: str) -> None:
    sentence = stock(strategy)  # type: ignore[arg-type]
    assert friendly(sentence, "relax") == sentence
