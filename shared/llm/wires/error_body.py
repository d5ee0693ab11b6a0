"""The error in a response's body, in any form: an object, a list, a text, a web page, JSON within a text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from shared.llm.chat import TokenUsage
from shared.llm.wires.shapes import clean, usage_of

UNSAID = "no reason given"
_MAX_TEXT, _MAX_SHOWN = 4000, 300
_SECRET = re.compile(
    r"\b(?:sk|gsk|csk|xai)[-_][\w*.-]{6,}|\b(?:key|Bearer)[-_ :]+(?=[\w*.-]*[\d*]|[\w*.-]{20})[\w*.-]{6,}"
    r"|\borg[-_][\w-]{4,}|\bproj[-_][\w-]{6,}|AIza[\w-]{10,}",
    re.I,
)
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.I | re.S)
_JSON = re.compile(r'\{\s*"')
_MAX_NESTED = 3  #: gateways in front of gateways, each with the error of the next one in its message
_CODES = ("code", "type", "status", "reason", "error_code", "error_type", "limit_source")


@dataclass(frozen=True)
class ErrorBody:
    """One error."""

    inner: Mapping[str, Any]  #: its members
    codes: tuple[str, ...]  #: every word by which it names its kind
    text: str  #: its message, for patterns
    shown: str  #: the message without secrets, for people
    usage: TokenUsage | None  #: tokens that were counted all the same

    @classmethod
    def read(cls, body: object) -> ErrorBody:
        inner = _error(body)
        message = inner.get("message")
        text = _line(message) if isinstance(message, str) else ""
        usage = usage_of(body.get("usage")) if isinstance(body, Mapping) else None
        return cls(inner, tuple(_codes(inner)), " ".join([text, *_quotas(inner)]).strip(), shown(text), usage)

    @property
    def says(self) -> str:
        """Return codes and message as one text."""
        return f"{' '.join(self.codes)} {self.text}"


def shown(text: str) -> str:
    """Return the text as it may be shown: one line, bounded, without secrets."""
    return _SECRET.sub("[secret]", _line(text))[:_MAX_SHOWN] or UNSAID


def of_exception(value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the error of an event that has it under its exception's name, as AWS sends it; None for other events."""
    for name, error in value.items():
        if name.endswith("Exception") and isinstance(error, Mapping):
            return {"error": {**error, "type": name}}
    return None


def _line(text: str) -> str:
    return " ".join(clean(text[:_MAX_TEXT]).split())


def objects(value: object) -> list[Mapping[str, Any]]:
    return [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, Mapping)]


def _codes(inner: Mapping[str, Any]) -> Iterator[str]:
    """Yield the codes, also those in the details of Google, Anthropic, OpenRouter and Azure."""
    nested = [inner.get("innererror"), inner.get("metadata"), inner.get("behind"), *objects(inner.get("details"))]
    for place in (inner, *nested):
        if isinstance(place, Mapping):
            for name in _CODES:
                if isinstance(value := place.get(name), str):
                    yield value


def _quotas(inner: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of Google's quotas that are used up."""
    for detail in objects(inner.get("details")):
        for violation in objects(detail.get("violations")):
            if isinstance(name := violation.get("quotaId"), str):
                yield name[:200]


def _error(body: object, depth: int = 0) -> Mapping[str, Any]:
    """Return the error as an object with a ``message``, from any of the usual forms.

    An object, a list with one (Gemini), a text, a web page, ``detail`` of FastAPI; JSON within a text is parsed.
    """
    if isinstance(body, list):
        inner = next((each for each in body if isinstance(each, Mapping)), None)
        return _error(inner, depth) if inner is not None else {"message": _text(body)}
    if isinstance(body, str):
        return _unfolded({"message": _page(body) or body}, depth)
    if not isinstance(body, Mapping):
        return {}
    inner = body.get("error")
    if (first := next(iter(objects(inner)), None)) is not None:
        details = body.get("details") if first.get("details") is None else first.get("details")
        return _unfolded({**first, "details": details, "message": _message(first)}, depth)
    values = (body.get(name) for name in ("error", "errors"))
    message = _message(body) or next((text for value in values if (text := _text(value))), None)
    return _unfolded({**body, "message": message}, depth)


def _page(body: str) -> str | None:
    """Return the words for a web page; None for another text."""
    text = body.strip()
    if "<html" not in text[:2000].lower() and not text[:20].lower().startswith(("<!doctype", "<head", "<?xml")):
        return None
    title = _TITLE.search(text)
    return f"a web page, {' '.join(title[1].split())!r}" if title else "a web page"


def _unfolded(inner: Mapping[str, Any], depth: int) -> Mapping[str, Any]:
    """Return the error with the words and codes of another one that its message holds as JSON."""
    message = inner.get("message")
    if not isinstance(message, str) or depth >= _MAX_NESTED:
        return inner
    for start in _JSON.finditer(message[:_MAX_TEXT]):
        try:
            value, end = json.JSONDecoder().raw_decode(message, start.start())
        except (ValueError, RecursionError):
            continue
        behind = _error(value, depth + 1)
        if isinstance(words := behind.get("message"), str) and words:
            said = {name: each for name, each in inner.items() if each is not None}
            message = f"{message[: start.start()]}{words}{message[end:]}"
            return {**behind, **said, "behind": behind, "message": message}
    return inner


def _message(inner: Mapping[str, Any]) -> str | None:
    """Return the error's message, with that of the vendor behind a gateway."""
    message = _text(inner.get("message")) or _text(inner.get("detail")) or _text(inner.get("msg"))
    metadata = inner.get("metadata")
    behind = metadata.get("raw") if isinstance(metadata, Mapping) else None
    return f"{message}: {behind}" if message and isinstance(behind, str) and behind else message or _text(behind)


def _text(value: object, depth: int = 0) -> str | None:
    """Return the message in a text, or in the lists and objects that validators return."""
    if depth > 5:
        return None
    if isinstance(value, Mapping):
        place = ".".join(map(str, value["loc"])) if isinstance(value.get("loc"), list) else None
        named = (value.get(name) for name in ("msg", "message", "error", "detail"))
        said = _text(next((each for each in named if each), None), depth + 1)
        return f"{place}: {said}" if place and said else said
    if isinstance(value, list):
        return "; ".join(text for each in value[:5] if (text := _text(each, depth + 1))) or None
    return value if isinstance(value, str) and value.strip() else None
