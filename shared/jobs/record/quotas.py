"""Quotas: how much a tenant may have; the operator's defaults hold where an administrator has set nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Column, DateTime, Select, Table, Text, TextClause, func, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.sql.dml import ReturningInsert

from shared.contracts.limits import LimitsInput
from shared.db import metadata

#: Names of all that is set for a tenant, and of the columns: the quotas, and its weight.
SET = tuple(LimitsInput.model_fields)
QUOTAS = tuple(name for name in SET if name != "weight")

tenant_limits = Table(
    "tenant_limits",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    *(Column(name, BigInteger) for name in SET),  # null: the default
    Column("updated_at", DateTime(timezone=True), nullable=False, server_default=text("clock_timestamp()")),
    Column("updated_by", Text),
)


def limits_of(tenant: str) -> Select[Any]:
    """Select the tenant's own limits; no row without any."""
    return select(*(tenant_limits.c[name] for name in SET)).where(tenant_limits.c.tenant_id == tenant)


def set_limits(tenant: str, limits: Mapping[str, int | None], actor: str) -> ReturningInsert[Any]:
    """Replace all that is set for the tenant."""
    values = {**{name: limits.get(name) for name in SET}, "updated_by": actor}
    return (
        insert(tenant_limits)
        .values(tenant_id=tenant, **values)
        .on_conflict_do_update(index_elements=["tenant_id"], set_={**values, "updated_at": func.clock_timestamp()})
        .returning(*(tenant_limits.c[name] for name in SET))
    )


def one_at_a_time(tenant: str, quota: str) -> TextClause:
    """Let no other transaction count this quota of the tenant until this one has ended."""
    statement = text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))")
    return statement.bindparams(name=f"assay.{quota}.{tenant}")


#: Of files, and of inputs and results from 1 kB.
_STORED = """
    (SELECT coalesce(sum(size), 0)::bigint FROM files WHERE tenant_id = :tenant)
    + (SELECT coalesce(sum(stored_bytes), 0)::bigint FROM jobs WHERE tenant_id = :tenant AND stored_bytes >= 1024)
"""


def stored_bytes(tenant: str) -> TextClause:
    """Select the bytes of the tenant's files and of its jobs' inputs and results."""
    return text(f"SELECT {_STORED}").bindparams(tenant=tenant)


def storage(tenant: str, default_bytes: int) -> TextClause:
    """Select one row: how many bytes the tenant may store (``most``), and stores (``stored``)."""
    return text(
        f"""
        SELECT coalesce((SELECT storage_bytes FROM tenant_limits WHERE tenant_id = :tenant),
                        CAST(:default AS bigint)) AS most,
               {_STORED} AS stored
        """  # noqa: S608 - a constant of ours
    ).bindparams(tenant=tenant, default=default_bytes)


def usage(tenant: str, midnight: datetime) -> TextClause:
    """Select one row with the tenant's current use of each quota that is counted in Postgres."""
    return text(
        f"""
        SELECT (SELECT coalesce(sum(queued), 0)::bigint FROM (
                   SELECT queued FROM job_counts WHERE tenant_id = :tenant
                   UNION ALL SELECT queued FROM job_deltas WHERE tenant_id = :tenant) AS counted) AS queued_jobs,
               (SELECT count(*) FROM jobs WHERE state = 'running' AND tenant_id = :tenant) AS running_jobs,
               {_STORED} AS storage_bytes,
               (SELECT coalesce(sum(coalesce(input_tokens, 0) + coalesce(output_tokens, 0)), 0)::bigint FROM llm_calls
                WHERE tenant_id = :tenant AND at >= :midnight AND source <> 'replay') AS tokens_per_day
        """  # noqa: S608 - a constant of ours
    ).bindparams(tenant=tenant, midnight=midnight)
