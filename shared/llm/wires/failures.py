"""Whatever ends a call as one of our faults: by status, by words, and by what was seen on the wire.

Nothing leaves this boundary but a ``ProviderFault`` or the job's own end, so that each call is in the ledger.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from shared.errors import AssayError, JobCancelled
from shared.llm import faults
from shared.llm.call_clock import Watch
from shared.llm.faults import ProviderFault
from shared.llm.wires import words
from shared.llm.wires.connections import chain_of, of_connection
from shared.llm.wires.limits import RateLimits, seconds_in, seconds_of
from shared.llm.wires.refusals import Refusal, refusal_of
from shared.llm.wires.shapes import clean

log = logging.getLogger(__name__)

_TIME_OUTS = {
    "first_token": "It did not begin to answer in time.",
    "idle": "Its answer stalled.",
    "total": "Its answer did not end in time.",
}
_SECRET = re.compile(
    r"\b(?:sk|gsk|csk|xai|key|Bearer)[-_ ][\w*.-]{6,}|\borg[-_][\w-]{4,}|\bproj[-_][\w-]{6,}|AIza[\w-]{10,}", re.I
)
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.I | re.S)


def fault_of(error: Exception, watch: Watch) -> ProviderFault:  # noqa: PLR0911 - one for each kind
    """Return the fault behind any exception of a call. Raises: the job's own end, such as JobCancelled."""
    if isinstance(error, ProviderFault):
        return error
    if watch.ended == "cancelled":
        raise JobCancelled("The job was cancelled during a model call.")
    if isinstance(error, AssayError):
        raise error
    if watch.ended == "size":
        return faults.UnreadableAnswer("Its answer is larger than any model's.")
    if watch.ended is not None:
        return faults.TimedOut(_TIME_OUTS[watch.ended])
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and 300 <= status < 400:
        return faults.EndpointMoved(moved_to(watch.headers), status)
    if isinstance(status, int):
        return of_status(status, getattr(error, "body", None), RateLimits.read(watch.headers))
    if {type(link).__name__ for link in chain_of(error)} & _UNREADABLE:
        return faults.UnreadableAnswer("Its answer is broken, or not a model's answer.")
    if (fault := of_connection(error, watch)) is not None:
        return fault
    log.error("model_call_defect: %s", type(error).__name__, exc_info=error)
    return faults.AdapterFault(f"Assay could not process its response ({type(error).__name__}): a defect of Assay.")


_UNREADABLE = frozenset(
    {"JSONDecodeError", "UnicodeDecodeError", "APIResponseValidationError", "DecodingError", "RecursionError"}
)


def moved_to(headers: Mapping[str, str]) -> str:
    """Name the redirect's target without query and user, which may hold secrets."""
    target = urlsplit(headers.get("location", ""))
    if not target.path and not target.hostname:
        return "It redirects to another address, which it does not name."
    place = f"{target.scheme}://{target.netloc.rpartition('@')[2]}{target.path}" if target.netloc else target.path
    return f"It redirects to {_clean(place)}: set that address as its base URL. Redirects are not followed."


_BY_STATUS: Mapping[int, tuple[type[ProviderFault], str]] = {
    401: (faults.InvalidKey, "It does not accept the API key."),
    402: (faults.PaymentRequired, "It requires payment"),
    405: (faults.EndpointNotFound, "There is no model API at its address: check the base URL."),
    404: (faults.EndpointNotFound, "There is no model API at its address: check the base URL."),
    408: (faults.TimedOut, "It timed out by itself."),
    409: (faults.ServerError, "It reports a conflict"),
    425: (faults.ProviderOverloaded, "It is not ready yet."),
    429: (faults.RateLimited, "Its rate limit is reached"),
    498: (faults.ProviderOverloaded, "It has no capacity"),
    499: (faults.ServerError, "It closed the request by itself"),
    503: (faults.ProviderOverloaded, "It is overloaded"),
    504: (faults.TimedOut, "It timed out by itself."),
    522: (faults.TimedOut, "Its network's edge could not reach it in time."),
    524: (faults.TimedOut, "Its network's edge waited for it too long."),
    529: (faults.ProviderOverloaded, "It is overloaded"),
}

