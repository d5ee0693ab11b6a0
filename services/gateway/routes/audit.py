"""The audit log: read by administrators, of the installation or of a tenant; written by the audited operations."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from services.gateway.database import Db
from services.gateway.http.auth import CurrentCaller
from services.gateway.http.responses import Cursor, Limit, page, read_number
from services.gateway.http.rules import EndpointRules, TenantName
from services.gateway.routing import routes
from shared import audit
from shared.contracts.audit import AuditEntry, AuditVerification
from shared.contracts.common import Page

router = routes("/v1/audit", "Audit")


@router.get("", summary="Read the audit log, newest first")
@EndpointRules(scope="tenant_admin")
async def list_audit_entries(
    caller: CurrentCaller,
    db: Db,
    tenant: Annotated[TenantName | None, Query(description="Changes by keys of this tenant")] = None,
    action: Annotated[str | None, Query(max_length=64, description="For example `keys.create`")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[AuditEntry]:
    """List changes of keys, prompts, models, limits and definitions, and reads of numbers of all tenants
    (`tenants.read`, once an hour for each key and operation). With the scope `tenant_admin`, only those of the own
    tenant.
    """
    of = caller.administered(tenant)
    rows = (await db.execute(audit.page(limit + 1, read_number(cursor), of, action))).mappings().all()
    return page(rows, limit, audit.view, key=("at", "seq"))


@router.get("/verification", summary="Check that the audit log is unchanged")
@EndpointRules(scope="admin")
async def verify_audit_log(db: Db) -> AuditVerification:
    row = (await db.execute(audit.verification())).mappings().one()
    return AuditVerification(intact=row["broken_at"] is None, **row)
