"""Jobs and batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from assay.calls.call import ApiCall, Query, as_model, as_page, body_of, nothing, raw, segment, without_none

if TYPE_CHECKING:
    from pydantic import BaseModel

    from shared.contracts.common import Page
    from shared.contracts.detect import DetectSource
    from shared.contracts.jobs import BatchView, BulkOutcomes, EventPage, JobChanges, JobCounts, JobView
    from shared.contracts.models import LlmCalls, LlmCallText
    from shared.contracts.webhooks import Deliveries

Input = "Mapping[str, Any] | BaseModel"


class SubmitOptions(TypedDict, total=False):
    """Options that any submit accepts in addition to its input."""

    conversation_id: str
    priority: int
    budget: Mapping[str, float | None]
    webhook: Mapping[str, Any]
    labels: Mapping[str, str]
    reproducible: bool
    model: str


def create(
    kind: str,
    input: Mapping[str, Any] | BaseModel,
    options: SubmitOptions | None = None,
    *,
    wait: float | None = None,
    idempotency_key: str | None = None,
) -> ApiCall[JobView]:
    headers: dict[str, str] = {}
    if wait is not None:
        headers["Prefer"] = f"wait={wait:g}"
    if idempotency_key is not None:
        headers["Idempotency-Key"] = idempotency_key
    body = {"kind": kind, "input": input, **(options or {})}
    return ApiCall(
        "POST", "/v1/jobs", as_model("jobs.JobView"), body=body, headers=headers, wait_seconds=min(wait or 0, 60)
    )


def cancel_many(ids: Sequence[str] | None = None, filter: Mapping[str, Any] | None = None) -> ApiCall[BulkOutcomes]:
    """Cancel up to 1,000 jobs: by id, or those that the list shows for this ``filter``: ``{"state": ["queued"]}``."""
    body = without_none(ids=None if ids is None else list(ids), filter=filter)
    return ApiCall("POST", "/v1/jobs/cancel", as_model("jobs.BulkOutcomes"), body=body)


def replay_many(
    ids: Sequence[str] | None = None,
    filter: Mapping[str, Any] | None = None,
    change: Mapping[str, Any] | None = None,
    *,
    idempotency_key: str | None = None,
) -> ApiCall[BulkOutcomes]:
    """Run the inputs of up to 1,000 jobs again, as one batch; ``change`` (``input``, ``model`` ...) is of all."""
    headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
    body = without_none(ids=None if ids is None else list(ids), filter=filter, change=change)
    return ApiCall("POST", "/v1/jobs/replay", as_model("jobs.BulkOutcomes"), body=body, headers=headers)


def changes(after: int | None = None) -> ApiCall[JobChanges]:
    """Return jobs submitted, started or ended since ``after``, the ``next_after`` of a page; without it, from now
    on.
    """
    headers = {"Accept": "application/json"}
    return ApiCall("GET", "/v1/events", as_model("jobs.JobChanges"), query={"after": after}, headers=headers)


def page(
    kind: str | None = None,
    state: str | None = None,
    labels: Mapping[str, str] | None = None,
    limit: int | None = None,
    cursor: str | None = None,
    filters: Mapping[str, str] | None = None,
) -> ApiCall[Page[JobView]]:
    """Return a page of jobs; ``filters`` are further parameters of ``GET /v1/jobs``, such as ``model`` or ``q``."""
    label = [f"{key}:{value}" for key, value in (labels or {}).items()]
    query = {"kind": kind, "state": state, "label": label, "limit": limit, "cursor": cursor, **(filters or {})}
    return ApiCall("GET", "/v1/jobs", as_page("jobs.JobView"), query=query)


def counts(
    kind: str | None = None, labels: Mapping[str, str] | None = None, filters: Mapping[str, str] | None = None
) -> ApiCall[JobCounts]:
    """Return the number of jobs in each state, with the filters of the list."""
    label = [f"{key}={value}" for key, value in (labels or {}).items()]
    query = {"kind": kind, "label": label, **(filters or {})}
    return ApiCall("GET", "/v1/jobs/counts", as_model("jobs.JobCounts"), query=query)


def get(id: str) -> ApiCall[JobView]:
    return ApiCall("GET", f"/v1/jobs/{segment(id)}", as_model("jobs.JobView"))


def result(id: str) -> ApiCall[Any]:
    """Return the bare result. Raises: NotFound with code ``job_not_finished`` before the job's end."""
    return ApiCall("GET", f"/v1/jobs/{segment(id)}/result", raw)


