"""What the kinds share when they make their prompts shorter: earlier exchanges, long texts, JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from pydantic import JsonValue

from shared.llm.chat import ChatMessage
from shared.llm.tokens import CHARACTERS, MESSAGE, tokens_of

EARLIER = "earlier messages"
_SAID = 48  #: characters of the line that says how much is left out
NOTE = 24  #: tokens of what is said about them


def tokens_in(messages: Sequence[ChatMessage]) -> int:
    return sum(tokens_of(message.content) + MESSAGE for message in messages)


def characters_of(tokens: int) -> int:
    """Return how many ASCII characters fit into the given number of tokens."""
    return max(0, int(tokens * CHARACTERS))


def latest(history: Sequence[ChatMessage], tokens: int) -> list[ChatMessage]:
    """Return the latest messages that fit, starting with one of the user."""
    sizes = list(accumulate(tokens_in([message]) for message in reversed(history)))
    if not sizes or sizes[-1] <= tokens:
        return list(history)
    first = len(history) - sum(size <= tokens - NOTE for size in sizes)
    start = next((at for at in range(first, len(history)) if history[at].role == "user"), len(history))
    return list(history[start:])


def noted(messages: Sequence[ChatMessage], dropped: int) -> tuple[ChatMessage, ...]:
    """Return the messages; the first one notes how many earlier ones are left out."""
    if not dropped:
        return tuple(messages)
    first, *others = messages
    said = f"({dropped} earlier messages are left out here.)\n\n{first.content}"
    return (replace(first, content=said), *others)


def cut_lines(text: str, characters: int) -> str:
    """Return the first and last lines that fit, with the number of omitted lines between them."""
    if len(text) <= characters:
        return text
    left, lines = max(0, characters - _SAID), text.splitlines()
    head = sum(size <= left * 2 // 3 for size in accumulate(len(line) + 1 for line in lines))
    left -= sum(len(line) + 1 for line in lines[:head])
    tail = sum(size <= left for size in accumulate(len(line) + 1 for line in reversed(lines[head:])))
    left_out = len(lines) - head - tail
    if head + tail == 0:  # one line that is longer than all there is
        return f"{text[:left]}\n... {len(text) - left:,} characters are left out ..."
    return "\n".join([*lines[:head], f"... {left_out:,} lines are left out ...", *lines[len(lines) - tail :]])


def smaller(value: JsonValue, items: int, characters: int) -> JsonValue:
    """JSON with the first items of every list, and the beginnings of its texts; both say how much is left out."""
    match value:
        case str() if len(value) > characters:
            return f"{value[:characters]}... ({len(value) - characters:,} characters left out)"
        case list():
            kept = [smaller(item, items, characters) for item in value[:items]]
            return kept if len(value) <= items else [*kept, f"... {len(value) - items:,} more are left out"]
        case dict():
            return {name: smaller(item, items, characters) for name, item in value.items()}
        case _:
            return value
