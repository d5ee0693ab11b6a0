"""Whatever ends a call as one of our faults: by status, by words, and by what was seen on the wire.

Nothing leaves this boundary but a ``ProviderFault`` or the job's own end, so that each call is in the ledger.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from urllib.parse import urlsplit

from shared.errors import AssayError, JobCancelled
from shared.llm import faults
from shared.llm.call_clock import Watch
from shared.llm.faults import ProviderFault
from shared.llm.wires import words
from shared.llm.wires.connections import chain_of, of_connection
from shared.llm.wires.error_body import UNSAID, ErrorBody, objects, of_exception, shown
from shared.llm.wires.limits import RateLimits, seconds_in, seconds_of
from shared.llm.wires.refusals import Refusal, refusal_of

log = logging.getLogger(__name__)

_TIME_OUTS = {
    "first_token": "It did not begin to answer in time.",
    "idle": "Its answer stalled.",
    "total": "Its answer did not end in time.",
}


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
    return f"It redirects to {shown(place)}: set that address as its base URL. Redirects are not followed."


_BY_STATUS: Mapping[int, tuple[type[ProviderFault], str]] = {
    401: (faults.InvalidKey, "It does not accept the API key."),
    402: (faults.PaymentRequired, "It requires payment"),
    405: (faults.EndpointNotFound, "There is no model API at its address: check the base URL."),
    404: (faults.EndpointNotFound, "There is no model API at its address: check the base URL."),
    407: (faults.ConnectionFailed, "A proxy between requires credentials: check HTTPS_PROXY, HTTP_PROXY and NO_PROXY."),
    408: (faults.TimedOut, "It timed out by itself."),
    409: (faults.ServerError, "It reports a conflict"),
    410: (faults.EndpointNotFound, "There is no longer a model API at its address: check the base URL."),
    425: (faults.ProviderOverloaded, "It is not ready yet."),
    429: (faults.RateLimited, "Its rate limit is reached"),
    451: (faults.Forbidden, "It may not serve this request"),
    498: (faults.ProviderOverloaded, "It has no capacity"),
    499: (faults.ServerError, "It closed the request by itself"),
    503: (faults.ProviderOverloaded, "It is overloaded"),
    504: (faults.TimedOut, "It timed out by itself."),
    522: (faults.TimedOut, "Its network's edge could not reach it in time."),
    524: (faults.TimedOut, "Its network's edge waited for it too long."),
    529: (faults.ProviderOverloaded, "It is overloaded"),
}

#: Statuses of errors inside of an answer, by a part of their code.
_KINDS = {
    "tool_use_failed": 400,
    "output_parse_failed": 400,
    "overloaded": 529,
    "rate_limit": 429,
    "throttling": 429,
    "Throttling": 429,
    "RESOURCE_EXHAUSTED": 429,
    "UNAVAILABLE": 503,
    "serviceUnavailable": 503,
    "over_capacity": 503,
    "authentication": 401,
    "permission": 403,
    "accessDenied": 403,
    "billing": 402,
    "not_found": 404,
    "timeout": 504,
    "modelTimeout": 504,
    "invalid_request": 400,
    "INVALID_ARGUMENT": 400,
    "BadRequest": 400,
    "validation": 422,
    "template_error": 422,
    "tool_error": 422,
}
_MALFORMED = ("tool_use_failed", "output_parse_failed", "tool_error")  #: Groq, TGI


def of_status(status: int, body: object, limits: RateLimits) -> ProviderFault:
    """Return the fault behind an error status; requests' details are repeated without secrets, those of keys never."""
    error = ErrorBody.read(body)
    fault = _of_error(status, error, limits)
    fault.usage = error.usage
    return fault


def _of_error(status: int, error: ErrorBody, limits: RateLimits) -> ProviderFault:
    if status == 402 and (cap := words.affordable(error.text)) is not None:
        return faults.CapTooLarge(f"The account's credit pays for a shorter answer only: {error.shown}", status, cap)
    if (row := refusal_of(status, error.codes, error.text)) is not None:
        return _of_row(row, status, error, limits)
    if (fault := _in_words(status, error)) is not None:
        return fault
    if status in (400, 422, 500) and (_is_malformed(error) or words.is_malformed_call(error.text)):
        generation = error.inner.get("failed_generation")
        text = generation if isinstance(generation, str) else json.dumps(generation) if generation else ""
        return faults.ToolUseFailed(
            _with_message("The model's tool call does not fit its format", error.shown), text, status
        )
    return _by_status(status, error, limits)


def _by_status(status: int, error: ErrorBody, limits: RateLimits) -> ProviderFault:
    if status == 403:
        return faults.Forbidden(_with_message("It forbids this request", error.shown), status)
    if status in (404, 410) and any("model" in said for said in (*error.codes, error.text.lower())):
        return faults.UnknownModel(f"It does not have this model: {error.shown}", status)
    if status in _BY_STATUS:
        fault_class, said = _BY_STATUS[status]
        wait = _wait(error, limits) if status == 429 else limits.retry_after
        return fault_class(said if said.endswith(".") else _with_message(said, error.shown), status, wait)
    if status >= 500 and not words.refuses_template(error.text):
        return faults.ServerError(_with_message("It failed inside", error.shown), status)
    if status < 400:
        return faults.UnreadableAnswer(f"It answered with the status {status}.", status)
    return faults.RequestRefused(f"It refuses the request: {error.shown}", status)


