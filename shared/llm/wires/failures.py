"""An SDK's exception as one of our faults: by status and by what was seen on the wire, never by the vendor's class."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from shared.errors import JobCancelled
from shared.llm import faults
from shared.llm.call_clock import Watch
from shared.llm.faults import ProviderFault
from shared.llm.wires import words
from shared.llm.wires.limits import RateLimits

_TIME_OUTS = {
    "first_token": "It did not begin to answer in time.",
    "idle": "Its answer stalled.",
    "total": "Its answer did not end in time.",
}
_SECRET = re.compile(r"\b(?:sk|gsk|csk|key|Bearer)[-_ ][\w*.-]{6,}", re.IGNORECASE)


def fault_of(error: Exception, watch: Watch) -> ProviderFault:
    """Raises: JobCancelled when that is what ended the call."""
    if isinstance(error, ProviderFault):
        return error
    if watch.ended == "cancelled":
        raise JobCancelled("The job was cancelled while a model was asked.")
    if watch.ended == "size":
        return faults.UnreadableAnswer("Its answer is larger than any model's.")
    if watch.ended is not None:
        return faults.TimedOut(_TIME_OUTS[watch.ended])
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and status >= 400:
        return of_status(status, getattr(error, "body", None), RateLimits.read(watch.headers))
    return _of_connection(error, watch)


#: Names of httpx, httpx2 and the SDKs for a connection that failed.
_NETWORK = {
    "APIConnectionError",
    "ConnectError",
    "ReadError",
    "WriteError",
    "CloseError",
    "ProxyError",
    "RemoteProtocolError",
    "LocalProtocolError",
    "UnsupportedProtocol",
    "InvalidURL",
}


def _of_connection(error: Exception, watch: Watch) -> ProviderFault:
    kinds = {type(link).__name__ for link in _chain(error)}
    if kinds & {"JSONDecodeError", "UnicodeDecodeError", "APIResponseValidationError", "DecodingError"}:
        return faults.UnreadableAnswer("Its answer is broken, or is no model's answer.")
    if kinds & {"APITimeoutError", "ConnectTimeout", "ReadTimeout", "WriteTimeout", "PoolTimeout"}:
        what = "accept the connection" if "ConnectTimeout" in kinds else "answer"
        return faults.TimedOut(f"It did not {what} in time.")
    if not kinds & _NETWORK:
        raise error  # a defect of ours is no fault of the provider
    if watch.received:
        return faults.StreamCut("The connection was cut in the middle of the answer.")
    if kinds & {"RemoteProtocolError", "ReadError", "WriteError"}:
        if not watch.connected:
            return faults.StaleConnection("A kept connection had been closed.")
        return faults.StreamCut("The connection was cut before the answer.")
    return faults.ConnectionFailed("It cannot be reached: check its address and the network.")


_BY_STATUS: Mapping[int, tuple[type[ProviderFault], str]] = {
    401: (faults.InvalidKey, "It does not accept the API key."),
    402: (faults.PaymentRequired, "It asks for payment."),
    405: (faults.EndpointNotFound, "There is no model API at its address: check the base URL."),
    404: (faults.EndpointNotFound, "There is no model API at its address: check the base URL."),
    408: (faults.TimedOut, "It timed out by itself."),
    409: (faults.ServerError, "It reports a conflict."),
    429: (faults.RateLimited, "Its rate limit is reached."),
    503: (faults.ProviderOverloaded, "It is overloaded."),
    504: (faults.TimedOut, "It timed out by itself."),
    529: (faults.ProviderOverloaded, "It is overloaded."),
}


_UNSAID = "no reason given"
_KINDS = {
    "tool_use_failed": 400,
    "overloaded": 529,
    "rate_limit": 429,
    "authentication": 401,
    "permission": 403,
    "invalid_request": 400,
}


def of_status(status: int, body: object, limits: RateLimits) -> ProviderFault:  # noqa: PLR0911
    """The fault behind an error status; details of requests are repeated without secrets, those of keys never."""
    inner = _error(body)
    code, message = f"{inner.get('code') or ''} {inner.get('type') or ''}", _clean(inner.get("message"))
    if (said := _in_words(status, inner, f"{code} {message}", message)) is not None:
        return said
    if status == 400 and "tool_use_failed" in code:
        generation = inner.get("failed_generation")
        text = generation if isinstance(generation, str) else json.dumps(generation or "")
        return faults.ToolUseFailed("The model's tool call does not fit its format.", text, status)
    if status == 403:
        return faults.Forbidden(f"It forbids this request: {message}", status)
    if status == 404 and ("model" in code or "model" in message.lower()):
        return faults.UnknownModel(f"It does not have this model: {message}", status)
    if status in _BY_STATUS:
        fault, words = _BY_STATUS[status]
        return fault(words, status, limits.wait() if status == 429 else limits.retry_after)
    if status >= 500:
        return faults.ServerError("It failed inside." if message == _UNSAID else f"It failed inside: {message}", status)
    return faults.RequestRefused(f"It refuses the request: {message}", status)


def _in_words(status: int, inner: Mapping[str, Any], said: str, message: str) -> ProviderFault | None:
    """What servers tell in words only, under whatever status."""
    if "tool_use_failed" in said or status in (401, 402, 403, 429):
        return None
    if status in (500, 503) and words.is_loading(said):
        return faults.Starting("It is loading its model.", status)
    if status in (400, 413, 422, 500) and words.overflows(said):
        window, prompt = words.window_of(inner, message), words.prompt_of(inner, message)
        return faults.PromptTooLong(f"The prompt does not fit into its window: {message}", status, window, prompt)
    if status in (400, 415, 422, 500, 501) and words.refuses_images(said):
        return faults.ImagesUnsupported(f"It does not take images: {message}", status)
    if status in (400, 422, 500) and words.refuses_schema(said):
        return faults.SchemaUnsupported(f"It does not take this answer schema: {message}", status)
    return None


def of_event(body: Mapping[str, Any]) -> ProviderFault:
    """The fault behind an error inside a stream."""
    inner = _error(body)
    given = inner.get("status_code") or inner.get("code")
    if isinstance(given, int) and 400 <= given <= 599:
        return of_status(given, body, RateLimits())
    kind = f"{inner.get('type')} {given}"
    status = next((status for word, status in _KINDS.items() if word in kind), 500)
    return of_status(status, body, RateLimits())


def _error(body: object) -> Mapping[str, Any]:
    """The error with a ``message``, in whichever of the usual forms: an object, a text, ``detail`` of FastAPI."""
    if isinstance(body, str):
        return {} if "<html" in body.lower() else {"message": body}
    if not isinstance(body, Mapping):
        return {}
    inner = body.get("error")
    if isinstance(inner, Mapping):
        return {**inner, "message": _text(inner.get("message"))}
    told = (body.get(name) for name in ("message", "error", "detail", "msg"))
    return {**body, "message": next((text for value in told if (text := _text(value))), None)}


def _text(value: object) -> str | None:
    """Words of a text, or of the lists and objects that validators answer."""
    if isinstance(value, Mapping):
        place = ".".join(map(str, value["loc"])) if isinstance(value.get("loc"), list) else None
        said = _text(value.get("msg") or value.get("message") or value.get("error"))
        return f"{place}: {said}" if place and said else said
    if isinstance(value, list):
        return "; ".join(text for each in value[:5] if (text := _text(each))) or None
    return value if isinstance(value, str) and value.strip() else None


def _clean(message: object) -> str:
    text = " ".join(message.split()) if isinstance(message, str) else _UNSAID
    return _SECRET.sub("[secret]", text)[:300]


def _chain(error: BaseException | None) -> list[BaseException]:
    links: list[BaseException] = []
    while error is not None and len(links) < 10:
        links.append(error)
        error = error.__cause__ or error.__context__
    return links
