"""A flow's messages in a small window: fewer earlier exchanges, tools in a line each, then less of the flow."""

from __future__ import annotations

from collections.abc import Sequence

from services.flows.messages import request_message
from services.flows.state import state_of
from shared.flows.document import Document
from shared.llm.chat import ChatMessage, Compacted, Prompts
from shared.llm.compact import EARLIER, NOTE, characters_of, cut_lines, latest, noted, tokens_in

_LEAST_STATE = 80  #: tokens
_DENSER = 0.85  #: the state has 3.5 characters to a token, and a window three


def compacted(
    prompts: Prompts,
    document: Document,
    question: str,
    topic: str,
    messages: Sequence[ChatMessage],
    tokens: int,
) -> Compacted | None:
    """``messages``: as they are without limits: the system's, the exchanges before, the request."""
    system, *history, full = messages
    rest = tokens - tokens_in([system])
    if (left := rest - tokens_in([full])) >= 0:  # without some of the exchanges it fits
        kept = latest(history, left - NOTE)
        return Compacted((system, *noted([*kept, full], len(history) - len(kept))), (EARLIER,))
    asked = cut_lines(question, characters_of(rest // 3))

    def request(state: int) -> ChatMessage:
        return ChatMessage("user", request_message(prompts, document, asked, topic, state, brief=True))

    left = rest - tokens_in([request(0)]) - NOTE
    if left < 0:
        return None
    state = max(_LEAST_STATE, int(left * _DENSER))
    shown = request(state)
    kept = latest(history, rest - tokens_in([shown]))
    dropped = len(history) - len(kept)
    left_out = (
        (EARLIER, dropped > 0),
        ("details of the tools", True),
        ("parts of the flow", state_of(document, topic, state) not in full.content),
        ("parts of what failed", asked != question),
    )
    return Compacted((system, *noted([*kept, shown], dropped)), tuple(words for words, holds in left_out if holds))
