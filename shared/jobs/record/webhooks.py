"""Webhooks as statements: which are due, and the secrets that a tenant's deliveries are signed with."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from sqlalchemy import (
    CheckConstraint,
    Column,
    Delete,
    Float,
    ForeignKeyConstraint,
    Index,
    Integer,
    Select,
    SmallInteger,
    Table,
    Text,
    TextClause,
    UniqueConstraint,
)
from uuid_utils import uuid7

from shared.db import metadata
from shared.jobs.record.prepared import sql
from shared.jobs.record.tables import time_column

webhook_secrets = Table(
    "webhook_secrets",
    metadata,
    Column("id", Text, primary_key=True),
    Column("tenant_id", Text, primary_key=True),
    Column("place", SmallInteger, nullable=False),  # two are valid at once, while the new one replaces the old one
    Column("secret", Text, nullable=False),
    time_column("created_at", default=True),
    UniqueConstraint("tenant_id", "place"),
    CheckConstraint("place IN (1, 2)", name="place"),
)

webhook_deliveries = Table(
    "webhook_deliveries",
    metadata,
    Column("id", Text, primary_key=True),
    Column("tenant_id", Text, primary_key=True),
    Column("job_id", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("http_status", Integer),
    Column("detail", Text),
    Column("seconds", Float, nullable=False),
    time_column("at", default=True),
    ForeignKeyConstraint(["job_id", "tenant_id"], ["jobs.id", "jobs.tenant_id"], ondelete="CASCADE"),
)
Index("ix_webhook_deliveries_job_id", webhook_deliveries.c.job_id, webhook_deliveries.c.id)


@dataclass(frozen=True)
class Attempt:
    """How one attempt at a delivery went."""

    outcome: Literal["delivered", "failed", "gone", "refused", "unreachable"]
    http_status: int | None = None
    detail: str | None = None


def new_secret() -> str:
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()


def secrets_of(tenant: str) -> Select[Any]:
    """Select the tenant's secrets, oldest first; every one of them signs."""
    return webhook_secrets.select().where(webhook_secrets.c.tenant_id == tenant).order_by(webhook_secrets.c.created_at)


def add_secret(tenant: str, secret: str, places: int = 2) -> TextClause:
    """Add a secret and give its row; no row when the tenant has as many as there are ``places``."""
    return sql(
        """
        INSERT INTO webhook_secrets (id, tenant_id, place, secret)
        SELECT :id, :tenant, free.place, :secret FROM generate_series(1, :places) AS free(place)
        WHERE NOT EXISTS (SELECT 1 FROM webhook_secrets s WHERE s.tenant_id = :tenant AND s.place = free.place)
        ORDER BY free.place LIMIT 1
        ON CONFLICT (tenant_id, place) DO NOTHING
        RETURNING id, secret, created_at
        """,
        id=str(uuid7()),
        tenant=tenant,
        secret=secret,
        places=places,
    )


def remove_secret(id: str, tenant: str) -> Delete:
    return webhook_secrets.delete().where(webhook_secrets.c.id == id, webhook_secrets.c.tenant_id == tenant)


_PENDING = "webhook IS NOT NULL AND NOT webhook_done AND finished_at IS NOT NULL"


