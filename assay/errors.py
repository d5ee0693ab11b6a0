"""What can go wrong for a caller; every error carries the id of its request, when there is one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from shared.faults import field_fault

if TYPE_CHECKING:
    from shared.contracts.jobs import JobView


class APIError(Exception):
    """Anything that Assay or the way to it did wrong."""

    def __init__(self, message: str, request_id: str | None = None) -> None:
        super().__init__(message)
        self.request_id = request_id


class APIConnectionError(APIError):
    """No answer: the server cannot be reached, or the connection broke."""


class APITimeoutError(APIConnectionError):
    """No answer in time."""


class APIStatusError(APIError):
    """The server answered with a problem document (RFC 9457)."""

    def __init__(self, status: int, problem: Mapping[str, Any], headers: Mapping[str, str]) -> None:
        detail = str(problem.get("detail") or problem.get("title") or f"HTTP status {status}")
        super().__init__(detail, problem.get("request_id") or headers.get("x-request-id"))
        self.status = status
        self.problem = dict(problem)
        self.code = str(problem.get("code") or "")
        self.title = str(problem.get("title") or "")
        self.detail = detail
        self.errors: list[dict[str, Any]] = list(problem.get("errors") or [])
        self.retry_after = retry_after(headers)

    def __str__(self) -> str:
        fields = "".join(
            f"\n  {field_fault('.'.join(map(str, error.get('loc', []))), str(error.get('msg', '')))}"
            for error in self.errors[:20]
        )
        return f"{self.detail}{fields}"


class BadRequest(APIStatusError):
    """400."""


class NotAuthenticated(APIStatusError):
    """401: no key, or a wrong one."""


class MissingScope(APIStatusError):
    """403: the key may not do this."""


class NotFound(APIStatusError):
    """404."""


class Conflict(APIStatusError):
    """409."""


class PreconditionFailed(APIStatusError):
    """412: it has changed since it was read."""


class TooLarge(APIStatusError):
    """413."""


class Invalid(APIStatusError):
    """422: ``errors`` names the fields."""


class RateLimited(APIStatusError):
    """429: ``retry_after`` says when to come back, in seconds."""


class ServerError(APIStatusError):
    """5xx."""


class Unavailable(ServerError):
    """503: full, a dependency is down, or nothing could serve the job."""


class JobFailed(APIError):
    """A job that ended without a result: failed, cancelled or dead; ``job.error`` says why."""

    def __init__(self, job: JobView) -> None:
        why = job.error.detail if job.error is not None else f"the job is {job.state.value}"
        super().__init__(f"job {job.id} {job.state.value}: {why}")
        self.job = job
        self.code = job.error.code if job.error is not None else ""


class JobTimeout(APIError, TimeoutError):
    """The job was not finished in time; it continues."""

    def __init__(self, job_id: str, seconds: float) -> None:
        super().__init__(f"job {job_id} has not finished within {seconds:g} s; it continues")
        self.job_id = job_id


_BY_STATUS: Mapping[int, type[APIStatusError]] = {
    400: BadRequest,
    401: NotAuthenticated,
    403: MissingScope,
    404: NotFound,
    409: Conflict,
    412: PreconditionFailed,
    413: TooLarge,
    422: Invalid,
    429: RateLimited,
    503: Unavailable,
}


def status_error(status: int, problem: Mapping[str, Any], headers: Mapping[str, str]) -> APIStatusError:
    """Return the error for an answer's status."""
    kind = _BY_STATUS.get(status) or (ServerError if status >= 500 else APIStatusError)
    return kind(status, problem, headers)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """``Retry-After`` in seconds, whether it is a number or a date; None without or with nonsense."""
    value = headers.get("retry-after", "").strip()
    if value.isdecimal():
        return float(value)
    if not value:
        return None
    from datetime import UTC, datetime  # noqa: PLC0415 - dates are rare
    from email.utils import parsedate_to_datetime  # noqa: PLC0415

    try:
        when = parsedate_to_datetime(value)
    except ValueError:
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())
