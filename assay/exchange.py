"""The core of every client, without I/O: what to send, whether to try again, and what the answer means.

A generator yields ``Send`` and ``Sleep``; a client performs them, sync or async, and sends the outcome back in.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from assay.calls.call import ApiCall, Reply, Upload
from assay.errors import APIConnectionError, retry_after, status_error

Answer = TypeVar("Answer")

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 8.0
#: A server that wants us later than this gets its wish: the error, with its ``retry_after``.
_LONGEST_WISH = 30.0
#: Waiting does not make these better.
_HOPELESS = frozenset({"no_provider_configured", "language_unavailable", "sandbox_unavailable", "quota_exceeded"})


@dataclass(frozen=True)
class ClientOptions:
    """How a client behaves."""

    timeout: float = 30.0  #: seconds without a sign of life from the server
    max_retries: int = 2


@dataclass(frozen=True)
class Send:
    method: str
    path: str
    parameters: list[tuple[str, str | int | float | bool | None]]
    headers: Mapping[str, str]
    content: bytes | None
    upload: Upload | None
    timeout: float


@dataclass(frozen=True)
class Sleep:
    seconds: float


Outcome = Reply | APIConnectionError | None
Steps = Generator[Send | Sleep, Outcome, Answer]


def exchange(call: ApiCall[Any], options: ClientOptions) -> Steps[Reply]:
    """Send a call, again where that may help. Raises: APIError."""
    request = _request(call, options)
    retries = options.max_retries if call.upload is None or call.upload.repeatable else 0
    for attempt in range(retries + 1):
        outcome = yield request
        pause = _pause(outcome, attempt) if attempt < retries else None
        if pause is None:
            break
        yield Sleep(pause)
    if isinstance(outcome, APIConnectionError):
        raise outcome
    assert isinstance(outcome, Reply)
    if outcome.status >= 400:
        raise error_of(outcome)
    return outcome


def error_of(reply: Reply) -> Exception:
    """Return the typed error of an answer, whatever its body is."""
    try:
        problem = reply.json()
    except ValueError:
        problem = None
    if not isinstance(problem, dict):
        problem = {"detail": reply.text.strip()[:500] or f"HTTP status {reply.status}"}
    return status_error(reply.status, problem, reply.headers)


def backoff(attempt: int) -> float:
    """Doubling pauses, up to a quarter shorter by chance."""
    return min(_FIRST_PAUSE * 2.0**attempt, _LONGEST_PAUSE) * random.uniform(0.75, 1)  # noqa: S311


def _request(call: ApiCall[Any], options: ClientOptions) -> Send:
    headers = {"Accept": "application/json", **call.headers}
    if call.content is not None:
        headers["Content-Type"] = "application/json"
    if call.upload is not None and call.upload.size is not None:
        headers["Content-Length"] = str(call.upload.size)
    if call.method == "POST":
        # One key for all attempts: a lost answer does not become a second job.
        headers.setdefault("Idempotency-Key", str(uuid.uuid4()))
    timeout = options.timeout + call.wait_seconds
    return Send(call.method, call.path, call.parameters, headers, call.content, call.upload, timeout)


def _pause(outcome: Outcome, attempt: int) -> float | None:
    """Return the pause before the next attempt; None for no further attempt."""
    if isinstance(outcome, APIConnectionError):
        return backoff(attempt)
    assert isinstance(outcome, Reply)
    if not _may_help(outcome):
        return None
    wish = retry_after(outcome.headers)
    if wish is None:
        return backoff(attempt)
    return max(wish, 0.05) if wish <= _LONGEST_WISH else None


def _may_help(reply: Reply) -> bool:
    if reply.status == 409:
        return _code(reply) == "request_in_flight"
    if reply.status in (408, 429) or reply.status >= 500:
        return _code(reply) not in _HOPELESS
    return False


def _code(reply: Reply) -> str:
    try:
        problem = reply.json()
    except ValueError:
        return ""
    return str(problem.get("code", "")) if isinstance(problem, dict) else ""
