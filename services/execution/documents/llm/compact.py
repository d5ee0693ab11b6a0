"""An instruction's messages in a small window: fewer earlier exchanges, then less of what the message is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shared.llm.chat import ChatMessage, Compacted
from shared.llm.compact import EARLIER, NOTE, characters_of, cut_lines, latest, noted, tokens_in

_LEAST = 120  #: characters of the document that are worth sending


def body_of(message: str, content: str, errors: str) -> str:
    return "\n\n".join(part for part in (message, content, errors) if part)


def compacted(sent: Sequence[ChatMessage], message: str, content: str, errors: str, tokens: int) -> Compacted | None:
    """``sent``: as it is without limits; the last message is made of the other three. None when that does not do."""
    system, *history, user = sent
    rest = tokens - tokens_in([system])
    if (left := rest - tokens_in([user])) >= 0:  # without some of the exchanges it fits
        kept = latest(history, left - NOTE)
        return Compacted((system, *noted([*kept, user], len(history) - len(kept))), (EARLIER,))
    kept = latest(history, rest // 4)
    dropped = len(history) - len(kept)
    bare = tokens_in([*kept, replace(user, content=body_of(message, "", ""))])
    left = characters_of(rest - bare - NOTE) - 8
    if left < _LEAST:
        return None
    shortened = cut_lines(errors, left // 3)
    about = cut_lines(content, left - len(shortened))
    left_out = (
        (EARLIER, dropped > 0),
        ("lines of the document", about != content),
        ("lines of the errors", shortened != errors),
    )
    shorter = replace(user, content=body_of(message, about, shortened))
    return Compacted((system, *noted([*kept, shorter], dropped)), tuple(words for words, holds in left_out if holds))
