"""Makes a request fit into a model's window: as its kind knows best, else by cutting the longest messages."""

from __future__ import annotations

from dataclasses import dataclass, replace

from shared.llm.chat import ChatMessage, ChatRequest, Compact
from shared.llm.tokens import prompt_tokens

_LEAST = 160  #: characters that stay of every message
_ANSWER_SHARE = 4  #: of the window, at least, is kept for the answer
_SPARE = 16  #: tokens
_CUT = "the middle of the longest messages"
_WIDEST, _NARROWEST = 3.0, 0.25  #: how far a count may be from the estimate


@dataclass(frozen=True)
class Shortened:
    """A request that fits, its prompt's tokens before and after, and what was left out, in words."""

    request: ChatRequest
    tokens: int
    kept: int
    left_out: tuple[str, ...]


def shortened(
    request: ChatRequest, window: int | None, counted: int | None = None, compact: Compact | None = None
) -> Shortened | None:
    """Return the request shortened to the window (tokens), or to half its size if the window is unknown; None if it
    cannot be.

    ``counted``: tokens of the prompt by the server's count; the rest is measured by the same scale.
    ``compact``: how the request's kind shortens it; what is still too long afterwards is cut.
    The system message is cut last. Images are left out when the text alone is too long.
    """
    size = prompt_tokens(request)
    scale = 1.0 if not counted else min(max(counted / size, _NARROWEST), _WIDEST)
    if window is None:
        window, scale = max(size // 2 + min(request.max_tokens, size // 2), _LEAST), 1.0
    answer = min(request.max_tokens, window // _ANSWER_SHARE)
    budget = min(int((window - answer - _SPARE) / scale), size - 1)
    compacted = compact(budget) if compact is not None else None
    left_out = compacted.left_out if compacted is not None else ()
    made = request if compacted is None else replace(request, messages=compacted.messages)
    if compacted is None or prompt_tokens(made) > budget:
        cut = _cut_within(made, budget)
        if cut is None:
            return None
        made, left_out = cut, (*left_out, _CUT)
    kept = int(prompt_tokens(made) * scale)
    most = min(request.max_tokens, window - kept - _SPARE)
    return Shortened(replace(made, max_tokens=most), int(size * scale), kept, left_out)


def _cut_within(request: ChatRequest, budget: int) -> ChatRequest | None:
    for protected in ("system", ""):
        for images in (True, False):
            made = _cut_to(request, budget, protected, images)
            if made is not None:
                return made
    return None


def _cut_to(request: ChatRequest, budget: int, protected: str, images: bool) -> ChatRequest | None:
    """Cut every message to the highest length limit at which the request fits."""
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
    # The beginning says what the text is, and the end holds the request.
    left_out = len(text) - limit
    note = f"\n... {left_out:,} characters are left out here: the model's window is too small for them ...\n"
    kept = max(limit - len(note), 20)
    head = kept * 3 // 5
    return replace(message, content=text[:head] + note + text[len(text) - (kept - head) :])
