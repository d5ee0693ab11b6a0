"""Accepting jobs, and what a client may query while they wait: statements of the gateway.

A job, its first event and its conversation are one statement, whether it is one job or a thousand. A job counts as
notified when it is accepted: the notification follows the commit at once, and a lost one is noticed by the reconciler.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ARRAY, RowMapping, Text, TextClause, bindparam, text
from sqlalchemy.dialects.postgresql import JSONB

Row = Mapping[str, Any] | RowMapping

#: How many jobs before one are counted at most; fewer at a submit, which has to be quick.
MOST_AHEAD = 10_000
MOST_AHEAD_AT_SUBMIT = 100

#: Insert a queued job from its row; gives its ``created_at`` and how many jobs go before it (``ahead``).
SUBMIT = text(
    """
    WITH job AS (
        INSERT INTO jobs (id, tenant_id, kind, priority, input, labels, budget, overrides, conversation_id,
                          replayed_from, batch_id, actor, request_id, trace_context, webhook, warnings,
                          last_seq, notified_at)
        VALUES (:id, :tenant_id, :kind, :priority, :input, :labels, :budget, :overrides, :conversation_id,
                :replayed_from, :batch_id, :actor, :request_id, :trace_context, :webhook, :warnings,
                1, clock_timestamp())
        RETURNING id, created_at
    ), event AS (
        INSERT INTO job_events (job_id, seq, type, fence, data) SELECT id, 1, 'job_queued', 0, '{}' FROM job
    ), conversation AS (
        INSERT INTO conversations (id, tenant_id) VALUES (:conversation_id, :tenant_id) ON CONFLICT DO NOTHING
    )
    SELECT created_at, (SELECT count(*) FROM (
        SELECT 1 FROM jobs other WHERE other.state = 'queued' AND other.kind = :kind
          AND other.tenant_id = :tenant_id AND other.priority >= :priority LIMIT 100) AS before) AS ahead
    FROM job
    """
).bindparams(
    *(bindparam(name, type_=JSONB(none_as_null=True)) for name in ("input", "labels", "budget", "overrides")),
    *(bindparam(name, type_=JSONB(none_as_null=True)) for name in ("webhook", "warnings")),
)

_SUBMIT_MANY = text(
    """
    WITH given AS (
        SELECT * FROM jsonb_to_recordset(:rows) AS row(
            id text, tenant_id text, kind text, priority smallint, input jsonb, labels jsonb, budget jsonb,
            overrides jsonb, conversation_id text, replayed_from text, batch_id text, actor text, request_id text,
            trace_context text, webhook jsonb, warnings jsonb)
    ), batch AS (
        INSERT INTO batches (id, tenant_id) VALUES (:batch_id, :tenant_id) RETURNING id
    ), job AS (
        INSERT INTO jobs (id, tenant_id, kind, priority, input, labels, budget, overrides, conversation_id,
                          replayed_from, batch_id, actor, request_id, trace_context, webhook, warnings,
                          last_seq, notified_at)
        SELECT id, tenant_id, kind, priority, input, labels, budget, overrides, conversation_id,
               replayed_from, batch_id, actor, request_id, trace_context, webhook, warnings, 1, clock_timestamp()
        FROM given
        RETURNING id, created_at
    ), event AS (
        INSERT INTO job_events (job_id, seq, type, fence, data) SELECT id, 1, 'job_queued', 0, '{}' FROM job
    ), conversation AS (
        INSERT INTO conversations (id, tenant_id) SELECT DISTINCT conversation_id, tenant_id FROM given
        ON CONFLICT DO NOTHING
    )
    SELECT id, created_at FROM job
    """
).bindparams(bindparam("rows", type_=JSONB))


def submit(row: Row) -> TextClause:
    """``SUBMIT`` with its row bound, for callers that are not on the hot path."""
    given = {name: row.get(name) for name in SUBMIT.compile().params}
    return SUBMIT.bindparams(**given)


def submit_batch(batch_id: str, tenant: str, rows: Sequence[Row]) -> TextClause:
    """Insert a batch with all its jobs; rows of ``id, created_at``."""
    return _SUBMIT_MANY.bindparams(batch_id=batch_id, tenant_id=tenant, rows=[dict(row) for row in rows])


def batch(batch_id: str, tenant: str) -> TextClause:
    """The id of the batch; no row when the tenant has no such batch."""
    return text("SELECT id FROM batches WHERE id = :id AND tenant_id = :tenant").bindparams(id=batch_id, tenant=tenant)


def waiting(row: Row) -> TextClause:
    """Why a queued job waits: ``ahead`` of it, ``later`` when it is to be retried, ``running`` of the same tenant."""
    return text(
        """
        SELECT (SELECT count(*) FROM (
                  SELECT 1 FROM jobs other WHERE other.state = 'queued' AND other.kind = :kind
                    AND other.tenant_id = :tenant
                    AND (other.priority > :priority OR (other.priority = :priority AND other.id < :id))
                  LIMIT 10000) AS before) AS ahead,
               :run_at > clock_timestamp() AS later,
               (SELECT count(*) FROM jobs other WHERE other.state = 'running' AND other.kind = :kind
                  AND other.tenant_id = :tenant) AS running
        """
    ).bindparams(
        kind=row["kind"], tenant=row["tenant_id"], priority=row["priority"], id=row["id"], run_at=row["run_at"]
    )


def places(tenant: str, ids: Sequence[str]) -> TextClause:
    """Of these queued jobs: ``id``, and how many go before each (``ahead``); jobs far behind are left out."""
    return text(
        """
        SELECT id, ahead FROM (
            SELECT id, row_number() OVER (PARTITION BY kind ORDER BY priority DESC, id) - 1 AS ahead
            FROM (SELECT id, kind, priority FROM jobs WHERE state = 'queued' AND tenant_id = :tenant
                    AND kind IN (SELECT kind FROM jobs WHERE id = ANY(:ids))
                  ORDER BY priority DESC, id LIMIT 10000) AS queue
        ) AS placed WHERE id = ANY(:ids)
        """
    ).bindparams(bindparam("tenant", tenant), bindparam("ids", list(ids), type_=ARRAY(Text)))


def news(job_id: str, tenant: str, seq: int, limit: int) -> TextClause:
    """The events after ``seq`` with the job's ``state`` in the same snapshot; one row of nulls when there are none.

    No row at all when the tenant has no such job.
    """
    return text(
        """
        SELECT j.state, e.seq, e.type, e.at, e.data
        FROM jobs j LEFT JOIN LATERAL (
            SELECT seq, type, at, data FROM job_events WHERE job_id = j.id AND seq > :seq ORDER BY seq LIMIT :most
        ) AS e ON true
        WHERE j.id = :id AND j.tenant_id = :tenant ORDER BY e.seq
        """
    ).bindparams(id=job_id, tenant=tenant, seq=seq, most=limit)


def state(job_id: str, tenant: str) -> TextClause:
    """The state of one job; no row when the tenant has no such job."""
    return text("SELECT state FROM jobs WHERE id = :id AND tenant_id = :tenant").bindparams(id=job_id, tenant=tenant)


def queued(tenant: str) -> TextClause:
    """How many jobs are queued: of the tenant (``mine``), and in all (``everyone``)."""
    return text(
        """
        SELECT count(*) FILTER (WHERE tenant_id = :tenant) AS mine, count(*) AS everyone
        FROM jobs WHERE state = 'queued'
        """
    ).bindparams(tenant=tenant)


def opens_conversation(job_id: str, conversation_id: str) -> TextClause:
    """Whether no earlier job belongs to the conversation."""
    return text(
        """
        SELECT NOT EXISTS (SELECT 1 FROM jobs WHERE conversation_id = :conversation AND id < :id)
        """
    ).bindparams(conversation=conversation_id, id=job_id)
