"""A request without what changes from run to run, so that the same question is recognised."""

from __future__ import annotations

import hashlib
import json
import re

from pydantic import JsonValue

from shared.llm.chat import ChatMessage, ChatRequest

_VOLATILE = (
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE), "<id>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"), "<time>"),
    (re.compile(r"/(?:tmp|var/tmp|var/folders|private/tmp)/[\w./+-]+"), "<path>"),
    (re.compile(r"\b[0-9a-f]{24,64}\b"), "<hex>"),
    (re.compile(r"\b(?:127\.0\.0\.1|localhost):\d{2,5}\b"), "<address>"),
)
_SECRETS = (
    re.compile(r"\b(?:sk|gsk|csk|pk|rk|ghp|gho|xox[abp]|glpat|hf|assay)[-_][\w-]{12,}"),
    re.compile(r"\bAKIA[0-9A-Z]{16}\b"),
    re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}"),
    re.compile(r"(?<=\bBearer )[\w.~+/-]{12,}=*"),
    re.compile(r"(?<=://)[^\s/:@]+:[^\s/@]+(?=@)"),
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----", re.DOTALL),
)


def without_secrets(text: str) -> str:
    """Keys, tokens and passwords in URLs are never stored."""
    for pattern in _SECRETS:
        text = pattern.sub("<secret>", text)
    return text


def cleaned(value: JsonValue) -> JsonValue:
    """The same without secrets in any of its texts."""
    if isinstance(value, str):
        return without_secrets(value)
    if isinstance(value, list):
        return [cleaned(item) for item in value]
    if isinstance(value, dict):
        return {name: cleaned(inner) for name, inner in value.items()}
    return value


def canonical(request: ChatRequest) -> dict[str, JsonValue]:
    """Role, words, tools and form of the answer; not the model, its parameters, the deadline, the prompt's version."""
    return {
        "role": request.role,
        "messages": [_message(message) for message in request.messages],
        "tools": [
            {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
            for tool in request.tools
        ],
        "schema": None if request.schema is None else dict(request.schema.schema),
    }


def key_of(normalized: dict[str, JsonValue]) -> str:
    text = json.dumps(normalized, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _message(message: ChatMessage) -> dict[str, JsonValue]:
    return {
        "role": message.role,
        "content": _without_volatile_parts(message.content),
        "images": [hashlib.sha256(image.data).hexdigest() for image in message.images],
        "tool_calls": [{"name": call.name, "params": cleaned(dict(call.params))} for call in message.tool_calls],
    }


def _without_volatile_parts(text: str) -> str:
    """The text with ids, times, temporary paths and the like replaced, and without secrets."""
    text = without_secrets(text)
    for pattern, mark in _VOLATILE:
        text = pattern.sub(mark, text)
    return text
