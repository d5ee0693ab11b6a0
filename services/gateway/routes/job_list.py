"""The list of jobs: filtered, with what each was about and how it went."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field
from pydantic_core import PydanticKnownError
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.database import Db
from services.gateway.dependencies import Deps
from services.gateway.http.auth import CurrentCaller
from services.gateway.http.responses import Prepared, cursor_after, page, read_cursor
from services.gateway.jobs import items
from services.gateway.routing import routes
from shared.contracts.jobs import JobCounts, JobKind, JobPage, JobState, StateCount
from shared.jobs.record import listing
from shared.jobs.record.listing import JobFilter, Place
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
    """Return every key and value that the pair may mean: keys and values may hold the signs between them too.

    The sign is ``=``, or ``:`` as it was first written.
    """
    places = [place for sign in "=:" for place in range(1, min(len(pair), 65)) if pair[place] == sign]
    return [(pair[:place], pair[place + 1 :]) for place in places if len(pair) - place - 1 <= 200]


def _version(name: str) -> str:
    _, _, version = name.rpartition("@")
    if not version.isdecimal() or len(version) > 9:
        raise ValueError("give key@version, such as execution.transform@3")
    return name


class JobWhere(BaseModel):
    """Filter of jobs; all given conditions must hold."""

    model_config = ConfigDict(extra="forbid")

    kind: Annotated[list[KnownKind], Field(max_length=20, description="Kinds of the jobs; any of these")] = []
    state: Annotated[list[JobState], Field(max_length=6, description="States of the jobs; any of these")] = []
    label: Annotated[
        list[Annotated[str, AfterValidator(_label)]],
        Field(max_length=32, description="Labels as `KEY=VALUE`; a job must have all of them"),
    ] = []
    created_after: Annotated[AwareDatetime | None, Field(description="Submitted after this time")] = None
    created_before: Annotated[AwareDatetime | None, Field(description="Submitted before this time")] = None
    conversation_id: Annotated[Name | None, Field(description="Conversation that the jobs belong to")] = None
    batch_id: Annotated[Name | None, Field(description="Batch that the jobs were submitted with")] = None
    replayed_from: Annotated[Name | None, Field(description="Id of the job that the jobs replay")] = None
    provider: Annotated[Name | None, Field(description="Provider that answered a call of the job")] = None
    model: Annotated[Name | None, Field(description="Model that answered a call of the job")] = None
    prompt: Annotated[Name, AfterValidator(_version)] | None = Field(
        None, description="Prompt that the job used, as `KEY@VERSION`"
    )
    error_code: Annotated[Name | None, Field(description="Error code of failed jobs")] = None
    failed_over: Annotated[bool | None, Field(description="Whether a failover took place")] = None
    warnings: Annotated[bool | None, Field(description="Whether the job has warnings")] = None
    q: Annotated[Name | None, Field(description="Words of the title")] = None
    outcome: Annotated[
        list[Name],
        Field(
            max_length=40,
            description="States, error codes, or what results say of themselves (`unverified`); any of these",
        ),
    ] = []

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
            warned=self.warnings,
            words=self.q,
            outcomes=self.outcome,
        )


class CountQuery(JobWhere):
    """Filter of the jobs that are counted."""

    outcomes: Annotated[bool, Field(description="Also count the newest 2,000 by outcome")] = False


class JobQuery(JobWhere):
    """Filter and page of the list of jobs."""

    total: Annotated[bool, Field(description="Also count them, up to 10,000")] = False
    limit: Annotated[int, Field(ge=1, le=200, description="How many items a page holds")] = 50
    cursor: Annotated[str | None, Field(max_length=500, description="The `next_cursor` of the page before")] = None


@router.get("", summary="List jobs, newest first", response_model=JobPage)
async def list_jobs(caller: CurrentCaller, db: Db, deps: Deps, query: Annotated[JobQuery, Query()]) -> Prepared:
    """Items have neither `input` nor `result`, but `title`, `turns`, `served`, `failed_over` and `verdict`.

    For a filter that few jobs match, a page inspects 2,000 jobs and reports how far it came (`looked_back_to`); it
    may then be short or empty, and its `next_cursor` continues from there.
    """
    wanted, before = query.wanted(), read_cursor(query.cursor)
    end = await end_of_look(db, caller.tenant, wanted, before)
    statement = listing.page(caller.tenant, wanted, query.limit + 1, before, end)
    rows = (await db.execute(statement)).mappings().all()
    view = await items.viewing(db, deps, caller.tenant, rows)
    jobs = page(rows, query.limit, view)
    answer: dict[str, object] = {"items": jobs.items, "next_cursor": jobs.next_cursor}
    if end is not None and jobs.next_cursor is None:
        answer |= {"next_cursor": cursor_after(*end), "looked_back_to": end[0]}
    if query.total:
        last = await end_of_look(db, caller.tenant, wanted, None, listing.MAX_COUNTED)
        answer["total"] = (await db.execute(listing.total(caller.tenant, wanted, last))).scalar_one()
    return Prepared(answer)


@router.get("/counts", summary="Count jobs by state")
async def count_jobs(caller: CurrentCaller, db: Db, query: Annotated[CountQuery, Query()]) -> JobCounts:
    """Count the jobs of the list by state, for the requested states, by default for all.

    Of each state at most 1,000 are counted; for a filter that no index counts, the newest 2,000 jobs are inspected.
    An outcome is the error code of a failed job, what the result of a succeeded one says of itself, else the state.
    """
    wanted = query.wanted()
    alone = listing.is_counted_by_state(wanted)
    end = None if alone else await end_of_look(db, caller.tenant, wanted, None)
    rows = (await db.execute(listing.by_state(caller.tenant, wanted, end))).all()
    counts: dict[str, int] = {row.state: row.jobs for row in rows}
    cut = end is not None or (not alone and sum(counts.values()) > listing.MAX_INSPECTED)
    items = []
    for state in wanted.states or JobState:
        jobs = counts.get(state, 0)
        most = listing.MAX_OF_A_STATE if alone else listing.MAX_INSPECTED
        items.append(StateCount(state=JobState(state), jobs=min(jobs, most), more=cut or jobs > most))
    outcomes = None
    if query.outcomes:
        counted = (await db.execute(listing.by_outcome(caller.tenant, wanted, end))).all()
        outcomes = {row.outcome: row.jobs for row in counted}
    return JobCounts(items=items, looked_back_to=None if end is None else end[0], outcomes=outcomes)


async def end_of_look(
    db: AsyncConnection, tenant: str, wanted: JobFilter, before: Place | None, most: int = listing.MAX_INSPECTED
) -> Place | None:
    """Return the last job that a page inspects; None when it may inspect all."""
    statement = listing.end_of_look(tenant, wanted, before, most)
    row = None if statement is None else (await db.execute(statement)).one_or_none()
    return None if row is None else (row.created_at, row.id)
