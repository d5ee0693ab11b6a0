"""A row of ``jobs`` as a client sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import RowMapping
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.dependencies import Dependencies
from services.gateway.http.responses import JsonText
from shared.amounts import amount
from shared.db import READ_JSON
from shared.jobs.record import queries

Row = RowMapping | Mapping[str, Any]
View = dict[str, Any]

_USAGE = {"llm_calls": 0, "input_tokens": 0, "output_tokens": 0, "cost_usd": None}
_PLAIN = ("id", "kind", "state", "attempt", "created_at", "started_at", "finished_at", "conversation_id")


#: A longer input or result is passed on as Postgres gives it: reading and writing it again takes milliseconds.
MAX_READ = 64 * 1024


def read(row: RowMapping) -> Row:
    """Return a row of ``queries.find``; a long input or result is ``JsonText``."""
    return {**row, **{name: _value(row[name]) for name in ("input", "result")}}


def _value(text: str | None) -> object:
    if text is None or len(text) > MAX_READ:
        return None if text is None else JsonText(text)
    return READ_JSON(text)


def job_view(row: Row, waiting: View | None = None) -> View:
    """Return a job with its input and result."""
    return {
        **summary(row, waiting),
        "input": row["input"],
        "result": row["result"],
        "isolation": row.get("isolation"),
        "actor_name": row.get("actor_name"),
    }


def summary(row: Row, waiting: View | None = None) -> View:
    """Return a job as lists show it."""
    link = f"/v1/jobs/{row['id']}"
    return {
        **{name: row[name] for name in _PLAIN},
        "waiting": waiting,
        "error": row["error"],
        "warnings": row["warnings"],
        "usage": {**_USAGE, **row["usage"]},
        "replayed_from": row["replayed_from"],
        "batch_id": row["batch_id"],
        "priority": row["priority"],
        "budget": row["budget"],
        "overrides": row["overrides"],
        "actor": row["actor"],
        "worker_id": row["worker_id"],
        "crashes": row["crashes"],
        "request_id": row["request_id"],
        "labels": row["labels"],
        "links": {"self": link, "events": f"{link}/events", "cancel": f"{link}/cancel"},
    }


def accepted(row: Row, created_at: object, waiting: View | None, *, brief: bool = False) -> View:
    """Return a job that has just been submitted, from its inserted row."""
    unset = {
        "state": "queued",
        "attempt": 0,
        "crashes": 0,
        **dict.fromkeys(("started_at", "finished_at", "result", "error", "worker_id")),
    }
    whole = {**row, **unset, "usage": {}, "created_at": created_at}
    return summary(whole, waiting) if brief else job_view(whole, waiting)


async def waiting_of(deps: Dependencies, connection: AsyncConnection, row: Row) -> View | None:
    """Return why the job waits; None when it does not."""
    if row["state"] != "queued":
        return None
    if not await deps.workforce.serving(row["kind"]):
        return no_worker(deps.workforce.absence(row["kind"]))
    queue = (await connection.execute(queries.waiting_reason(row))).mappings().one()
    if queue["later"]:
        return {"reason": "retry_at", "position": None, "detail": None, "retry_at": row["run_at"]}
    tenant_running = (await deps.quotas.limits(row["tenant_id"]))["running_jobs"]
    if tenant_running and queue["running"] >= tenant_running:
        detail = f"The tenant runs {amount(tenant_running, 'job')} of this kind already."
        return {"reason": "tenant_limit", "position": place(queue["ahead"]), "detail": detail, "retry_at": None}
    return in_queue(queue["ahead"])


def no_worker(detail: str) -> View:
    return {"reason": "no_worker", "position": None, "detail": detail, "retry_at": None}


def in_queue(ahead: int, most: int = queries.MAX_AHEAD) -> View:
    return {"reason": "in_queue", "position": place(ahead, most), "detail": None, "retry_at": None}


def place(ahead: int, most: int = queries.MAX_AHEAD) -> int | None:
    """Return the position in the tenant's queue, 1 being next; None when it is too far back to count."""
    return ahead + 1 if ahead < most else None
