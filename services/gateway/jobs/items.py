"""Jobs as items of a list: what each was about, how it went, and why it waits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.dependencies import Dependencies
from services.gateway.jobs import views
from shared.contracts.jobs import JobState
from shared.jobs.record import listing, queries


async def viewing(
    db: AsyncConnection, deps: Dependencies, tenant: str, rows: Sequence[views.Row]
) -> Callable[[views.Row], views.View]:
    """Return a function that shows each of these rows of ``listing`` as an item."""
    waiting = await _waiting(db, deps, tenant, rows)
    calls = await _calls(db, tenant, [row["id"] for row in rows])

    def view(row: views.Row) -> views.View:
        extra = {"title": row["title"] or None, "verdict": row["verdict"], **calls.get(row["id"], _NO_CALLS)}
        return {**views.summary(row, waiting.get(row["id"])), **extra}

    return view


_NO_CALLS: views.View = {"turns": 0, "served": None, "failed_over": False}


async def _waiting(
    db: AsyncConnection, deps: Dependencies, tenant: str, rows: Sequence[views.Row]
) -> dict[str, views.View]:
    """Return why the queued jobs wait, by id."""
    queued = [row for row in rows if row["state"] == JobState.QUEUED]
    if not queued:
        return {}
    placed = await db.execute(queries.queue_positions(tenant, [row["id"] for row in queued]))
    ahead = {row.id: row.ahead for row in placed}
    served = {kind for worker in await deps.workforce.all() for kind in worker.kinds}
    return {
        row["id"]: views.in_queue(ahead.get(row["id"], queries.MAX_AHEAD))
        if row["kind"] in served
        else views.no_worker(deps.workforce.absence(row["kind"]))
        for row in queued
    }


async def _calls(db: AsyncConnection, tenant: str, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the jobs' model calls, by id; jobs without calls are left out."""
    if not ids:
        return {}
    rows = (await db.execute(listing.calls_of(tenant, ids))).mappings().all()
    return {
        row["job_id"]: {
            "turns": row["turns"],
            "failed_over": row["failed_over"],
            "served": row["provider"] and {"provider": row["provider"], "model": row["model"]},
        }
        for row in rows
    }
