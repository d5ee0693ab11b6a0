"""Accepting jobs: statements of the gateway.

A job, its first event and its conversation are one statement, whether it is one job or a thousand. A job counts as
notified when it is accepted: the notification follows the commit at once, and a lost one is noticed by the reconciler.
An idempotency key is held by at most one transaction at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import LargeBinary, RowMapping, TextClause, bindparam, text
from sqlalchemy.dialects.postgresql import JSONB

Row = Mapping[str, Any] | RowMapping

#: How many jobs before a new one are counted at most: a submit has to be quick.
MAX_AHEAD_AT_SUBMIT = 100

#: Insert a queued job from its row; gives its ``created_at`` and how many jobs go before it (``ahead``).
SUBMIT = text(
    """
    WITH job AS (
        INSERT INTO jobs (id, tenant_id, kind, priority, input, labels, budget, overrides, conversation_id,
                          replayed_from, batch_id, actor, request_id, trace_context, webhook, warnings,
                          last_seq, notified_at, stored_bytes)
        SELECT :id, :tenant_id, :kind, :priority, given.input, :labels, :budget, :overrides, :conversation_id,
               :replayed_from, :batch_id, :actor, :request_id, :trace_context, :webhook, :warnings,
               1, clock_timestamp(), pg_column_size(given.input)
        FROM (SELECT :input AS input) AS given
        RETURNING tenant_id, id, created_at
    ), event AS (
        INSERT INTO job_events (tenant_id, job_id, seq, type, fence, data)
        SELECT tenant_id, id, 1, 'job_queued', 0, '{}' FROM job
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
                          last_seq, notified_at, stored_bytes)
        SELECT id, tenant_id, kind, priority, input, labels, budget, overrides, conversation_id,
               replayed_from, batch_id, actor, request_id, trace_context, webhook, warnings, 1, clock_timestamp(),
               pg_column_size(input)
        FROM given
        RETURNING tenant_id, id, created_at
    ), event AS (
        INSERT INTO job_events (tenant_id, job_id, seq, type, fence, data)
        SELECT tenant_id, id, 1, 'job_queued', 0, '{}' FROM job
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


def hold_key(tenant: str, key: str) -> TextClause:
    """Try to lock the key for this transaction (``locked``), and read the stored response, if there is one.

    ``status`` is null without one. ``keep_response`` finds a response that is committed between the snapshot and the
    lock, and then writes no row.
    """
    return text(
        """
        SELECT pg_try_advisory_xact_lock(hashtextextended(:tenant || chr(1) || :key, 0)) AS locked,
               kept.fingerprint, kept.status, kept.headers, kept.body
        FROM (SELECT 1) AS one
        LEFT JOIN idempotency_keys kept ON kept.tenant_id = :tenant AND kept.key = :key
             AND kept.created_at > clock_timestamp() - interval '24 hours'
        """
    ).bindparams(tenant=tenant, key=key)


def keep_response(
    tenant: str, key: str, fingerprint: bytes, status: int, headers: Mapping[str, str], body: bytes
) -> TextClause:
    """Store the answer in the transaction of the request; no row when another transaction has stored one meanwhile."""
    return text(
        """
        INSERT INTO idempotency_keys (tenant_id, key, fingerprint, status, headers, body)
        VALUES (:tenant, :key, :fingerprint, :status, :headers, :body)
        ON CONFLICT (tenant_id, key) DO UPDATE SET fingerprint = excluded.fingerprint, status = excluded.status,
            headers = excluded.headers, body = excluded.body, created_at = clock_timestamp()
        WHERE idempotency_keys.created_at <= clock_timestamp() - interval '24 hours'
        """
    ).bindparams(
        bindparam("tenant", tenant),
        bindparam("key", key),
        bindparam("fingerprint", fingerprint, type_=LargeBinary),
        bindparam("status", status),
        bindparam("headers", dict(headers), type_=JSONB),
        bindparam("body", body, type_=LargeBinary),
    )
