"""A transform in a small window keeps its last turn, shows less of the data, and says so."""

from __future__ import annotations

import pytest

from services.execution.transform.compact import compacted
from shared.llm.chat import ChatMessage
from shared.llm.compact import tokens_in

TALK = [ChatMessage("user" if at % 2 == 0 else "assistant", f"{at} " + "word " * 30) for at in range(8)]


@pytest.mark.parametrize("tokens", [2000, 1500, 900, 500])
def test_a_transform_keeps_its_last_turn_and_shows_less_data(tokens: int) -> None:
    system, first = ChatMessage("system", "Rules."), ChatMessage("user", "data " * 600)
    turns = [ChatMessage("assistant" if at % 2 == 0 else "user", f"{at} " + "code " * 80) for at in range(8)]
    made = compacted(system, TALK, first, turns, lambda size: "data " * int(size * 0.6), tokens)
    assert made is not None
    assert tokens_in(made.messages) <= tokens
    assert made.messages[0] == system
    assert list(made.messages[-2:]) == turns[-2:]
    assert "earlier messages" in made.left_out
    assert ("turns before the last ones" in made.left_out) == any(
        "of your earlier answers are left out" in message.content for message in made.messages
    )
    roles = [message.role for message in made.messages[1:]]
    assert roles == ["user" if at % 2 == 0 else "assistant" for at in range(len(roles))], "they still take turns"


def test_what_cannot_be_made_to_fit_is_left_to_others() -> None:
    assert compacted(ChatMessage("system", "x" * 900), [], ChatMessage("user", "y"), [], lambda _: "y", 100) is None
