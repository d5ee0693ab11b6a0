"""The one tree of errors: each has a stable code, a title, an HTTP status, and plain words for a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pydantic import JsonValue


class AssayError(Exception):
    """A fault with a stable code; ``detail`` says what happened and what to do next, never a secret or a host path."""

    code: ClassVar[str] = "internal_error"
    title: ClassVar[str] = "Internal error"
    status: ClassVar[int] = 500
    cause: ClassVar[str] = "A defect in Assay."  #: for the catalog of errors, like the remedy
    remedy: ClassVar[str] = "Report it with the `request_id` or the job id; the server's log has the details."

    def __init__(self, detail: str, **extra: JsonValue) -> None:
        super().__init__(detail)
        self.detail = detail
        self.extra: Mapping[str, JsonValue] = extra  #: further members of the problem document

    def problem(self) -> dict[str, JsonValue]:
        """Return the error as an RFC 9457 document (without ``request_id``)."""
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
    code, title, status = "invalid_request", "Invalid request", 422
    cause = "A field, a query parameter or a combination of them is not valid for the operation."
    remedy = "`errors` names each field (`loc`) and what is wrong (`msg`); the API document describes the fields."

    def __init__(self, detail: str, errors: list[tuple[list[str | int], str]] | None = None) -> None:
        fields: JsonValue = [{"loc": list(loc), "msg": msg} for loc, msg in errors or []]
        super().__init__(detail, errors=fields)


class InvalidData(AssayError):
    """A data set of a job cannot be read; the detail says where and why."""

    code, title, status = "invalid_data", "Unreadable data set", 422
    cause = "A file of the job cannot be read as a table."
    remedy = "`detail` names the line or the column; give `--delimiter`, `--encoding` or `--sheet`, or fix the file."


class MalformedJson(AssayError):
    code, title, status = "malformed_json", "Malformed JSON", 400
    cause = "The body is empty, truncated or not JSON."
    remedy = "Send JSON with `Content-Type: application/json`; `detail` names the position."


class MalformedRequest(AssayError):
    code, title, status = "malformed_request", "Malformed HTTP request", 400
    cause = "The bytes are not HTTP/1.1, such as TLS sent to a plain port."
    remedy = "Use the address that `assay status` prints."


class HeadersTooLarge(AssayError):
    code, title, status = "headers_too_large", "Headers too large", 431
    cause = "The request line and the headers are longer than allowed."
    remedy = "Send fewer cookies and shorter query strings."


class RequestTimedOut(AssayError):
    code, title, status = "request_timed_out", "Request timed out", 408
    cause = "The head or the body of the request stopped arriving, or arrived too slowly."
    remedy = (
        "Send it again. Behind a proxy, let the proxy buffer requests; ASSAY_HEAD_SECONDS and ASSAY_BODY_PAUSE_SECONDS "
        "set the limits."
    )


class OriginNotAllowed(AssayError):
    code, title, status = "origin_not_allowed", "Origin not allowed", 403
    cause = "A page of another origin, or an unknown Host, used a route that acts without the caller's key."
    remedy = "Add the page to ASSAY_CORS_ORIGINS, or the host to ASSAY_COMPATIBILITY_HOSTS."


class NotAuthenticated(AssayError):
    code, title, status = "not_authenticated", "No valid API key", 401
    cause = "The API key is missing, wrong, revoked or expired."
    remedy = "Send `Authorization: Bearer KEY`; `assay status --format env` prints the key of this machine."


class MissingScope(AssayError):
    code, title, status = "missing_scope", "Missing scope", 403
    cause = "The key is valid, but lacks the scope that `detail` names."
    remedy = "Use a key with that scope: `assay keys create --name NAME --scope SCOPE`."


class NotFound(AssayError):
    code, title, status = "not_found", "Not found", 404
    cause = "The key's tenant has nothing with that id; what belongs to another tenant looks the same."
    remedy = (
        "List what exists (`assay jobs ls`, `assay flow ls` ...), and check that the key belongs to the right tenant."
    )


class MethodNotAllowed(AssayError):
    code, title, status = "method_not_allowed", "Method not allowed", 405
    cause = "The path does not support this method."
    remedy = "The `Allow` header lists the methods that it supports."


class JobNotFinished(AssayError):
    code, title, status = "job_not_finished", "Job not finished", 404
    cause = "The job has no result before it ends."
    remedy = "Wait with `assay jobs wait ID` or `Prefer: wait`."


class JobFinished(AssayError):
    code, title, status = "job_finished", "Job already finished", 409
    cause = "The job has ended, so it cannot be cancelled."
    remedy = "Read its result or its error instead."


class Conflict(AssayError):
    code, title, status = "conflict", "Conflict", 409
    cause = "The request conflicts with the current state; `detail` says how."
    remedy = "Read the current state and send a request that fits it."


class RequestInFlight(AssayError):
    code, title, status = "request_in_flight", "Request in flight", 409
    cause = "The first request with this `Idempotency-Key` has not been answered yet."
    remedy = "Wait as `Retry-After` says and send it again: you then get the answer of the first request."


class IdempotencyKeyReused(AssayError):
    code, title, status = "idempotency_key_reused", "Idempotency key reused", 422
    cause = "The `Idempotency-Key` was used for another request in the last 24 hours."
    remedy = "Use a new key for each different request; retry a request with exactly the same body."


class PreconditionFailed(AssayError):
    code, title, status = "precondition_failed", "Modified since read", 412
    cause = "`If-Match` names another version than the current one: the resource was changed after you read it."
    remedy = (
        "Read it again, apply your change to the current version, and send the new ETag. `changed` may list what "
        "differs."
    )


class TooLarge(AssayError):
    code, title, status = "too_large", "Too large", 413
    cause = "The body, the file or a field is larger than allowed; `detail` names the limit."
    remedy = (
        "Upload data with `POST /v1/files` and refer to the file. Operators raise ASSAY_BODY_BYTES, "
        "ASSAY_LARGE_BODY_BYTES or ASSAY_UPLOAD_BYTES."
    )


class SourceNotAllowed(AssayError):
    code, title, status = "source_not_allowed", "Source not allowed", 422
    cause = "The address is private, or reading folders of the server is disabled."
    remedy = (
        "Upload an archive; operators allow hosts in ASSAY_STACKS_GIT_PRIVATE_HOSTS and folders in ASSAY_DETECT_ROOTS."
    )


class SourceTooLarge(AssayError):
    code, title, status = "source_too_large", "Source too large", 422
    cause = "The source has more files or bytes than the limits allow."
    remedy = (
        "Leave out what is not source (`.gitignore` applies), or raise ASSAY_STACKS_MAX_ENTRIES or "
        "ASSAY_STACKS_MAX_UNPACKED_GB."
    )


class UnknownArchiveFormat(AssayError):
    code, title, status = "unknown_archive_format", "Unsupported archive format", 422
    cause = "The upload is not a supported archive: tar, also with gzip, zstd, xz or bzip2, or zip."
    remedy = "Upload one of those; pack a single file into an archive first."

    def __init__(self) -> None:
        super().__init__("not an archive; give a folder, a tar (plain, gz, bz2, xz or zst) or a zip archive")


class SourceUnreadable(AssayError):
    code, title, status = "source_unreadable", "Source unreadable", 422
    cause = "The archive or repository cannot be read."
    remedy = "`detail` says why; pack it again as tar, tar.gz, tar.zst or zip."


class RangeNotSatisfiable(AssayError):
    code, title, status = "range_not_satisfiable", "Range not satisfiable", 416
    cause = "A `Range` begins after the end of the file."
    remedy = "Request a range within the size that `Content-Range` reports."


class UnsupportedMediaType(AssayError):
    code, title, status = "unsupported_media_type", "Unsupported media type", 415
    cause = "The operation does not accept the body's Content-Type."
    remedy = "Send `application/json`, or what `detail` names."


class TooManyRequests(AssayError):
    code, title, status = "rate_limited", "Too many requests", 429
    cause = "The tenant exceeded its requests per minute; in an attempt, the provider refused for the same reason."
    remedy = (
        "Wait as `Retry-After` says. Operators raise ASSAY_REQUESTS_PER_MINUTE, or the tenant's limit with `assay "
        "limits set`."
    )


class QuotaExceeded(AssayError):
    code, title, status = "quota_exceeded", "Quota exceeded", 429
    cause = "The tenant has used up a quota; `quota` names it and `limit` gives its size."
    remedy = (
        "`assay limits show` lists all quotas. Delete files, wait for jobs to end, or have the quota raised with "
        "`assay limits set`."
    )


class DatabaseUnavailable(AssayError):
    code, title, status = "database_unavailable", "Database unavailable", 503
    cause = "Postgres does not answer; nothing was written."
    remedy = "Try again shortly; operators: `assay doctor`, `/readyz`."


class DatabaseFailed(AssayError):
    """Postgres answers, but a statement failed inside of it: a broken installation, not an outage."""

    code, title, status = "database_failed", "Database error", 500
    cause = "Postgres answers, but failed to execute a statement; nothing was written. `sqlstate` names the error."
    remedy = "Operators: the gateway's log has Postgres' own words, and `assay doctor` tries a write."

    def __init__(self, sqlstate: str) -> None:
        super().__init__(
            f"Postgres failed to execute a statement (SQLSTATE {sqlstate}); nothing was written. The server's log has "
            "its words.",
            sqlstate=sqlstate,
        )


class QueryTooSlow(AssayError):
    """Postgres gave a statement up after its time."""

    code, title, status = "query_too_slow", "Query timed out", 503
    cause = "The list's filter matches few jobs, and Postgres cancelled the query at its timeout."
    remedy = "Filter by kind, state or time (`created_after`) as well."

    def __init__(self) -> None:
        super().__init__(
            "Postgres cancelled the query at its time limit; nothing was changed. Narrow it: name a kind, a state or a "
            "shorter time, and drop the most selective filter."
        )


class StorageFull(AssayError):
    """The disk, or the store of the files, has no space left."""

    code, title, status = "storage_full", "Storage full", 507
    cause = "The disk or the file store has no space left; nothing was kept."
    remedy = "Free space: delete files and old jobs, or shorten ASSAY_RETENTION_DAYS."

    def __init__(self) -> None:
        super().__init__(
            "The server has no space left to keep this; nothing was kept. Its operator has to free some: older files "
            "and jobs can be deleted."
        )


class Overloaded(AssayError):
    code, title, status = "overloaded", "Server overloaded", 503
    cause = (
        "More requests are waiting than the server accepts, or a concurrency limit was reached; in an attempt, the "
        "provider is overloaded."
    )
    remedy = "Try again after `Retry-After`; operators add workers (ASSAY_REPLICAS), see docs/how-to/alerts.md."


class NoProviderConfigured(AssayError):
    code, title, status = "no_provider_configured", "No provider configured", 503
    cause = "The job needs a model, and no provider has a key or an address."
    remedy = (
        "Set GROQ_API_KEY, CEREBRAS_API_KEY, ANTHROPIC_API_KEY or OPENAI_API_KEY, or add your own server with `assay "
        "endpoints add`; then restart."
    )


class LanguageUnavailable(AssayError):
    code, title, status = "language_unavailable", "Language not installed", 503
    cause = "The language's runtime is not installed on the workers."
    remedy = (
        "Install it on the workers (`scripts/install-optional` does on Debian) and restart; `assay doctor` checks it."
    )


class BudgetSpentError(AssayError):
    code, title, status = "budget_spent", "Budget spent", 422
    cause = (
        "Turns, seconds or tokens were used up before a result passed its checks; `attempts` names providers that used "
        "time."
    )
    remedy = (
        "Read the turns (`assay jobs get ID`), make the task or its assertions clearer, or raise the budget "
        "(`--turns`, `--seconds`)."
    )


class ProvidersFailed(AssayError):
    """None of a role's models answered; ``attempts`` are the providers that were called, with outcome and seconds."""

    code, title, status = "providers_failed", "All providers failed", 502
    cause = "None of the role's models answered; `attempts` lists provider, outcome and seconds of each."
    remedy = (
        "This table explains each outcome. `assay providers` shows which providers are paused, "
        "`assay models test ROLE` sends one request."
    )

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
        return f"Called: {'; '.join(parts)}." if parts else "No provider was called."


