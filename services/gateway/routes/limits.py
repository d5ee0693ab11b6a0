"""Quotas: what the caller's tenant may have and has, and what an administrator sets for a tenant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from fastapi import Path, Request
from sqlalchemy import Executable
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway import known_tenants
from services.gateway.database import Db, Unit
from services.gateway.dependencies import Dependencies, Deps
from services.gateway.http import auditing
from services.gateway.http.auth import CurrentCaller
from services.gateway.http.rules import EndpointRules, TenantName
from services.gateway.routing import routes
from shared.contracts.limits import LimitsInput, TenantLimits
from shared.jobs.record import quotas

router = routes("/v1", "Limits")

Tenant = Annotated[TenantName, Path(description="The tenant")]


@router.get("/limits", summary="See the tenant's quotas and what is used of them")
async def get_limits(caller: CurrentCaller, db: Db, deps: Deps) -> TenantLimits:
    """Return the quotas. A refusal for a quota is 429 `quota_exceeded`, with its name in `quota` and its number in
    `limit`.
    """
    return await deps.quotas.view(caller.tenant, lambda statement: _row(db, statement))


@router.get("/tenants/{tenant}/limits", summary="See the quotas of any tenant")
@EndpointRules(scope="admin")
async def get_tenant_limits(tenant: Tenant, db: Db, deps: Deps) -> TenantLimits:
    return await _of_tenant(tenant, db, deps)


@router.put("/tenants/{tenant}/limits", summary="Set the quotas of a tenant")
@EndpointRules(scope="admin", audit="limits.set")
async def set_tenant_limits(
    tenant: Tenant, body: LimitsInput, caller: CurrentCaller, request: Request, db: Db, unit: Unit, deps: Deps
) -> TenantLimits:
    """Set all limits: those left out get the installation's default. Every gateway follows within a second."""
    async with deps.database.write() as connection:
        await connection.execute(quotas.set_limits(tenant, body.model_dump(), caller.key_id))
        await auditing.record(connection, request.state.audit, caller, request, tenant, auditing.given(request))
    unit.is_audited = True
    deps.quotas.forget(tenant)  # after the commit: until then a request may bring it back
    return await _of_tenant(tenant, db, deps)


async def _of_tenant(tenant: str, db: AsyncConnection, deps: Dependencies) -> TenantLimits:
    limits = await deps.quotas.view(tenant, lambda statement: _row(db, statement))
    return limits.model_copy(update={"warnings": await known_tenants.warnings(db, tenant)})


async def _row(db: AsyncConnection, statement: Executable) -> Mapping[str, int]:
    return dict((await db.execute(statement)).mappings().one())