_UNSAID = "no reason given"
_KINDS = {
    "tool_use_failed": 400,
    "overloaded": 529,
    "rate_limit": 429,
    "RESOURCE_EXHAUSTED": 429,
    "UNAVAILABLE": 503,
    "over_capacity": 503,
    "authentication": 401,
    "permission": 403,
    "billing": 402,
    "not_found": 404,
    "timeout": 504,
    "invalid_request": 400,
    "INVALID_ARGUMENT": 400,
    "BadRequest": 400,
}


def of_status(  # noqa: PLR0911 - one for each kind
    status: int, body: object, limits: RateLimits
) -> ProviderFault:
    """Return the fault behind an error status; requests' details are repeated without secrets, those of keys never."""
    inner = _error(body)
    codes, message = list(_codes(inner)), _clean(inner.get("message"))
    if (row := refusal_of(status, codes, message)) is not None:
        return _of_row(row, status, message, limits)
    if (fault := _in_words(status, inner, f"{' '.join(codes)} {message}", message)) is not None:
        return fault
    if status == 400 and any("tool_use_failed" in code for code in codes):
        generation = inner.get("failed_generation")
        text = generation if isinstance(generation, str) else json.dumps(generation or "")
        return faults.ToolUseFailed("The model's tool call does not fit its format.", text, status)
    if status == 403:
        return faults.Forbidden(_told("It forbids this request", message), status)
    if status == 404 and any("model" in said for said in (*codes, message.lower())):
        return faults.UnknownModel(f"It does not have this model: {message}", status)
    if status in _BY_STATUS:
        fault_class, said = _BY_STATUS[status]
        wait = limits.retry_after
        if status == 429:
            wait = limits.wait() or _wait_in(inner, message)
        return fault_class(said if said.endswith(".") else _told(said, message), status, wait)
    if status >= 500:
        return faults.ServerError(_told("It failed inside", message), status)
    if status < 400:
        return faults.UnreadableAnswer(f"It answered with the status {status}.", status)
    return faults.RequestRefused(f"It refuses the request: {message}", status)


def _of_row(row: Refusal, status: int, message: str, limits: RateLimits) -> ProviderFault:
    said = row.words
    if message != _UNSAID and row.fault is not faults.InvalidKey:
        said = f"{said.removesuffix(':')} {message}"
    wait = limits.retry_after
    if row.park is not None:
        wait = max(row.park, wait or 0.0)
    elif row.fault is faults.RateLimited:
        wait = limits.wait()
    return row.fault(said, status, wait)


def _told(said: str, message: str) -> str:
    return f"{said}." if message == _UNSAID else f"{said}: {message}"


def _wait_in(inner: Mapping[str, Any], message: str) -> float | None:
    """Return the wait that the error itself names: in Google's ``RetryInfo``, OpenRouter's headers, or the text."""
    for detail in _objects(inner.get("details")):
        delay = detail.get("retryDelay")
        if isinstance(delay, str) and (seconds := seconds_of(delay)) is not None:
            return seconds
    metadata = inner.get("metadata")
    headers = metadata.get("headers") if isinstance(metadata, Mapping) else None
    if isinstance(headers, Mapping):
        named = {str(name).lower(): str(value) for name, value in headers.items()}
        wait = seconds_of(named.get("retry-after")) or seconds_of(named.get("x-ratelimit-reset"))
        if wait is not None:
            return wait
    return seconds_in(message)


