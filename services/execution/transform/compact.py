"""A transform's messages in a small window: fewer earlier exchanges, then less of the data, then fewer turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from shared.llm.chat import ChatMessage, Compacted
from shared.llm.compact import EARLIER, NOTE, latest, noted, tokens_in

_PREVIEWS = (1000, 600, 300, 150, 60)  #: tokens of data, largest first


def compacted(
    system: ChatMessage,
    history: Sequence[ChatMessage],
    first: ChatMessage,
    turns: Sequence[ChatMessage],
    opening: Callable[[int], str],
    tokens: int,
) -> Compacted | None:
    """Shorten the exchange; ``opening``: the first message with a preview of that many tokens. None if nothing fits."""
    rest = tokens - tokens_in([system])
    exchanges = _exchanges(turns)
    openings = [first, *(replace(first, content=opening(size)) for size in _PREVIEWS)]
    for kept in dict.fromkeys((len(exchanges), 3, 2, 1)):
        if kept > len(exchanges):
            continue
        said = [message for exchange in exchanges[len(exchanges) - kept :] for message in exchange]
        for shown in openings if kept == len(exchanges) else openings[2:]:
            note = _with_note(shown, len(exchanges) - kept)
            left = rest - tokens_in([note, *said]) - NOTE
            if left >= 0:
                earlier = latest(history, left)
                dropped = len(history) - len(earlier)
                left_out = (
                    (EARLIER, dropped > 0),
                    ("rows and columns of the preview", shown is not first),
                    ("turns before the last ones", kept < len(exchanges)),
                )
                messages = (system, *noted([*earlier, note], dropped), *said)
                return Compacted(messages, tuple(words for words, holds in left_out if holds))
    return None


def _exchanges(turns: Sequence[ChatMessage]) -> list[list[ChatMessage]]:
    """Return each answer of the model with the feedback that followed it."""
    exchanges: list[list[ChatMessage]] = []
    for message in turns:
        if message.role == "assistant" or not exchanges:
            exchanges.append([])
        exchanges[-1].append(message)
    return exchanges


def _with_note(first: ChatMessage, dropped: int) -> ChatMessage:
    if not dropped:
        return first
    return replace(first, content=f"{first.content}\n\n({dropped} of your earlier answers are left out here.)")
