"""The routes on a flow's history, versions, differences and proposals."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated

from fastapi import Path, Query
from sqlalchemy import RowMapping

from services.gateway.flows.service import FlowService, Service, answer, is_large_flow
from services.gateway.http.responses import Cursor, Limit, Prepared, page, read_cursor, read_number
from services.gateway.http.rules import Id
from services.gateway.routing import routes
from shared.contracts.common import Page
from shared.contracts.flow_routes import (
    AcceptInput,
    BranchSource,
    ChangeSetView,
    Discarded,
    FlowDiff,
    FlowVersion,
    FlowView,
    LintView,
    ProposalSummary,
    ProposalView,
    VersionName,
    Walked,
)
from shared.errors import NotFound
from shared.flows import editing, history, proposals, statements
from shared.flows.encoding import decode_operations
from shared.flows.forms.mermaid import difference_chart
from shared.flows.lint import lint
from shared.flows.operations import apply, difference, to_contract, to_json
from shared.flows.store import Flow, branch_source, origin_and_job
from shared.jobs.record import queries

router = routes("/v1/flows/{id}", "Flows", is_large_flow)

Version = Annotated[int, Path(ge=1, le=2**62, description="The version")]


@router.get("/history", summary="List a flow's changes, newest first")
async def list_changes(service: Service, id: Id, limit: Limit = 50, cursor: Cursor = None) -> Page[ChangeSetView]:
    flow = await service.read(id)
    rows = (await service.db.execute(statements.history(flow.key, limit + 1, read_number(cursor)))).mappings().all()
    names = await service.key_names(rows)
    jobs = {job for row in rows if (job := origin_and_job(row["origin"])[1])}
    spent = (await service.db.execute(queries.tokens_of(flow.key.tenant, jobs))).all() if jobs else []
    tokens = {row.id: row.tokens for row in spent}

    def view(row: RowMapping) -> ChangeSetView:
        origin, job = origin_and_job(row["origin"])
        undone = {"undone": row["undone_at"] is not None, "undone_version": row["undone_at"]}
        extra = {"time": row["at"], "actor_name": names.get(row["actor"]), **undone}
        of_job = {"origin": origin, "job_id": job if job in tokens else None, "tokens": tokens.get(job)}
        return ChangeSetView.model_validate({**row, **extra, **of_job})

    return page(rows, limit, view, key=("at", "id"))


@router.get("/versions", summary="List a flow's versions, newest first")
async def list_versions(service: Service, id: Id, limit: Limit = 50, cursor: Cursor = None) -> Page[FlowVersion]:
    flow = await service.read(id)
    rows = (
        (await service.db.execute(statements.version_list(flow.key, limit + 1, read_number(cursor)))).mappings().all()
    )

    names, sources = await service.key_names(rows), await _sources(service, rows)

    def view(row: RowMapping) -> FlowVersion:
        extra = {"time": row["at"], "actor_name": names.get(row["actor"]), "branched_from": sources.get(row["version"])}
        return FlowVersion.model_validate({**row, **extra})

    return page(rows, limit, view, key=("at", "id"))


@router.get("/versions/{number}", summary="Read an earlier version", response_model=FlowView)
async def get_version(service: Service, id: Id, number: Version) -> Prepared:
    flow, earlier = await at(service, id, number)
    return Prepared({**earlier.view(), "created_at": flow.view()["created_at"]})


@router.put("/versions/{number}", summary="Name a version, so that it is kept")
async def name_version(service: Service, id: Id, number: Version, body: VersionName) -> FlowVersion:
    """`null` takes the name away."""
    flow = await service.lock(id)
    await service.run(lambda connection: service.store.keep_snapshot(connection, flow.key, number))
    row = (await service.db.execute(statements.name_version(flow.key, number, body.name))).mappings().one_or_none()
    if row is None:
        raise NotFound(f"Version {number} is not there.")
    return FlowVersion.model_validate({**row, "time": row["at"]})


@router.post("/versions/{number}/restore", summary="Make an earlier version the current one", response_model=Walked)
async def restore_version(service: Service, id: Id, number: Version) -> Prepared:
    """Restore the version as one change set, which can be undone like any other."""
    flow = await service.lock(id)
    _, then = await at(service, id, number)
    edit = editing.restoration(flow.document, then.document, f"Restored version {number}")
    author = service.author("api.restore")
    after = await service.run(lambda connection: history.change(service.store, connection, flow, author, edit))
    service.done(flow, after)
    return answer(after, success=True)


@router.get("/diff", summary="Compare two versions", response_model=FlowDiff)
async def diff_versions(
    service: Service,
    id: Id,
    from_: Annotated[int, Query(alias="from", ge=1, le=2**62, description="The version to start from")],
    to: Annotated[int | None, Query(ge=1, le=2**62, description="The version to arrive at; else the current")] = None,
) -> Prepared:
    """`operations` lead from one to the other; `mermaid` is a picture of both."""
    _, before = await at(service, id, from_)
    current, after = await at(service, id, to)
    operations = await asyncio.to_thread(difference, before.document, after.document)
    picture = await asyncio.to_thread(difference_chart, before.document, after.document, operations)
    number = current.version if to is None else to
    return Prepared({"from": from_, "to": number, "operations": to_json(operations), "mermaid": picture})


@router.get("/lint", summary="What is legal in a flow and probably not meant")
async def lint_flow(service: Service, id: Id) -> LintView:
    flow = await service.read(id)
    return LintView(findings=await asyncio.to_thread(lint, flow.document), version=flow.version)


@router.get("/proposals", summary="List a flow's proposals, newest first")
async def list_proposals(service: Service, id: Id, limit: Limit = 50, cursor: Cursor = None) -> Page[ProposalSummary]:
    flow = await service.read(id)
    statement = statements.proposal_list(flow.key, limit + 1, read_cursor(cursor))
    rows = (await service.db.execute(statement)).mappings().all()
    return page(rows, limit, lambda row: ProposalSummary.model_validate({**row, "time": row["created_at"]}))


@router.get("/proposals/{pid}", summary="Read a proposal")
async def get_proposal(service: Service, id: Id, pid: Id) -> ProposalView:
    flow = await service.read(id)
    row = await service.run(lambda connection: proposals.find(connection, flow, pid))
    return await _proposal(service, flow, row)


@router.post("/proposals/{pid}/apply", summary="Apply a proposal, or a part of it", response_model=Walked)
async def apply_proposal(service: Service, id: Id, pid: Id, body: AcceptInput | None = None) -> Prepared:
    """Apply as one change set. 412 when the flow has changed since the proposal was made, 409 when it is decided
    already.
    """
    flow = await service.lock(id)
    chosen, author = (body or AcceptInput()).accept, service.author("proposal", pid)
    after = await service.run(lambda connection: proposals.accept(service.store, connection, flow, pid, author, chosen))
    service.done(flow, after)
    return answer(after, success=True)


@router.post("/proposals/{pid}/discard", summary="Discard a proposal")
async def discard_proposal(service: Service, id: Id, pid: Id) -> Discarded:
    flow = await service.lock(id)
    await service.run(lambda connection: proposals.discard(connection, flow, pid))
    return Discarded(success=True, id=pid, state="discarded", version=flow.version)


async def at(service: FlowService, id: str, number: int | None) -> tuple[Flow, Flow]:
    """Return the current flow, and the flow at a version. Raises: NotFound."""
    flow = await service.read(id)
    if number is None or number == flow.version:
        return flow, flow
    return flow, await service.run(lambda connection: service.store.at(connection, flow, number))


async def _sources(service: FlowService, rows: Sequence[RowMapping]) -> dict[int, BranchSource]:
    """Return the origins of branches, by the first version."""
    sources = {row["version"]: source for row in rows if (source := branch_source(row["origin"]))}
    if not sources:
        return {}
    ids = {flow_id for flow_id, _ in sources.values()}
    kept = (await service.db.execute(statements.names_of(service.caller.tenant, ids))).all()
    names = {row.id: row.name for row in kept}
    return {at: BranchSource(flow_id=id, version=number, name=names.get(id)) for at, (id, number) in sources.items()}


async def _proposal(service: FlowService, flow: Flow, row: RowMapping) -> ProposalView:
    operations = decode_operations(row["forward"])
    try:
        base = (await at(service, flow.id, row["base_version"]))[1].document
    except NotFound:  # retention dropped the version: the proposal can be read and discarded, and not applied any more
        findings, chart = [], ""
    else:
        after = apply(base, operations)
        findings, chart = lint(after), difference_chart(base, after, operations)
    return ProposalView(
        id=row["id"],
        flow_id=flow.id,
        base_version=row["base_version"],
        state=row["state"],
        summary=row["summary"],
        actor=row["actor"],
        time=row["created_at"],
        operations=to_contract(operations),
        lint=findings,
        mermaid=chart,
    )
