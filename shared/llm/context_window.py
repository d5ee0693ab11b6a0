"""A model's window holds the prompt and the answer: how long an answer may be beside a prompt."""

from __future__ import annotations

from shared.llm.chat import ChatRequest
from shared.llm.faults import PromptTooLong
from shared.llm.tokens import prompt_tokens

_SPARE, _LEAST_ANSWER = 16, 64  #: tokens


def cap_beside(prompt: int, window: int) -> int | None:
    """Tokens that an answer may have; None when the prompt leaves too few."""
    cap = window - prompt - _SPARE
    return cap if cap >= _LEAST_ANSWER else None


def smaller_cap(request: ChatRequest, fault: PromptTooLong) -> int | None:
    """The cap that fits by what the server said; None when the prompt itself is too long, or the cap no matter."""
    cap = cap_beside(fault.prompt or prompt_tokens(request), fault.window or 0)
    return cap if cap is not None and cap < request.max_tokens else None
