"""Makes a request fit into a model's window: the longest messages are cut in their middle, and say so."""

from __future__ import annotations

from dataclasses import replace

from shared.llm.chat import ChatMessage, ChatRequest
from shared.llm.tokens import prompt_tokens

_LEAST = 160  #: characters that stay of every message
_ANSWER_SHARE = 4  #: of the window, at least, is kept for the answer
_SPARE = 16  #: tokens


def shortened(request: ChatRequest, window: int | None) -> ChatRequest | None:
    """The request within the window (tokens), half as long where nobody said how long that is; None if it cannot be.

    What the system is told is cut last. Images are left out when words alone are too much.
    """
    size = prompt_tokens(request)
    if window is None:
        window = max(size // 2 + min(request.max_tokens, size // 2), _LEAST)
    answer = min(request.max_tokens, window // _ANSWER_SHARE)
    budget = min(window - answer - _SPARE, size - 1)
    for protected in ("system", ""):
        for images in (True, False):
            made = _cut_to(request, budget, protected, images)
            if made is not None:
                return replace(made, max_tokens=min(request.max_tokens, window - prompt_tokens(made) - _SPARE))
    return None


def _cut_to(request: ChatRequest, budget: int, protected: str, images: bool) -> ChatRequest | None:
    """With the highest limit on the length of messages that fits."""
    least, most = _LEAST, max((len(message.content) for message in request.messages), default=0)
    best = None
    while least <= most:
        limit = (least + most) // 2
        made = replace(request, messages=tuple(_cut(message, limit, protected, images) for message in request.messages))
        if prompt_tokens(made) <= budget:
            best, least = made, limit + 1
        else:
            most = limit - 1
    return best


def _cut(message: ChatMessage, limit: int, protected: str, images: bool) -> ChatMessage:
    text = message.content
    message = message if images else replace(message, images=())
    if len(text) <= limit or message.role == protected:
        return message
    # The beginning says what it is, and the end what is asked for.
    left_out = len(text) - limit
    note = f"\n... {left_out:,} characters are left out here: the model's window is too small for them ...\n"
    kept = max(limit - len(note), 20)
    head = kept * 3 // 5
    return replace(message, content=text[:head] + note + text[len(text) - (kept - head) :])
