"""Tenants' scheduling positions and job counts: tables kept by triggers of ``jobs`` (``baseline.sql``), and their
upkeep.

Each statement's changes are a row of ``job_deltas``, so that statements never wait for a row that others update. The
reconciler adds them up in ``job_counts``; the sum of both is the current count.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Double, Identity, Index, Table, Text, TextClause, text

from shared.db import metadata
from shared.jobs.record.prepared import sql

#: Under this name ``job_counts`` has the sums over all tenants.
ALL = ""

turns = Table(
    "job_turns",
    metadata,
    Column("kind", Text, primary_key=True),
    Column("tenant_id", Text, primary_key=True),
    Column("turn", Double, nullable=False, server_default="0"),  # grows by 1 / weight with every job that is claimed
    Column("ready", Boolean, nullable=False, server_default=text("true")),  # may have a job to claim
)
Index("ix_job_turns_next", turns.c.kind, turns.c.turn, turns.c.tenant_id, postgresql_where=text("ready"))
Index("ix_job_turns_last", turns.c.kind, turns.c.turn)

counts = Table(
    "job_counts",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("queued", BigInteger, nullable=False),
    Column("running", BigInteger, nullable=False),
)
deltas = Table(
    "job_deltas",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("kind", Text, nullable=False),
    Column("tenant_id", Text, primary_key=True),
    Column("queued", BigInteger, nullable=False),
    Column("running", BigInteger, nullable=False),
)


def queued_of(tenant: str) -> TextClause:
    """Select the number of the tenant's queued jobs."""
    return sql(
        """
        SELECT coalesce(sum(queued), 0)::bigint FROM (
            SELECT queued FROM job_counts WHERE tenant_id = :tenant
            UNION ALL SELECT queued FROM job_deltas WHERE tenant_id = :tenant) AS counted
        """,
        tenant=tenant,
    )


def queued_in_all() -> TextClause:
    return text(
        """
        SELECT coalesce((SELECT sum(queued) FROM job_counts WHERE tenant_id = ''), 0)::bigint
             + coalesce((SELECT sum(queued) FROM job_deltas), 0)::bigint
        """
    )


def depth() -> TextClause:
    """Per kind: queued and running jobs, and the age in seconds of the oldest queued one."""
    return text(
        """
        SELECT kind, sum(queued)::bigint AS queued, sum(running)::bigint AS running,
               coalesce(extract(epoch FROM clock_timestamp() - (
                   SELECT j.created_at FROM jobs j
                   WHERE CASE state WHEN 'queued' THEN true END AND j.kind = counted.kind
                   ORDER BY j.created_at LIMIT 1)), 0) AS oldest_seconds
        FROM (SELECT kind, queued, running FROM job_counts WHERE tenant_id = ''
              UNION ALL SELECT kind, queued, running FROM job_deltas) AS counted
        GROUP BY kind
        """
    )


def add_up(limit: int = 20_000) -> TextClause:
    """Move the oldest changes into the counts; the number of them. One reconciler at a time."""
    return text(
        f"""
        WITH moved AS (
            DELETE FROM job_deltas WHERE id = ANY(ARRAY(SELECT id FROM job_deltas ORDER BY id LIMIT {limit:d}))
            RETURNING tenant_id, kind, queued, running
        ), added AS (
            INSERT INTO job_counts AS kept (tenant_id, kind, queued, running)
            SELECT coalesce(tenant_id, ''), kind, sum(queued), sum(running) FROM moved
            GROUP BY GROUPING SETS ((tenant_id, kind), (kind))
            ON CONFLICT (tenant_id, kind) DO UPDATE SET
                queued = kept.queued + excluded.queued, running = kept.running + excluded.running
        )
        SELECT count(*) FROM moved
        """  # noqa: S608 - a constant of ours
    )


#: Count every job, and write what the counts lack as one more change. In one statement: both are of one moment.
MEND_COUNTS = text(
    """
    WITH actual AS (
        SELECT tenant_id, kind, count(*) FILTER (WHERE state = 'queued') AS queued,
               count(*) FILTER (WHERE state = 'running') AS running
        FROM jobs WHERE state IN ('queued', 'running') GROUP BY tenant_id, kind
    ), told AS (
        SELECT tenant_id, kind, sum(queued) AS queued, sum(running) AS running
        FROM (SELECT tenant_id, kind, queued, running FROM job_counts WHERE tenant_id <> ''
              UNION ALL SELECT tenant_id, kind, queued, running FROM job_deltas) AS counted
        GROUP BY tenant_id, kind
    )
    INSERT INTO job_deltas (tenant_id, kind, queued, running)
    SELECT tenant_id, kind, coalesce(a.queued, 0) - coalesce(t.queued, 0),
           coalesce(a.running, 0) - coalesce(t.running, 0)
    FROM actual a FULL JOIN told t USING (tenant_id, kind)
    WHERE (coalesce(a.queued, 0), coalesce(a.running, 0)) <> (coalesce(t.queued, 0), coalesce(t.running, 0))
    RETURNING tenant_id, kind, queued, running
    """
)

#: Recompute the sums over all tenants, in the transaction of ``MEND_COUNTS``, after all deltas were added up.
MEND_SUMS = text(
    """
    INSERT INTO job_counts AS kept (tenant_id, kind, queued, running)
    SELECT '', kind, sum(queued), sum(running) FROM job_counts WHERE tenant_id <> '' GROUP BY kind
    ON CONFLICT (tenant_id, kind) DO UPDATE SET queued = excluded.queued, running = excluded.running
    WHERE (kept.queued, kept.running) <> (excluded.queued, excluded.running)
    """
)

#: Conversations whose jobs all wait: the first of each may run.
MEND_HEADS = text(
    """
    UPDATE jobs SET head = true WHERE id = ANY(ARRAY(
        SELECT min(id) FROM jobs WHERE state IN ('queued', 'running')
        GROUP BY conversation_id HAVING NOT bool_or(head) LIMIT 1000))
    RETURNING id
    """
)

#: Tenants that have a job to claim and do not count as ready.
MEND_TURNS = text(
    """
    SELECT job_ready(kind, tenant_id) FROM (
        SELECT DISTINCT kind, tenant_id FROM jobs WHERE CASE WHEN head THEN state END = 'queued') AS waiting
    WHERE NOT EXISTS (SELECT 1 FROM job_turns t
                      WHERE t.kind = waiting.kind AND t.tenant_id = waiting.tenant_id AND t.ready)
    """
)
