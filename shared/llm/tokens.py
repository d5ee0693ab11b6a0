"""How many tokens a text will be to a model, estimated rather too high than too low."""

from __future__ import annotations

import json

from shared.llm.chat import ChatRequest, Tool

CHARACTERS = 3.0  #: to a token; English prose has four, JSON and code about three
_WIDE = 1.5  #: tokens of a character outside of ASCII, as in Chinese
MESSAGE = 8  #: tokens around each message
IMAGE = 1200


def tokens_of(text: str) -> int:
    wide = 0 if text.isascii() else sum(character > "\u024f" for character in text)
    return int((len(text) - wide) / CHARACTERS + wide * _WIDE) + 1


def prompt_tokens(request: ChatRequest) -> int:
    """Everything that is sent: messages, images, tools; a schema costs its text on many servers."""
    told = sum(tokens_of(message.content) + MESSAGE + IMAGE * len(message.images) for message in request.messages)
    return told + sum(tokens_of(tool_text(tool)) + MESSAGE for tool in request.tools)


def tool_text(tool: Tool) -> str:
    return tool.description + json.dumps(dict(tool.parameters))
