"""The list of jobs: filtered, with what each was about and how it went."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Query, Response
from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field
from pydantic_core import PydanticKnownError
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.database import Db
from services.gateway.dependencies import Dependencies, Deps
from services.gateway.http.auth import CurrentCaller
from services.gateway.http.responses import Json, page, read_cursor
from services.gateway.jobs import views
from services.gateway.routing import routes
from shared.contracts.jobs import JobKind, JobPage, JobState
from shared.jobs import listing, queries
from shared.jobs.listing import JobFilter
from shared.kinds import KINDS

router = routes("/v1/jobs", "Jobs")

Name = Annotated[str, Field(min_length=1, max_length=200)]


def _known_kind(kind: str) -> str:
    if kind not in KINDS:
        *others, last = map(repr, KINDS)
        raise PydanticKnownError("enum", {"expected": f"{', '.join(others)} or {last}"})
    return kind


KnownKind = Annotated[JobKind, AfterValidator(_known_kind)]


def _label(pair: str) -> str:
    if "\0" in pair or not _readings(pair):
        raise ValueError("give key=value, the key with 1 to 64 characters, the value with 200 at most")
    return pair


def _readings(pair: str) -> list[tuple[str, str]]:
    """``key=value``, or ``key:value`` as it was first written: of a pair with both signs either may be meant."""
    parts = (pair.partition(sign) for sign in "=:")
    return [(key, value) for key, sign, value in parts if sign and 1 <= len(key) <= 64 and len(value) <= 200]


def _version(name: str) -> str:
    _, _, version = name.rpartition("@")
    if not version.isdecimal() or len(version) > 9:
        raise ValueError("give key@version, such as execution.transform@3")
    return name


class JobWhere(BaseModel):
    """What jobs have in common; a name that it does not know is refused, as it would filter nothing."""

    model_config = ConfigDict(extra="forbid")

    kind: Annotated[list[KnownKind], Field(max_length=20, description="Any of these")] = []
    state: Annotated[list[JobState], Field(max_length=6, description="Any of these")] = []
    label: Annotated[
        list[Annotated[str, AfterValidator(_label)]],
        Field(max_length=32, description="`key=value`; several must all hold"),
    ] = []
    created_after: Annotated[AwareDatetime | None, Field(description="Submitted after this moment")] = None
    created_before: Annotated[AwareDatetime | None, Field(description="Submitted before this moment")] = None
    conversation_id: Name | None = None
    batch_id: Name | None = None
    replayed_from: Name | None = None
    provider: Annotated[Name | None, Field(description="Who answered in it")] = None
    model: Annotated[Name | None, Field(description="The model that answered in it")] = None
    prompt: Annotated[Name, AfterValidator(_version)] | None = Field(None, description="`key@version` that it used")
    error_code: Annotated[Name | None, Field(description="They failed with this code")] = None
    failed_over: Annotated[bool | None, Field(description="Whether another model had to answer")] = None
    q: Annotated[Name | None, Field(description="Words of the title")] = None

    def wanted(self) -> JobFilter:
        key, _, version = (self.prompt or "").rpartition("@")
        return JobFilter(
            kinds=self.kind,
            states=self.state,
            labels=[_readings(pair) for pair in self.label],
            created_after=self.created_after,
            created_before=self.created_before,
            conversation_id=self.conversation_id,
            batch_id=self.batch_id,
            replayed_from=self.replayed_from,
            provider=self.provider,
            model=self.model,
            prompt=(key, int(version)) if self.prompt else None,
            error_code=self.error_code,
            failed_over=self.failed_over,
            words=self.q,
        )


class JobQuery(JobWhere):
    """What one may ask the list for."""

    total: Annotated[bool, Field(description="Also count them, up to 10,000")] = False
    limit: Annotated[int, Field(ge=1, le=200, description="How many items a page holds")] = 50
    cursor: Annotated[str | None, Field(max_length=500, description="The `next_cursor` of the page before")] = None


@router.get("", summary="List jobs, newest first", response_model=JobPage)
async def list_jobs(caller: CurrentCaller, db: Db, deps: Deps, query: Annotated[JobQuery, Query()]) -> Response:
    """Items have neither `input` nor `result`, but `title`, `turns`, `served`, `failed_over` and `verdict`."""
    wanted = query.wanted()
    statement = listing.page(caller.tenant, wanted, query.limit + 1, read_cursor(query.cursor))
    rows = (await db.execute(statement)).mappings().all()
    waiting = await _waiting(db, deps, caller.tenant, rows)
    calls = await _calls(db, [row["id"] for row in rows])

    def view(row: views.Row) -> views.View:
        told = {"title": row["title"] or None, "verdict": row["verdict"], **calls.get(row["id"], _NO_CALLS)}
        return {**views.summary(row, waiting.get(row["id"])), **told}

    answer = page(rows, query.limit, view)
    if query.total:
        answer["total"] = (await db.execute(listing.total(caller.tenant, wanted))).scalar_one()
    return Json(answer)


_NO_CALLS: views.View = {"turns": 0, "served": None, "failed_over": False}


async def _waiting(
    db: AsyncConnection, deps: Dependencies, tenant: str, rows: Sequence[views.Row]
) -> dict[str, views.View]:
    """Why the queued ones wait, by id."""
    queued = [row for row in rows if row["state"] == JobState.QUEUED]
    if not queued:
        return {}
    placed = await db.execute(queries.queue_positions(tenant, [row["id"] for row in queued]))
    ahead = {row.id: row.ahead for row in placed}
    served = {kind for worker in await deps.workforce.all() for kind in worker.kinds}
    return {
        row["id"]: views.in_queue(ahead.get(row["id"], queries.MOST_AHEAD))
        if row["kind"] in served
        else views.no_worker(deps.workforce.absence(row["kind"]))
        for row in queued
    }


async def _calls(db: AsyncConnection, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """What the jobs asked of models, by id; those that asked none are left out."""
    if not ids:
        return {}
    rows = (await db.execute(listing.calls_of(ids))).mappings().all()
    return {
        row["job_id"]: {
            "turns": row["turns"],
            "failed_over": row["failed_over"],
            "served": row["provider"] and {"provider": row["provider"], "model": row["model"]},
        }
        for row in rows
    }