class ContextTooLong(ProvidersFailed):
    """The prompt is longer than the windows of the models.

    ``window`` is the largest reported one, ``prompt_tokens`` the size of the prompt for that model.
    """

    code, title, status = "context_too_long", "Prompt too long", 422
    cause = "The prompt is longer than the window of every model of the chain; `window` is the largest."
    remedy = (
        "Send less (fewer columns, a shorter document or history), or add a model with a larger window to the chain."
    )


class UserCodeFailed(AssayError):
    code, title, status = "user_code_failed", "Code failed", 422
    cause = "Code that the caller gave, not a model, raised an error or exceeded a limit."
    remedy = "The result has the traceback, and `verdict` names the limit. Fix the code or raise its limits."


class SchemaDrift(AssayError):
    """The data has other columns than the code was made for; ``drift`` lists them."""

    code, title, status = "schema_drift", "Columns changed", 422
    cause = "Saved code was run on data with other columns than it was made for."
    remedy = (
        "`drift` lists the columns that are missing, new, of another type or probably renamed. Rename them, or "
        "regenerate the code."
    )


class SandboxUnavailable(AssayError):
    code, title, status = "sandbox_unavailable", "Sandbox unavailable", 503
    cause = "Code cannot be isolated as strongly as ASSAY_SANDBOX_MINIMUM requires."
    remedy = "`assay doctor` says why: user namespaces are off, or a seccomp profile forbids them. See docs/sandbox.md."


