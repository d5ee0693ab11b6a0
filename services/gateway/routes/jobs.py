"""Jobs: submit, look, cancel, replay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, cast

from fastapi import APIRouter, Body, Path, Query, Request, Response
from fastapi.openapi.models import Example
from pydantic import JsonValue
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway import notifications
from services.gateway.database import Db, Unit
from services.gateway.dependencies import Dependencies, Deps
from services.gateway.http.auth import CurrentCaller
from services.gateway.http.responses import JsonText, Prepared, encode, etag_of, has_tag
from services.gateway.http.rules import EndpointRules, Id, IfMatch, is_sane
from services.gateway.jobs import checks, tables, views
from services.gateway.jobs.checks import is_large_kind
from services.gateway.jobs.replay import replayed
from services.gateway.jobs.submit import accept, row_of
from services.gateway.routing import narrowed, routes
from services.gateway.streams.waits import find, hold, hold_replayed
from services.gateway.tables.forms import FORMS
from shared.contracts.jobs import JobRequest, JobState, JobView, ReplayInput
from shared.contracts.models import LlmCalls, LlmCallText
from shared.errors import JobFinished, JobNotFinished, NotFound, PreconditionFailed
from shared.faults import form
from shared.jobs.record import queries, statements
from shared.kinds import KindSpec, request_type
from shared.llm.ledger import as_call, call_with_text, calls_of
from shared.llm.texts import unpacked

router = routes("/v1/jobs", "Jobs")
calls_router = routes("/v1/jobs", "Jobs")  # after the events in the documentation

_ACCEPTED: dict[int | str, dict[str, Any]] = {
    200: {"model": JobView, "description": "It ended while the answer was held (`Prefer: wait`)"},
    202: {"model": JobView, "description": "Accepted; follow `Location`"},
}


def submit_router(kinds: Mapping[str, KindSpec[Any]]) -> APIRouter:
    """Return the router of submits, whose body is one of the given kinds."""
    examples: dict[str, Example] = {
        kind.name: {"summary": kind.example.summary, "value": {"kind": kind.name, "input": kind.example.input}}
        for kind in kinds.values()
    }
    body: Any = Annotated[request_type(kinds.values()), Body(openapi_examples=examples)]
    router = routes("/v1/jobs", "Jobs")
    submit = router.post("", summary="Submit a job", status_code=202, responses=_ACCEPTED)
    submit(narrowed(submit_job, body=body))
    return router


@EndpointRules(large=is_large_kind, single=True, on_replay=hold_replayed)
async def submit_job(
    request: Request, body: JobRequest, caller: CurrentCaller, db: Db, unit: Unit, deps: Deps
) -> Prepared:
    """`Prefer: wait=N` holds the answer for up to N seconds (60 at most) and gives 200 when the job ended in time."""
    await checks.check(deps, db, caller, [(("body",), body)])
    sent = cast("dict[str, dict[str, JsonValue]]", await request.json())
    view = await accept(deps, db, unit, row_of(request, caller, body, sent["input"]))
    hold(request, view["id"])
    return Prepared(view, 202, {"Location": view["links"]["self"], "Retry-After": "1"})


@router.get("/{id}", summary="Get a job", response_model=JobView, responses={304: {"description": "Not modified"}})
async def get_job(id: Id, caller: CurrentCaller, db: Db, deps: Deps) -> Prepared:
    row = await find(db, id, caller.tenant)
    waiting = await views.waiting_of(deps, db, row)
    headers = {} if JobState(row["state"]).terminal else {"Retry-After": "1"}
    return Prepared(views.job_view(row, waiting), headers=headers).tagged()


_FORM = form(r"^[a-z0-9_.-]+$", "must be the name of a form, such as csv or csv.gz")
_FORMAT = "json: the result itself; of a table also csv, tsv, jsonl, arrow, parquet, xlsx and so on, with every row"
_RESULT: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The result of the job's kind, or its requested form",
        "content": {
            "application/json": {"schema": {}},
            "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
        },
    }
}


@router.get("/{id}/result", summary="Fetch a job's result", response_class=Response, responses=_RESULT)
async def get_job_result(
    id: Id,
    caller: CurrentCaller,
    deps: Deps,
    format: Annotated[str, Query(max_length=64, pattern=_FORM, description=_FORMAT)] = "json",
) -> Response:
    """404 `job_not_finished` before the job's end. `format` selects another form, where the kind has any.

    A table comes with all its rows, streamed: `csv`, `tsv`, `jsonl`, `records` (a JSON array), `md`, `html` (these also
    packed, as `csv.gz` and `csv.zst`), `arrow` (stream), `feather`, `parquet`, `xlsx`, `sqlite` and `duckdb`.
    """
    async with deps.database.read(caller.tenant) as db:  # not held while the bytes flow
        row = await _ended(db, id, caller.tenant)
        if format == "json":
            return Prepared(row["result"]).tagged()
        form = (await db.execute(queries.form(id, caller.tenant, format))).one_or_none()
        if form is not None:
            return Response(form.body, media_type=form.media_type)
        file = await tables.file_of(db, row["result"], format, caller.tenant)
    return await tables.response(deps, file, FORMS[format], caller.tenant, name=id)


async def _ended(db: AsyncConnection, id: str, tenant: str) -> views.Row:
    """Return a job that has a result. Raises: NotFound, JobNotFinished."""
    row = await find(db, id, tenant)
    state = JobState(row["state"])
    if not state.terminal:
        raise JobNotFinished(f"The job is {state}; its result comes with its end.")
    if row["result"] is None:
        why = "it was cancelled" if state is JobState.CANCELLED else "the job holds its error"
        raise NotFound(f"The job ended as {state} and has no result: {why}.")
    return row


@router.post("/{id}/cancel", summary="Cancel a job", status_code=202, response_model=JobView)
async def cancel_job(
    id: Id, caller: CurrentCaller, db: Db, unit: Unit, deps: Deps, if_match: IfMatch = None
) -> Prepared:
    """End a queued job at once, a running one within seconds. 409 `job_finished` when it has ended."""
    if if_match is not None:
        await _check_unchanged(db, deps, id, caller.tenant, if_match)
    row = (await db.execute(statements.cancel(id, caller.tenant))).mappings().one_or_none()
    if row is None:
        ended = await find(db, id, caller.tenant)
        raise JobFinished(f"The job has already ended: {ended['state']}.")
    has_ended = row["state"] != JobState.RUNNING
    unit.after_commit.append(lambda: deps.in_background(notifications.notify_watchers(deps.redis, {id: has_ended})))
    waiting = await views.waiting_of(deps, db, row)
    return Prepared(views.job_view(row, waiting), 202)


async def _has_large_input(request: Request, db: AsyncConnection) -> bool:
    id = request.path_params["id"]
    if not is_sane(id):
        return False
    length = (await db.execute(queries.input_length(id, request.state.caller.tenant))).scalar_one_or_none()
    return (length or 0) > views.MAX_READ


@router.post("/{id}/replay", summary="Run a job's input again", status_code=202, responses=_ACCEPTED)
@EndpointRules(on_replay=hold_replayed, refers_to_large=_has_large_input)
async def replay_job(
    request: Request, id: Id, caller: CurrentCaller, db: Db, unit: Unit, deps: Deps, body: ReplayInput | None = None
) -> Prepared:
    """`input` is merged into the old one field by field; `model` and `budget` replace the old job's."""
    change = body or ReplayInput()
    old = await find(db, id, caller.tenant)
    if isinstance(old["input"], JsonText):
        old = {**old, "input": old["input"].read()}
    row = await replayed(request, caller, deps, db, old, change)
    view = await accept(deps, db, unit, row)
    hold(request, view["id"])
    return Prepared(view, 202, {"Location": view["links"]["self"], "Retry-After": "1"})