def due_webhooks(pauses: Sequence[float], under_way: Mapping[str, str], each: int, most: int) -> TextClause:
    """Take webhooks that are due: each counts as tried, and is due again after the pause of its attempt (seconds).

    A tenant gets ``each`` at once, those included that are ``under_way`` (job to tenant); ``most`` are taken.
    After the last pause a webhook is given up.
    """
    return sql(
        f"""
        WITH RECURSIVE tenants AS (
            (SELECT tenant_id FROM jobs WHERE {_PENDING} ORDER BY tenant_id LIMIT 1)
            UNION ALL
            SELECT (SELECT tenant_id FROM jobs WHERE {_PENDING} AND tenant_id > t.tenant_id
                    ORDER BY tenant_id LIMIT 1)
            FROM tenants t WHERE t.tenant_id IS NOT NULL
        ), due AS (
            SELECT t.tenant_id, next.id
            FROM tenants t
            CROSS JOIN LATERAL (
                SELECT id, coalesce(webhook_due_at, finished_at) AS due_at FROM jobs
                WHERE tenant_id = t.tenant_id AND {_PENDING} AND coalesce(webhook_due_at, finished_at) <= now()
                  AND id <> ALL(:jobs)
                ORDER BY due_at
                LIMIT greatest(:each - cardinality(array_positions(:tenants, t.tenant_id)), 0) FOR UPDATE SKIP LOCKED
            ) AS next
            ORDER BY next.due_at LIMIT :most
        )
        UPDATE jobs SET webhook_attempts = webhook_attempts + 1,
            webhook_done = webhook_attempts >= cardinality(CAST(:pauses AS float[])),
            webhook_due_at = clock_timestamp()
                + make_interval(secs => coalesce((CAST(:pauses AS float[]))[webhook_attempts + 1], 0))
        WHERE (tenant_id, id) IN (SELECT tenant_id, id FROM due)
        RETURNING id, tenant_id, kind, state, labels, webhook->>'url' AS url, webhook_attempts, finished_at
        """,  # noqa: S608 - a constant of ours
        floats__pauses=list(pauses),
        texts__jobs=list(under_way),
        texts__tenants=list(under_way.values()),
        each=each,
        most=most,
    )


def end_webhook(job_id: str, tenant: str) -> TextClause:
    """End the deliveries of a job: its webhook was delivered, refused, or the receiver has gone."""
    return sql("UPDATE jobs SET webhook_done = true WHERE id = :id AND tenant_id = :tenant", id=job_id, tenant=tenant)


def log_attempt(job_id: str, tenant: str, number: int, attempt: Attempt, seconds: float) -> TextClause:
    """Store the outcome of an attempt, unless its job was deleted in the meantime."""
    return sql(
        """
        INSERT INTO webhook_deliveries (id, tenant_id, job_id, attempt, outcome, http_status, detail, seconds)
        SELECT :id, :tenant, jobs.id, :number, :outcome, :http_status, :detail, :seconds
        FROM jobs WHERE jobs.id = :job_id AND jobs.tenant_id = :tenant FOR KEY SHARE
        """,
        id=str(uuid7()),
        tenant=tenant,
        job_id=job_id,
        number=number,
        seconds=seconds,
        **asdict(attempt),
    )


#: Maximum number of attempts listed per job; the schedule has fewer, and redeliveries are manual.
MAX_DELIVERIES = 200


def deliveries_of(job_id: str, tenant: str) -> Select[Any]:
    """Select the attempts of a job's webhook, the latest first."""
    table = webhook_deliveries.c
    mine = (table.job_id == job_id) & (table.tenant_id == tenant)
    return webhook_deliveries.select().where(mine).order_by(table.id.desc()).limit(MAX_DELIVERIES)


def webhook_of(job_id: str, tenant: str) -> TextClause:
    """Select the URL of a job's webhook, and when it is due."""
    return sql(
        """
        SELECT webhook->>'url' AS url, webhook_done, webhook_due_at, finished_at FROM jobs
        WHERE id = :id AND tenant_id = :tenant
        """,
        id=job_id,
        tenant=tenant,
    )


def redeliver(job_id: str, tenant: str, delivery_id: str) -> TextClause:
    """Make the webhook of an attempt due at once; no row when there is no such attempt."""
    return sql(
        """
        UPDATE jobs SET webhook_done = false, webhook_due_at = clock_timestamp()
        WHERE id = :job_id AND tenant_id = :tenant AND webhook IS NOT NULL
          AND EXISTS (SELECT 1 FROM webhook_deliveries d
                      WHERE d.tenant_id = jobs.tenant_id AND d.job_id = jobs.id AND d.id = :delivery_id)
        RETURNING id
        """,
        job_id=job_id,
        tenant=tenant,
        delivery_id=delivery_id,
    )
