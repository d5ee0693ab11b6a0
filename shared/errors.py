"""The one tree of errors: each has a stable code, a title, an HTTP status, and plain words for a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pydantic import JsonValue


class AssayError(Exception):
    """A fault with a stable code; ``detail`` says what happened and what to do next, never a secret or a host path."""

    code: ClassVar[str] = "internal_error"
    title: ClassVar[str] = "Something went wrong inside Assay"
    status: ClassVar[int] = 500

    def __init__(self, detail: str, **extra: JsonValue) -> None:
        super().__init__(detail)
        self.detail = detail
        self.extra: Mapping[str, JsonValue] = extra  #: further members of the problem document

    def problem(self) -> dict[str, JsonValue]:
        """The error as an RFC 9457 document (without ``request_id``)."""
        return {
            "type": f"/docs/errors#{self.code}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
            **self.extra,
        }


class InternalError(AssayError):
    """A defect of ours; its detail never repeats the exception."""


class InvalidRequest(AssayError):
    code, title, status = "invalid_request", "The request does not fit", 422

    def __init__(self, detail: str, errors: list[tuple[list[str | int], str]] | None = None) -> None:
        fields: JsonValue = [{"loc": list(loc), "msg": msg} for loc, msg in errors or []]
        super().__init__(detail, errors=fields)


class InvalidData(AssayError):
    """A data set of a job cannot be read; the detail says where and why."""

    code, title, status = "invalid_data", "A data set cannot be read", 422


class MalformedJson(AssayError):
    code, title, status = "malformed_json", "The body is not JSON", 400


class MalformedRequest(AssayError):
    code, title, status = "malformed_request", "The request is not HTTP", 400


class HeadersTooLarge(AssayError):
    code, title, status = "headers_too_large", "The headers are too large", 431


class RequestTimedOut(AssayError):
    code, title, status = "request_timed_out", "The request did not come in time", 408


class OriginNotAllowed(AssayError):
    code, title, status = "origin_not_allowed", "Pages of other addresses may not do this", 403


class NotAuthenticated(AssayError):
    code, title, status = "not_authenticated", "No valid API key", 401


class MissingScope(AssayError):
    code, title, status = "missing_scope", "The API key may not do this", 403


class NotFound(AssayError):
    code, title, status = "not_found", "No such thing", 404


class MethodNotAllowed(AssayError):
    code, title, status = "method_not_allowed", "That path does not answer this method", 405


class JobNotFinished(AssayError):
    code, title, status = "job_not_finished", "The job has no result yet", 404


class JobFinished(AssayError):
    code, title, status = "job_finished", "The job has already ended", 409


class Conflict(AssayError):
    code, title, status = "conflict", "That does not go together with what is there", 409


class RequestInFlight(AssayError):
    code, title, status = "request_in_flight", "The first request with this key is still in flight", 409


class IdempotencyKeyReused(AssayError):
    code, title, status = "idempotency_key_reused", "The idempotency key belongs to another request", 422


class PreconditionFailed(AssayError):
    code, title, status = "precondition_failed", "It has changed since you read it", 412


class TooLarge(AssayError):
    code, title, status = "too_large", "That is too large", 413


class SourceNotAllowed(AssayError):
    code, title, status = "source_not_allowed", "That source may not be read", 422


class SourceTooLarge(AssayError):
    code, title, status = "source_too_large", "The source is larger than Assay reads", 422


class UnknownArchiveFormat(AssayError):
    code, title, status = "unknown_archive_format", "That is no archive that Assay reads", 422

    def __init__(self) -> None:
        super().__init__("upload a tar (plain, gz, bz2, xz or zst) or a zip archive")


class SourceUnreadable(AssayError):
    code, title, status = "source_unreadable", "The source cannot be read", 422


class RangeNotSatisfiable(AssayError):
    code, title, status = "range_not_satisfiable", "The range begins after the end", 416


class UnsupportedMediaType(AssayError):
    code, title, status = "unsupported_media_type", "That content type is not understood", 415


class TooManyRequests(AssayError):
    code, title, status = "rate_limited", "Too many requests", 429


class QuotaExceeded(AssayError):
    code, title, status = "quota_exceeded", "The tenant's quota is used up", 429


class DatabaseUnavailable(AssayError):
    code, title, status = "database_unavailable", "The database does not answer", 503


class QueryTooSlow(AssayError):
    """Postgres gave a statement up after its time."""

    code, title, status = "query_too_slow", "The question takes too long to answer", 503

    def __init__(self) -> None:
        super().__init__(
            "Postgres gave this up after its time; nothing was changed. Narrow it: name a kind, a state or a shorter "
            "time, and leave out what is seldom true of a job."
        )


class StorageFull(AssayError):
    """The disk, or the store of the files, has no space left."""

    code, title, status = "storage_full", "There is no space left", 507

    def __init__(self) -> None:
        super().__init__(
            "The server has no space left to keep this; nothing was kept. Its operator has to free some: older files "
            "and jobs can be deleted."
        )


class Overloaded(AssayError):
    code, title, status = "overloaded", "Too much is waiting", 503


class NoProviderConfigured(AssayError):
    code, title, status = "no_provider_configured", "No model provider is configured", 503


class LanguageUnavailable(AssayError):
    code, title, status = "language_unavailable", "That language is not installed here", 503


class BudgetSpentError(AssayError):
    code, title, status = "budget_spent", "The budget was spent without a good result", 422


class ProvidersFailed(AssayError):
    """None of a role's models answered; ``attempts`` are the providers that were asked, with outcome and seconds."""

    code, title, status = "providers_failed", "Every model provider failed", 502

    @property
    def attempts(self) -> list[JsonValue]:
        attempts = self.extra.get("attempts")
        return attempts if isinstance(attempts, list) else []

    @property
    def tried(self) -> str:
        """The attempts in words, without what the providers themselves said."""
        parts = [
            f"{one['provider']} ({one['model']}): {one['outcome']} after {one['seconds']} s"
            for one in self.attempts
            if isinstance(one, dict)
        ]
        return f"Asked: {'; '.join(parts)}." if parts else "No provider was asked."