@calls_router.get("/{id}/llm-calls", summary="List a job's model calls")
async def list_job_llm_calls(id: Id, caller: CurrentCaller, db: Db) -> LlmCalls:
    """List the calls; a provider that was passed over is listed as `skipped`; unknown tokens and prices are null."""
    if (await db.execute(queries.state(id, caller.tenant))).scalar_one_or_none() is None:
        raise NotFound(f"There is no job {id}.")
    rows = (await db.execute(calls_of(caller.tenant, id))).all()
    return LlmCalls(items=[as_call({**row._mapping}) for row in rows])


@calls_router.get("/{id}/llm-calls/{call}", summary="Read a model call's messages and answer")
async def get_job_llm_call(
    id: Id,
    call: Annotated[int, Path(ge=1, le=2**63 - 1, description="The call's `id`")],
    caller: CurrentCaller,
    db: Db,
    deps: Deps,
) -> LlmCallText:
    """Return the call as it was sent, after the job's masks, and its answer. The installation's setting
    `ASSAY_LLM_TEXTS`, shown in `keeps`, decides which calls keep their text; without it `messages` is null.
    """
    row = (await db.execute(call_with_text(caller.tenant, id, call))).mappings().one_or_none()
    if row is None:
        raise NotFound(f"There is no model call {call} of a job {id}.")
    texts = {} if row["body"] is None else await deps.llm.ask(lambda: unpacked(row["body"]))
    return LlmCallText.model_validate(
        {**as_call(row).model_dump(), **texts, "keeps": deps.settings.calls.texts}, strict=False
    )


async def _check_unchanged(db: AsyncConnection, deps: Dependencies, id: str, tenant: str, if_match: str) -> None:
    """Raise NotFound, or PreconditionFailed when the job has changed since the client read it."""
    row = await find(db, id, tenant)
    waiting = await views.waiting_of(deps, db, row)
    if not has_tag(if_match, etag_of(encode(views.job_view(row, waiting)))):
        raise PreconditionFailed("The job has changed since you read it; read it again.")
