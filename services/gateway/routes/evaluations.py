"""Evaluations: a suite run with several models and prompts; read, cancelled, resumed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import Query, Request
from sqlalchemy import RowMapping
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway import notifications
from services.gateway.database import Db, Unit
from services.gateway.dependencies import Deps
from services.gateway.http.auth import CurrentCaller
from services.gateway.http.responses import Cursor, Limit, Prepared, cursor_after, read_cursor
from services.gateway.http.rules import EndpointRules, Id
from services.gateway.jobs import suites
from services.gateway.jobs.submit import new_id
from services.gateway.routing import routes
from shared.contracts.common import Page
from shared.contracts.evaluations import (
    Cell,
    Comparison,
    EvaluationEstimate,
    EvaluationInput,
    EvaluationSummary,
    EvaluationView,
    ResumeInput,
    Run,
    Total,
)
from shared.errors import Conflict, InvalidRequest, NotFound
from shared.evaluations import report, statements
from shared.evaluations.statistics import wilson
from shared.jobs.record import statements as job_statements

router = routes("/v1/evaluations", "Evaluations")

#: Comparing more runs takes a second: that is done at the end, not with each look.
_COMPARED_WHILE_RUNNING = 500
_PLAIN = ("id", "name", "state", "created_at", "finished_at", "actor", "variants", "repeat")
_Row = Mapping[str, Any] | RowMapping


@router.post(
    "",
    summary="Run a suite",
    status_code=202,
    responses={
        200: {"model": EvaluationEstimate, "description": "What it may take (`dry_run`)"},
        202: {"model": EvaluationView},
    },
)
@EndpointRules(large=True)
async def create_evaluation(
    request: Request, body: EvaluationInput, caller: CurrentCaller, db: Db, deps: Deps
) -> Prepared:
    """Run every case with every variant, `repeat` times, as ordinary jobs; 422 names the invalid case and field."""
    prepared = await suites.prepare(deps, db, caller, body)
    if body.dry_run:
        return Prepared(await suites.estimate(db, caller.tenant, body))
    await suites.admit(db, caller.tenant)
    row = {
        "id": new_id(),
        "tenant_id": caller.tenant,
        "name": body.suite.name,
        "suite": prepared.suite.model_dump(mode="json", exclude_unset=True),
        "variants": [variant.model_dump() for variant in prepared.variants],
        "repeat": body.repeat,
        "budget": body.budget.model_dump(exclude_none=True),
        "concurrency": body.concurrency,
        "priority": body.priority,
        "actor": caller.key_id,
        "request_id": request.state.request_id,
        "cases": len(body.suite.cases),
    }
    await db.execute(statements.create(row))
    return Prepared(await _view(db, row["id"], caller.tenant), 202, {"Location": f"/v1/evaluations/{row['id']}"})


@router.get("", summary="List evaluations, newest first")
async def list_evaluations(
    caller: CurrentCaller,
    db: Db,
    suite: Annotated[str | None, Query(max_length=120, description="Those of the suite with this name")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[EvaluationSummary]:
    statement = statements.page(caller.tenant, suite, limit + 1, read_cursor(cursor))
    rows = (await db.execute(statement)).mappings().all()
    shown = rows[:limit]
    counted = (await db.execute(statements.totals([row["id"] for row in shown], caller.tenant))).mappings().all()
    more = cursor_after(shown[-1]["created_at"], shown[-1]["id"]) if len(rows) > limit else None
    items = [
        EvaluationSummary.model_validate(summary(row, [each for each in counted if each["evaluation_id"] == row["id"]]))
        for row in shown
    ]
    return Page[EvaluationSummary](items=items, next_cursor=more)


@router.get("/{id}", summary="Get an evaluation", response_model=EvaluationView)
async def get_evaluation(
    id: Id,
    caller: CurrentCaller,
    db: Db,
    baseline: Annotated[str | None, Query(max_length=64, description="Compare with this one too")] = None,
    suite: Annotated[bool, Query(description="With the suite")] = False,
) -> Prepared:
    """Progress, cells, totals and comparisons, also while it runs."""
    return Prepared(await _view(db, id, caller.tenant, baseline, suite=suite)).tagged()


@router.get("/{id}/runs", summary="List an evaluation's runs", response_model=Page[Run])
async def list_evaluation_runs(
    id: Id,
    caller: CurrentCaller,
    db: Db,
    case: Annotated[str | None, Query(max_length=120, description="Name of a case: only its runs")] = None,
    variant: Annotated[str | None, Query(max_length=120, description="Name of a variant: only its runs")] = None,
) -> Prepared:
    """List each run with its outcome, in the order in which runs start; the list is not paged."""
    row = await _find(db, id, caller.tenant)
    names = [each["name"] for each in row["variants"]]
    runs = [_run(run, row["cases"], names) for run in await _runs(db, id, caller.tenant)]
    wanted = [run for run in runs if case in (None, run["case"]) and variant in (None, run["variant"])]
    return Prepared({"items": wanted, "next_cursor": None})


@router.post("/{id}/cancel", summary="Cancel an evaluation", status_code=202, response_model=EvaluationView)
async def cancel_evaluation(id: Id, caller: CurrentCaller, db: Db, unit: Unit, deps: Deps) -> Prepared:
    """Start no further run, and cancel the jobs that run. 409 when it has ended."""
    row = await _find(db, id, caller.tenant)
    if (await db.execute(statements.cancel(id, caller.tenant))).one_or_none() is None:
        raise Conflict(f"The evaluation has ended: {row['state']}.")
    job_ids = (await db.execute(statements.running_jobs(id, caller.tenant))).scalars().all()
    if job_ids:
        jobs = await db.execute(job_statements.cancel_all(job_ids, caller.tenant))
        ended = {job.id: job.state != "running" for job in jobs}
        unit.after_commit.append(lambda: deps.in_background(notifications.notify_watchers(deps.redis, ended)))
    return Prepared(await _view(db, id, caller.tenant), 202)


@router.post("/{id}/resume", summary="Resume an evaluation", status_code=202, response_model=EvaluationView)
async def resume_evaluation(id: Id, caller: CurrentCaller, db: Db, body: ResumeInput | None = None) -> Prepared:
    """Start runs that were not started, or were cancelled; `budget` replaces the old one."""
    row = await _find(db, id, caller.tenant)
    if row["state"] == "finished":
        raise Conflict("The evaluation has finished: every run has ended.")
    budget = None if body is None or body.budget is None else body.budget.model_dump(exclude_none=True)
    if row["state"] != "running":
        await suites.admit(db, caller.tenant)
        await db.execute(statements.wait_for(id, caller.tenant))
        await db.execute(statements.resume(id, caller.tenant, budget))
    return Prepared(await _view(db, id, caller.tenant), 202)


async def _find(db: AsyncConnection, id: str, tenant: str, *, suite: bool = False) -> RowMapping:
    row = (await db.execute(statements.find(id, tenant, suite=suite))).mappings().one_or_none()
    if row is None:
        raise NotFound(f"There is no evaluation {id}.")
    return row


async def _runs(db: AsyncConnection, id: str, tenant: str) -> Sequence[RowMapping]:
    return (await db.execute(statements.runs([id], tenant))).mappings().all()


async def _view(
    db: AsyncConnection, id: str, tenant: str, baseline: str | None = None, *, suite: bool = False
) -> dict[str, Any]:
    row = dict(await _find(db, id, tenant, suite=suite))
    if suite:
        row["cases"] = [case["name"] for case in row["suite"]["cases"]]
    runs = await _runs(db, id, tenant)
    counted = (await db.execute(statements.totals([id], tenant))).mappings().all()
    earlier: tuple[RowMapping, Sequence[RowMapping]] | None = None
    if baseline is not None:
        earlier = await _baseline(db, baseline, tenant)
    view = await asyncio.to_thread(_figures, row, runs, earlier)
    return {**summary(row, counted), "cases": row["cases"], "budget": row["budget"], "suite": row.get("suite"), **view}


async def _baseline(db: AsyncConnection, id: str, tenant: str) -> tuple[RowMapping, Sequence[RowMapping]]:
    try:
        return await _find(db, id, tenant), await _runs(db, id, tenant)
    except NotFound as absent:
        raise InvalidRequest(f"query.baseline: {absent.detail}", [(["query", "baseline"], absent.detail)]) from None


def _figures(row: _Row, runs: Sequence[_Row], earlier: tuple[_Row, Sequence[_Row]] | None) -> dict[str, Any]:
    """Return the report of the runs; it may take a while."""
    names = [variant["name"] for variant in row["variants"]]
    cells: list[Cell] = report.cells(row["cases"], names, runs)
    mine = [report.outcomes(row["cases"], number, runs) for number in range(len(names))]
    against: list[Comparison] = []
    if earlier is not None:
        before, old_runs = earlier
        old_names = [variant["name"] for variant in before["variants"]]
        for number, name in enumerate(names):
            if name in old_names or len(old_names) == 1:
                other = old_names.index(name) if name in old_names else 0
                theirs = report.outcomes(before["cases"], other, old_runs)
                against.append(report.compare(name, old_names[other], mine[number], theirs))
    is_cheap = row["finished_at"] is not None or len(runs) <= _COMPARED_WHILE_RUNNING
    return {
        "totals": report.totals(names, runs),
        "cells": cells,
        "comparisons": report.comparisons(names, mine) if is_cheap else [],
        "baseline": against,
        "unstable": report.unstable(cells),
    }


def summary(row: _Row, counted: Sequence[_Row]) -> dict[str, Any]:
    """Return an evaluation as lists show it: ``counted`` are its totals by variant."""
    names = [variant["name"] for variant in row["variants"]]
    sums = {name: sum(each[name] for each in counted) for name in ("runs", "pending", "running", "ended")}
    totals = [
        Total(
            variant=names[each["variant_number"]],
            runs=each["finished"],
            successes=each["successes"],
            interval=wilson(each["successes"], each["finished"]),
            **{name: each[name] for name in ("turns", "tokens", "cost_usd", "seconds")},
        )
        for each in counted
    ]
    return {
        **{name: row[name] for name in _PLAIN},
        "progress": {**{name: sums[name] for name in ("runs", "pending", "running")}, "finished": sums["ended"]},
        "totals": totals,
    }


def _run(run: _Row, cases: Sequence[str], variants: Sequence[str]) -> dict[str, Any]:
    names = ("repetition", "job_id", "success", "cause", "detail", "turns", "tokens", "cost_usd", "seconds")
    return {
        "case": cases[run["case_number"]],
        "variant": variants[run["variant_number"]],
        "state": "finished" if run["state"] == "skipped" else run["state"],
        **{name: run[name] for name in names},
    }
