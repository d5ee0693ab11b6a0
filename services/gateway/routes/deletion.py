"""Deletion of a job, and of a tenant, with all that belongs to them."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Response

from services.gateway.database import Db, Unit
from services.gateway.dependencies import Deps
from services.gateway.http.auth import CurrentCaller
from services.gateway.http.rules import EndpointRules, Id, TenantName
from services.gateway.routing import routes
from services.gateway.streams.waits import find
from shared.errors import Conflict
from shared.jobs.upkeep import deletion

job_router = routes("/v1/jobs", "Jobs")
tenant_router = routes("/v1/tenants", "Limits")


@job_router.delete("/{id}", summary="Delete a job that has ended", status_code=204, response_class=Response)
@EndpointRules(audit="jobs.delete")
async def delete_job(id: Id, caller: CurrentCaller, db: Db) -> None:
    """Delete the job with its input, result, events, deliveries and the files that it made; its model calls follow
    within a minute. Its messages in a conversation stay (`DELETE /v1/conversations/{id}`), as do files that were
    uploaded for it.
    """
    if (await db.execute(deletion.delete_job(id, caller.tenant))).one_or_none() is None:
        job = await find(db, id, caller.tenant)
        raise Conflict(f"The job is {job['state']}: cancel it first, and delete it when it has ended.")


@tenant_router.delete("/{tenant}", summary="Delete a tenant", status_code=202, response_class=Response)
@EndpointRules(scope="admin", audit="tenants.delete")
async def delete_tenant(
    tenant: Annotated[TenantName, Path(description="The tenant")], caller: CurrentCaller, db: Db, unit: Unit, deps: Deps
) -> None:
    """Revoke the tenant's keys at once, and delete its data in the background: jobs, files, conversations, flows,
    collections, prompts, limits. The audit log stays. This cannot be undone.
    """
    if tenant == caller.tenant:
        raise Conflict("This is the tenant of your own key: delete it with an admin key of another tenant.")
    await db.execute(deletion.request_tenant_deletion(tenant, caller.key_id))
    unit.after_commit.append(lambda: deps.authenticator.forget_tenant(tenant))  # until then a request may bring it back