def _in_words(  # noqa: PLR0911 - one line for each kind of words
    status: int, inner: Mapping[str, Any], said: str, message: str
) -> ProviderFault | None:
    """Return the fault that servers report only in the message, under any status."""
    if status in (413, 429) and (most := words.tokens_of_a_minute(message)) is not None:
        detail = f"The request is larger than its tokens of a minute: {message}"
        return faults.PromptTooLong(detail, status, most, None)
    if "tool_use_failed" in said or status in (401, 402, 403, 429):
        return None
    if status in (500, 503) and words.is_loading(said):
        return faults.Starting("It is loading its model.", status)
    if status in (400, 416, 422, 500) and (cap := words.cap_of(message)) is not None:
        return faults.CapTooLarge(f"The answer's cap is above the model's: {message}", status, cap)
    if status in (400, 413, 422, 500) and words.overflows(said):
        window, prompt = words.window_of(inner, message), words.prompt_of(inner, message)
        return faults.PromptTooLong(f"The prompt does not fit into its window: {message}", status, window, prompt)
    if status in (400, 422) and words.refuses_cap_name(said):
        return faults.CapNameUnsupported(f"It takes the answer's cap under the other name: {message}", status)
    if status in (400, 404, 415, 422, 500, 501) and words.refuses_images(said):
        return faults.ImagesUnsupported(f"It does not take images: {message}", status)
    if status in (400, 422, 500) and words.refuses_schema(said):
        return faults.SchemaUnsupported(f"It does not take this answer schema: {message}", status)
    return None


def of_event(body: object) -> ProviderFault:
    """Return the fault for an error inside of an answer."""
    inner = _error(body)
    given = next((inner.get(name) for name in ("status_code", "code", "status") if inner.get(name)), None)
    if isinstance(given, str) and given.isascii() and given.isdecimal() and len(given) == 3:
        given = int(given)
    if isinstance(given, int) and 400 <= given <= 599:
        return of_status(given, body, RateLimits())
    codes = list(_codes(inner))
    row = refusal_of(400, codes, _clean(inner.get("message")))
    kind = " ".join(codes)
    status = 400 if row else next((status for word, status in _KINDS.items() if word in kind), 500)
    return of_status(status, body, RateLimits())


def _codes(inner: Mapping[str, Any]) -> Iterator[str]:
    """Yield every code by which the error names its kind, also in the details of Google, Anthropic, OpenRouter and
    Azure.
    """
    nested = [inner.get("innererror"), inner.get("metadata"), *_objects(inner.get("details"))]
    for place in (inner, *nested):
        if isinstance(place, Mapping):
            for name in ("code", "type", "status", "reason", "error_code", "limit_source", "error_type"):
                if isinstance(value := place.get(name), str):
                    yield value


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, Mapping)]


def _error(body: object) -> Mapping[str, Any]:
    """Return the error as an object with a ``message``, from any of the usual forms.

    An object, a list with one (Gemini), a text, a web page, ``detail`` of FastAPI; JSON within a text is parsed.
    """
    if isinstance(body, list):
        inner = next((each for each in body if isinstance(each, Mapping)), None)
        return _error(inner) if inner is not None else {"message": _text(body)}
    if isinstance(body, str):
        return _written(body)
    if not isinstance(body, Mapping):
        return {}
    inner = body.get("error")
    if (first := next(iter(_objects(inner)), None)) is not None:
        details = body.get("details") if first.get("details") is None else first.get("details")
        return {**first, "details": details, "message": _message(first)}
    values = (body.get(name) for name in ("error", "errors"))
    return {**body, "message": _message(body) or next((text for value in values if (text := _text(value))), None)}


def _written(body: str) -> Mapping[str, Any]:
    text = body.strip()
    if text.startswith(("{", "[")):
        try:
            return _error(json.loads(text))
        except (ValueError, RecursionError):
            pass
    if "<html" in text[:2000].lower() or text[:20].lower().startswith(("<!doctype", "<head", "<?xml")):
        title = _TITLE.search(text)
        return {"message": f"a web page, {' '.join(title[1].split())!r}" if title else "a web page"}
    return {"message": body}


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


def _clean(message: object) -> str:
    text = " ".join(clean(message[:4000]).split()) if isinstance(message, str) else ""
    return _SECRET.sub("[secret]", text)[:300] or _UNSAID
