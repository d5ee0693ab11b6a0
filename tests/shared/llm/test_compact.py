"""Prompts made shorter: what is kept fits, is whole where it can be, and says what is missing."""

from __future__ import annotations

import pytest

from shared.llm.chat import ChatMessage
from shared.llm.compact import cut_lines, latest, noted, smaller, tokens_in

TALK = [ChatMessage("user" if at % 2 == 0 else "assistant", f"{at} " + "word " * 30) for at in range(8)]


@pytest.mark.parametrize("characters", [60, 200, 777, 2000])
def test_the_first_and_last_lines_are_kept(characters: int) -> None:
    lines = [f"line {number}" for number in range(300)]
    cut = cut_lines("\n".join(lines), characters)
    assert len(cut) <= characters
    head, _, tail = cut.partition("... ")
    kept = [*head.splitlines(), *tail.splitlines()[1:]]
    assert all(line in lines for line in kept)
    assert f"{300 - len(kept)} lines are left out" in cut


def test_one_long_line_is_cut_at_its_end() -> None:
    assert cut_lines("x" * 500, 100) == "x" * 52 + "\n... 448 characters are left out ..."
    assert cut_lines("short", 100) == "short"


@pytest.mark.parametrize("tokens", [0, 80, 200, 400])
def test_the_last_exchanges_are_kept_whole(tokens: int) -> None:
    kept = latest(TALK, tokens)
    assert kept == TALK[len(TALK) - len(kept) :]
    assert tokens_in(kept) <= tokens
    assert not kept or kept[0].role == "user"
    first = noted([*kept, ChatMessage("user", "Now?")], len(TALK) - len(kept))[0]
    assert (f"{len(TALK) - len(kept)} earlier messages are left out here" in first.content) == (len(kept) < len(TALK))


def test_lists_and_texts_of_json_say_what_is_missing() -> None:
    made = smaller({"hits": [{"text": "x" * 50, "n": 1}, {"n": 2}, {"n": 3}], "ok": True}, 2, 10)
    assert made == {
        "hits": [{"text": "x" * 10 + "... (40 characters left out)", "n": 1}, {"n": 2}, "... 1 more are left out"],
        "ok": True,
    }