def result_form(id: str, format: str) -> ApiCall[bytes]:
    """Return another form of the result, for example ``cyclonedx``."""
    return ApiCall("GET", f"/v1/jobs/{segment(id)}/result", body_of, query={"format": format})


def result_path(id: str, format: str) -> str:
    """Return the path that streams every row of a result's table, for example as ``csv``."""
    from urllib.parse import quote  # noqa: PLC0415

    return f"/v1/jobs/{segment(id)}/result?format={quote(format, safe='')}"


def cancel(id: str) -> ApiCall[JobView]:
    return ApiCall("POST", f"/v1/jobs/{segment(id)}/cancel", as_model("jobs.JobView"))


def replay(
    id: str,
    input: Mapping[str, Any] | None = None,
    model: str | None = None,
    budget: Mapping[str, float | None] | None = None,
    prompt_version: int | None = None,
) -> ApiCall[JobView]:
    body = without_none(input=input, model=model, budget=budget, prompt_version=prompt_version)
    return ApiCall("POST", f"/v1/jobs/{segment(id)}/replay", as_model("jobs.JobView"), body=body)


def source(
    id: str, path: str | None = None, *, first: int | None = None, last: int | None = None
) -> ApiCall[DetectSource]:
    """Return the names of the files that a ``detect`` job read; with a ``path``, the lines of one that is evidence."""
    query: Query = {"path": path, "first": first, "last": last}
    return ApiCall("GET", f"/v1/jobs/{segment(id)}/source", as_model("detect.DetectSource"), query=query)


def llm_call(id: str, call: int) -> ApiCall[LlmCallText]:
    """Return one call with its messages and its answer, if the installation keeps them."""
    return ApiCall("GET", f"/v1/jobs/{segment(id)}/llm-calls/{call}", as_model("models.LlmCallText"))


def llm_calls(id: str) -> ApiCall[LlmCalls]:
    return ApiCall("GET", f"/v1/jobs/{segment(id)}/llm-calls", as_model("models.LlmCalls"))


def delete(id: str) -> ApiCall[None]:
    """Delete a job that has ended, with its events and files."""
    return ApiCall("DELETE", f"/v1/jobs/{segment(id)}", nothing)


def deliveries(id: str) -> ApiCall[Deliveries]:
    """Return the attempts to deliver the job's webhook, the latest first."""
    return ApiCall("GET", f"/v1/jobs/{segment(id)}/deliveries", as_model("webhooks.Deliveries"))


def redeliver(id: str, delivery_id: str) -> ApiCall[Deliveries]:
    """Deliver the job's webhook again, at once."""
    path = f"/v1/jobs/{segment(id)}/deliveries/{segment(delivery_id)}/redeliver"
    return ApiCall("POST", path, as_model("webhooks.Deliveries"))


def rows_path(id: str) -> str:
    """Return the path of the rows of a job's table as JSON lines."""
    return f"/v1/jobs/{segment(id)}/result?format=jsonl"


def events_path(id: str) -> str:
    return f"/v1/jobs/{segment(id)}/events"


def events_page(id: str, after: int = 0, types: Sequence[str] = (), limit: int | None = None) -> ApiCall[EventPage]:
    """Return the past events, only of ``types`` when any are given; pass ``next_after`` as ``after`` for the next
    page.
    """
    query: Query = {"after": after, "type": list(types), "limit": limit}
    headers = {"Accept": "application/json"}
    return ApiCall("GET", events_path(id), as_model("jobs.EventPage"), query=query, headers=headers)


def create_batch(requests: Sequence[Mapping[str, Any]], idempotency_key: str | None = None) -> ApiCall[BatchView]:
    """Submit up to 1,000 jobs; all are accepted, or none."""
    headers = {"Idempotency-Key": idempotency_key} if idempotency_key is not None else {}
    return ApiCall("POST", "/v1/batches", as_model("jobs.BatchView"), body={"jobs": list(requests)}, headers=headers)


def get_batch(id: str) -> ApiCall[BatchView]:
    return ApiCall("GET", f"/v1/batches/{segment(id)}", as_model("jobs.BatchView"))


if TYPE_CHECKING:
    from shared.contracts.jobs import JobView
