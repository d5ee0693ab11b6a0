"""A question of a search in a small window: fewer and shorter hits, then fewer lines about the tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from pydantic import JsonValue

from shared.llm.chat import ChatMessage, Compacted
from shared.llm.compact import cut_lines, smaller, tokens_in

Variables = Mapping[str, str | int]
_LEVELS = ((10, 300), (5, 200), (3, 120), (2, 80), (1, 60))  #: items of every list, characters of every text
_TABLES = (4000, 2000, 1000, 500, 200)  #: characters of each variable of the prompt


def compacted(
    render: Callable[[Variables], str], question: Mapping[str, JsonValue], variables: Variables, tokens: int
) -> Compacted | None:
    """Return the most of both that fits; None when nothing does."""
    asked = question.get("question")
    for most in (None, *_TABLES):
        shorter = {name: value if most is None else _cut(value, most) for name, value in variables.items()}
        system = ChatMessage("system", render(shorter))
        for items, characters in _LEVELS:
            made = smaller(dict(question), items, characters)
            assert isinstance(made, dict)
            if asked is not None:
                made["question"] = asked
            user = ChatMessage("user", json.dumps(made, ensure_ascii=False))
            if tokens_in([system, user]) <= tokens:
                left_out = (
                    ("hits and parts of their texts", made != question),
                    ("tables and their fields", shorter != variables),
                )
                return Compacted((system, user), tuple(words for words, holds in left_out if holds))
    return None


def _cut(value: str | int, most: int) -> str | int:
    return cut_lines(value, most) if isinstance(value, str) else value