class UnknownCollection(AssayError):
    code, title, status = "unknown_collection", "Collection not found", 404
    cause = "The tenant has no collection of that name."
    remedy = "List them with `assay collection ls`; `assay ingest` creates one."


class UnknownTable(AssayError):
    code, title, status = "unknown_table", "Table not found", 422
    cause = "The collection has no table of that name."
    remedy = "`assay collection get NAME` lists its tables."


class UnknownField(AssayError):
    code, title, status = "unknown_field", "Field not found", 422
    cause = "The table has no field of that name to filter by."
    remedy = "`assay collection get NAME` lists the fields."


class UnreadableFile(AssayError):
    code, title, status = "unreadable_file", "Unreadable file", 422
    cause = "The file does not have the given format."
    remedy = "Give another `--format`, or fix the file."


class EmbeddingChanged(AssayError):
    code, title, status = "embedding_changed", "Embedding model changed", 409
    cause = "The table holds vectors of another embedding model than the configured one."
    remedy = "Set ASSAY_EMBEDDING back, or delete the collection and ingest it again."


class EmbeddingUnavailable(AssayError):
    code, title, status = "embedding_unavailable", "Embedding model unavailable", 503
    cause = "The embedding model is not installed, or its server does not answer."
    remedy = "`detail` names what is missing."


class SearchStoreUnavailable(AssayError):
    code, title, status = "search_store_unavailable", "Search store unavailable", 503
    cause = "Qdrant, or the embedded store, does not answer."
    remedy = "Check QDRANT_URL and the server; the worker's log has more."


class JobCancelled(AssayError):
    """Raised inside a capability that notices its job's cancellation."""

    code, title, status = "job_cancelled", "Job cancelled", 409
    cause = "A client cancelled the job."
    remedy = "Submit it again, or run `assay jobs replay ID`."


class WorkerCrashed(AssayError):
    code, title, status = "worker_crashed", "Worker crashed", 500
    cause = (
        "The worker died three times while it ran this job alone: out of memory, a crash of a library, or the machine."
    )
    remedy = (
        "Check the worker's log, and the kernel's for `oom-kill`; try smaller data. `assay jobs replay ID` runs it "
        "again."
    )
