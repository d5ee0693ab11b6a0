"""Deletion: of a job that has ended, and of a tenant, with all that belongs to them."""

from __future__ import annotations

from sqlalchemy import Column, Table, Text, TextClause

from shared.db import metadata
from shared.jobs.record.prepared import sql
from shared.jobs.record.tables import time_column

tenant_deletions = Table(
    "tenant_deletions",
    metadata,
    Column("tenant", Text, primary_key=True),  # not tenant_id: the row outlives all that has one
    Column("actor", Text, nullable=False),
    time_column("requested_at", default=True),
)


def delete_job(id: str, tenant: str) -> TextClause:
    """Delete a job that has ended, with its events, deliveries and files; no row if it does not exist.

    The retention deletes its model calls, as calls whose job is gone.
    """
    return sql(
        """
        WITH gone AS (
            DELETE FROM jobs WHERE id = :id AND tenant_id = :tenant AND finished_at IS NOT NULL RETURNING id
        ), made AS (
            DELETE FROM files WHERE tenant_id = :tenant AND job_id IN (SELECT id FROM gone)
        )
        SELECT id FROM gone
        """,
        id=id,
        tenant=tenant,
    )


def request_tenant_deletion(tenant: str, actor: str) -> TextClause:
    """Have a tenant deleted, and end its keys at once."""
    return sql(
        """
        WITH ended AS (
            UPDATE api_keys SET revoked_at = clock_timestamp() WHERE tenant_id = :tenant AND revoked_at IS NULL
        )
        INSERT INTO tenant_deletions (tenant, actor) VALUES (:tenant, :actor) ON CONFLICT (tenant) DO NOTHING
        """,
        tenant=tenant,
        actor=actor,
    )


def doomed_tenants() -> TextClause:
    return sql("SELECT tenant FROM tenant_deletions ORDER BY requested_at")


def delete_rows(tenant: str, most: int) -> TextClause:
    """Delete up to ``most`` rows of the tenant from every table; how many went, 0 when none is left."""
    return sql("SELECT assay_delete_tenant(:tenant, :most)", tenant=tenant, most=most)


def end_tenant_deletion(tenant: str) -> TextClause:
    return sql("DELETE FROM tenant_deletions WHERE tenant = :tenant", tenant=tenant)
