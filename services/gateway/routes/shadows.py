"""Shadows: a share of the tenant's jobs, done again with another model or prompt."""

from __future__ import annotations

from fastapi import Request, Response
from sqlalchemy import RowMapping
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.database import Db
from services.gateway.dependencies import Deps
from services.gateway.http.auth import CurrentCaller
from services.gateway.http.responses import Cursor, Limit, page, read_cursor
from services.gateway.http.rules import EndpointRules, Id
from services.gateway.jobs.submit import new_id
from services.gateway.jobs.suites import variant_of
from services.gateway.routes.evaluations import summary
from services.gateway.routing import routes
from shared.contracts.common import Page
from shared.contracts.evaluations import VariantInput
from shared.contracts.shadows import ShadowInput, ShadowSummary, ShadowView
from shared.errors import Conflict, NotFound, QuotaExceeded
from shared.evaluations import shadows as statements
from shared.evaluations import statements as evaluation_statements
from shared.jobs.record import quotas
from shared.kinds import KINDS

router = routes("/v1/shadows", "Evaluations")

#: Each inspects every job of the tenant.
_MAX_RUNNING = 5
_MAX_EVALUATIONS = 20


@router.post("", summary="Start a shadow", status_code=201)
@EndpointRules(scope="tenant_admin", audit="shadows.start")
async def start_shadow(
    request: Request, response: Response, body: ShadowInput, caller: CurrentCaller, db: Db, deps: Deps
) -> ShadowView:
    """Rerun, from now on, that share of the tenant's jobs of the kind once they have ended. The outcomes are an
    evaluation with the variants `live` and `shadow`; the live answers stay unchanged.
    """
    roles = [role.name for role in KINDS[body.kind].roles]
    given = VariantInput(model=body.model, prompt=body.prompt)
    variant = await variant_of(deps, caller.tenant, ("body",), given, roles)
    await db.execute(quotas.one_at_a_time(caller.tenant, "shadows"))
    if (await db.execute(statements.running_of(caller.tenant))).scalar_one() >= _MAX_RUNNING:
        detail = f"The tenant has {_MAX_RUNNING} shadows already; stop one of them."
        raise QuotaExceeded(detail, retry_after=10, quota="shadows", limit=_MAX_RUNNING)
    row = {
        **body.model_dump(),
        "id": new_id(),
        "tenant_id": caller.tenant,
        "prompt": variant.prompt,
        "actor": caller.key_id,
        "request_id": request.state.request_id,
    }
    await db.execute(statements.create(row))
    response.headers["Location"] = f"/v1/shadows/{row['id']}"
    return await _view(db, row["id"], caller.tenant)


@router.get("", summary="List shadows, newest first")
async def list_shadows(caller: CurrentCaller, db: Db, limit: Limit = 50, cursor: Cursor = None) -> Page[ShadowSummary]:
    rows = (await db.execute(statements.page(caller.tenant, limit + 1, read_cursor(cursor)))).mappings().all()
    return page(rows, limit, lambda row: ShadowSummary.model_validate(dict(row)))


@router.get("/{id}", summary="Get a shadow")
async def get_shadow(id: Id, caller: CurrentCaller, db: Db) -> ShadowView:
    """Return its spending, the skipped jobs, and its evaluations."""
    return await _view(db, id, caller.tenant)


@router.post("/{id}/stop", summary="Stop a shadow")
@EndpointRules(scope="tenant_admin", audit="shadows.stop")
async def stop_shadow(id: Id, caller: CurrentCaller, db: Db) -> ShadowView:
    """Choose no further job, and end its evaluation with the runs that it has. 409 when it was stopped before."""
    await _find(db, id, caller.tenant)
    if (await db.execute(statements.stop(id, caller.tenant))).one_or_none() is None:
        raise Conflict("The shadow was stopped before.")
    return await _view(db, id, caller.tenant)


async def _find(db: AsyncConnection, id: str, tenant: str) -> RowMapping:
    row = (await db.execute(statements.find(id, tenant))).mappings().one_or_none()
    if row is None:
        raise NotFound(f"There is no shadow {id}.")
    return row


async def _view(db: AsyncConnection, id: str, tenant: str) -> ShadowView:
    shadow = await _find(db, id, tenant)
    rows = (await db.execute(statements.evaluations(id, tenant, _MAX_EVALUATIONS))).mappings().all()
    ids = [row["id"] for row in rows]
    counted = (await db.execute(evaluation_statements.totals(ids, tenant))).mappings().all()
    summaries = [summary(row, [each for each in counted if each["evaluation_id"] == row["id"]]) for row in rows]
    return ShadowView.model_validate({**shadow, "evaluations": summaries})