def _is_malformed(error: ErrorBody) -> bool:
    return any(word in code for code in error.codes for word in _MALFORMED)


def _of_row(row: Refusal, status: int, error: ErrorBody, limits: RateLimits) -> ProviderFault:
    said = row.words if row.fault is faults.InvalidKey else _with_message(row.words.removesuffix("."), error.shown)
    wait = limits.retry_after
    if row.park is not None:
        wait = max(row.park, wait or 0.0)
    elif row.fault is faults.RateLimited:
        wait = _wait(error, limits)
    return row.fault(said, status, wait)


def _with_message(said: str, message: str) -> str:
    return f"{said}." if message == UNSAID else f"{said}: {message}"


def _wait(error: ErrorBody, limits: RateLimits) -> float | None:
    """Return the wait that the headers name, or else the error: in its details, its own headers, or its text."""
    if (wait := limits.wait()) is not None:
        return wait
    for detail in objects(error.inner.get("details")):
        delay = detail.get("retryDelay")  # Google's ``RetryInfo``
        if isinstance(delay, str) and (seconds := seconds_of(delay)) is not None:
            return seconds
    metadata = error.inner.get("metadata")
    headers = metadata.get("headers") if isinstance(metadata, Mapping) else None  # OpenRouter
    if isinstance(headers, Mapping):
        named = {str(name).lower(): str(value) for name, value in headers.items()}
        wait = seconds_of(named.get("retry-after")) or seconds_of(named.get("x-ratelimit-reset"))
        if wait is not None:
            return wait
    return seconds_in(error.text)


def _in_words(status: int, error: ErrorBody) -> ProviderFault | None:
    """Return the fault that servers report only in the message, under any status."""
    text, said = error.text, error.shown
    if status in (413, 429) and (most := words.tokens_of_a_minute(text)) is not None:
        return faults.PromptTooLong(f"The request is larger than its tokens of a minute: {said}", status, most, None)
    if status == 429 and "long context" in text:  # Anthropic, for an account without the tier for it
        return faults.PromptTooLong(f"The prompt is longer than the account may send: {said}", status)
    if status in (424, 429, 500, 503) and words.is_loading(error.says):
        return faults.Starting("It is loading its model.", status)
    if _is_malformed(error) or status in (401, 402, 403, 429):
        return None
    return _of_size(status, error) or _of_part(status, error)


def _of_size(status: int, error: ErrorBody) -> ProviderFault | None:
    """Return the fault of a request whose prompt, or whose answer's cap, is too large."""
    text, said = error.text, error.shown
    if status in (400, 416, 422, 500) and (cap := words.cap_of(text)) is not None:
        return faults.CapTooLarge(f"The answer's cap is above the model's: {said}", status, cap)
    if status in (400, 413, 422, 500) and words.overflows(error.says):
        window, prompt = words.window_of(error.inner, text), words.prompt_of(error.inner, text)
        return faults.PromptTooLong(f"The prompt does not fit into its window: {said}", status, window, prompt)
    return None


def _of_part(status: int, error: ErrorBody) -> ProviderFault | None:
    """Return the fault of a request with a part that the model does not take."""
    says, said = error.says, error.shown
    if status in (400, 422) and words.refuses_cap_name(says):
        return faults.CapNameUnsupported(f"It takes the answer's cap under the other name: {said}", status)
    if status in (400, 422) and words.refuses_usage(says):
        return faults.UsageUnsupported(f"It does not take `stream_options`: {said}", status)
    if status in (400, 404, 415, 422, 500, 501) and words.refuses_images(says):
        return faults.ImagesUnsupported(f"It does not take images: {said}", status)
    if status in (400, 422, 500) and words.refuses_schema(says):
        return faults.SchemaUnsupported(f"It does not take this answer schema: {said}", status)
    return None


def of_event(body: object) -> ProviderFault:
    """Return the fault for an error inside of an answer."""
    if isinstance(body, Mapping) and (named := of_exception(body)) is not None:
        body = named
    error = ErrorBody.read(body)
    given = next((error.inner.get(name) for name in ("status_code", "code", "status") if error.inner.get(name)), None)
    if isinstance(given, str) and given.isascii() and given.isdecimal() and len(given) == 3:
        given = int(given)
    if isinstance(given, int) and 400 <= given <= 599:
        return of_status(given, body, RateLimits())
    kind = " ".join(error.codes)
    known = next((status for word, status in _KINDS.items() if word in kind), 500)
    likely = (status for status in (known, 400, 403, 429) if refusal_of(status, error.codes, error.text))
    return of_status(next(likely, known), body, RateLimits())
