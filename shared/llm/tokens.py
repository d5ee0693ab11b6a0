"""How many tokens a text will be to a model, estimated rather too high than too low, and how many its answer may be."""

from __future__ import annotations

import json

from shared.llm.chat import ChatRequest, Tool
from shared.llm.faults import PromptTooLong

CHARACTERS = 3.0  #: to a token; English prose has four, JSON and code about three
_WIDE = 1.5  #: tokens of a character outside of ASCII, as in Chinese
MESSAGE = 8  #: tokens around each message
IMAGE = 1200
_SPARE, _LEAST_ANSWER = 16, 64  #: tokens


def tokens_of(text: str) -> int:
    wide = 0 if text.isascii() else sum(character > "\u024f" for character in text)
    return int((len(text) - wide) / CHARACTERS + wide * _WIDE) + 1


def prompt_tokens(request: ChatRequest) -> int:
    """Everything that is sent: messages, images, tools; a schema costs its text on many servers."""
    total = sum(tokens_of(message.content) + MESSAGE + IMAGE * len(message.images) for message in request.messages)
    return total + sum(tokens_of(tool_text(tool)) + MESSAGE for tool in request.tools)


def tool_text(tool: Tool) -> str:
    return tool.description + json.dumps(dict(tool.parameters))


def cap_beside(prompt: int, window: int) -> int | None:
    """Return the tokens that an answer may have; None when the prompt leaves too few."""
    cap = window - prompt - _SPARE
    return cap if cap >= _LEAST_ANSWER else None


def smaller_cap(request: ChatRequest, fault: PromptTooLong) -> int | None:
    """Return the cap that fits the server's numbers; None when the prompt is too long or the cap is not the cause."""
    cap = cap_beside(fault.prompt or prompt_tokens(request), fault.window or 0)
    return cap if cap is not None and cap < request.max_tokens else None
