"""Members of JSON from other parties: each has the requested type, or counts as missing."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from shared.llm.chat import TokenUsage
from shared.llm.faults import UnreadableAnswer

Json = Mapping[str, Any]
_LONGEST_NAME = 200  #: characters of a model's or a call's name
#: Halves of characters and NUL, as JSON may escape them: no text of a database holds one.
_UNSTORABLE = re.compile("[\ud800-\udfff\x00]")


def parsed(text: str | bytes) -> Any:
    """Parse JSON. Raises: UnreadableAnswer."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise UnreadableAnswer("A part of its answer is not valid JSON.") from None


def member(value: object, name: str) -> Any:
    """Return a member of what should be an object; None where it is not one."""
    return value.get(name) if isinstance(value, dict) else None


def text_of(value: object, name: str) -> str:
    text = member(value, name)
    return text if isinstance(text, str) else ""


def name_of(value: object, name: str) -> str:
    """Return a short text, such as an id, that some servers write as a number."""
    given = member(value, name)
    if isinstance(given, int) and not isinstance(given, bool):
        given = str(given)
    return clean(given)[:_LONGEST_NAME] if isinstance(given, str) else ""


def object_of(value: object, name: str) -> Json:
    part = member(value, name)
    return part if isinstance(part, dict) else {}


def list_of(value: object, name: str) -> list[Any]:
    part = member(value, name)
    return part if isinstance(part, list) else []


#: Names of one count: the usual ones first, then those of the messages API, and of gateways in JavaScript.
_SENT = ("prompt_tokens", "input_tokens", "promptTokens", "inputTokens")
_RECEIVED = ("completion_tokens", "output_tokens", "completionTokens", "outputTokens")


def usage_of(usage: object) -> TokenUsage | None:
    """Return the tokens that a part of an answer, or an error, reports; None where it reports none."""
    if not isinstance(usage, dict):
        return None
    cached = member(usage.get("prompt_tokens_details"), "cached_tokens")
    counted = TokenUsage.reported(_any(usage, _SENT), _any(usage, _RECEIVED), cached)
    return None if counted == TokenUsage() else counted


def _any(value: Json, names: tuple[str, ...]) -> Any:
    return next((value[name] for name in names if value.get(name) is not None), None)


def index_of(value: object) -> int | None:
    """Return the ``index`` of a part of an answer; None without one."""
    index = member(value, "index")
    if isinstance(index, str) and index.isascii() and index.isdecimal() and len(index) < 10:
        return int(index)
    return index if isinstance(index, int) and not isinstance(index, bool) else None


def clean(text: str) -> str:
    """Join halves of characters that came apart; make visible what no text of a database holds (U+FFFD, U+2400)."""
    if text.isascii() and "\x00" not in text:
        return text
    if _UNSTORABLE.search(text) is None:
        return text
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return whole.replace("\x00", "\u2400")


def cleaned(value: Any) -> Any:
    """Clean every text of a JSON value."""
    match value:
        case str():
            return clean(value)
        case list():
            return [cleaned(each) for each in value]
        case dict():
            return {clean(name): cleaned(each) for name, each in value.items()}
    return value
