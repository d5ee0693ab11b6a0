"""Accepting a job: checked, inserted and answered in one transaction; workers are notified after the commit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fastapi import Request
from pydantic import JsonValue
from sqlalchemy.ext.asyncio import AsyncConnection
from uuid_utils import uuid7

from services.gateway.database import UnitOfWork
from services.gateway.dependencies import Dependencies
from services.gateway.http.auth import Caller
from services.gateway.jobs import checks, views
from shared import tracing
from shared.contracts.jobs import JobRequest
from shared.jobs.record import submission

_TRACE = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
Row = dict[str, Any]


def new_id() -> str:
    """Ids grow with time, so a list in their order is a list in order of arrival."""
    return str(uuid7())


def row_of(
    request: Request, caller: Caller, submit: JobRequest, given: Mapping[str, JsonValue], **more: JsonValue
) -> Row:
    """Return the row of a new job; ``given`` is the input as it was sent."""
    trace = tracing.traceparent() or request.headers.get("traceparent", "")
    return {
        "id": new_id(),
        "tenant_id": caller.tenant,
        "kind": submit.kind,
        "priority": submit.priority,
        "input": given,
        "labels": submit.labels,
        "budget": submit.budget.model_dump(exclude_none=True),
        "overrides": _overrides(submit),
        "conversation_id": submit.conversation_id or new_id(),
        "replayed_from": None,
        "batch_id": None,
        "actor": caller.key_id,
        "request_id": request.state.request_id,
        "trace_context": trace if _TRACE.fullmatch(trace) else None,
        "webhook": None if submit.webhook is None else submit.webhook.model_dump(mode="json"),
        "warnings": [],
        **more,
    }


def _overrides(submit: JobRequest) -> dict[str, JsonValue]:
    """Return the job's own choices of models, where they differ from the chains."""
    reproducible: dict[str, JsonValue] = {"reproducible": True} if submit.reproducible else {}
    return reproducible if submit.model is None else {**reproducible, "model": submit.model}


async def accept(deps: Dependencies, db: AsyncConnection, unit: UnitOfWork, row: Row) -> views.View:
    """Insert the job, and notify once it is committed. Raises: QuotaExceeded, Overloaded."""
    kind = row["kind"]
    await deps.quotas.admit_jobs(db, row["tenant_id"], 1)
    served = bool(await deps.workforce.serving(kind))
    absent = [] if served else await checks.warnings(deps, kind)
    row["warnings"] = [*absent, *await checks.doubts(deps, row)]
    inserted = (await db.execute(submission.SUBMIT, row)).mappings().one()
    notify(deps, unit, {kind: [row["id"]]})
    if served:
        waiting = views.in_queue(inserted["ahead"], submission.MAX_AHEAD_AT_SUBMIT)
    else:
        waiting = views.no_worker(deps.workforce.absence(kind))
    return views.accepted(row, inserted["created_at"], waiting)


def notify(deps: Dependencies, unit: UnitOfWork, jobs: Mapping[str, list[str]]) -> None:
    """Count accepted jobs and notify workers of them once they are committed; the answer does not wait for it."""

    def then() -> None:
        for kind, ids in jobs.items():
            deps.metrics.submitted.labels(kind).inc(len(ids))
        deps.notifier.notify(jobs)

    unit.submitted.update({kind: len(ids) for kind, ids in jobs.items()})
    unit.after_commit.append(then)