class ContextTooLong(ProvidersFailed):
    """The prompt is longer than the windows of the models.

    ``window`` is the largest that was told, ``prompt_tokens`` how many the prompt has for that model.
    """

    code, title, status = "context_too_long", "The prompt is too long for the model", 422


class UserCodeFailed(AssayError):
    code, title, status = "user_code_failed", "The given code failed", 422


class SchemaDrift(AssayError):
    """The data has other columns than the code was made for; ``drift`` lists them."""

    code, title, status = "schema_drift", "The data has changed its columns", 422


class SandboxUnavailable(AssayError):
    code, title, status = "sandbox_unavailable", "Code cannot be isolated here", 503


class UnknownCollection(AssayError):
    code, title, status = "unknown_collection", "No such collection", 404


class UnknownTable(AssayError):
    code, title, status = "unknown_table", "The collection has no such table", 422


class UnknownField(AssayError):
    code, title, status = "unknown_field", "The table has no such field", 422


class UnreadableFile(AssayError):
    code, title, status = "unreadable_file", "The file cannot be read as that format", 422


class EmbeddingChanged(AssayError):
    code, title, status = "embedding_changed", "The table was embedded with another model", 409


class EmbeddingUnavailable(AssayError):
    code, title, status = "embedding_unavailable", "The embedding model does not answer", 503


class SearchStoreUnavailable(AssayError):
    code, title, status = "search_store_unavailable", "The search store does not answer", 503


class JobCancelled(AssayError):
    """Raised inside a capability that notices its job's cancellation."""

    code, title, status = "job_cancelled", "The job was cancelled", 409


class WorkerCrashed(AssayError):
    code, title, status = "worker_crashed", "The job crashed its worker three times", 500
