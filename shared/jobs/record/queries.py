"""Reads of jobs, for clients, the reconciler and the metrics: statements that either side executes, sync or async."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    RowMapping,
    Select,
    Text,
    TextClause,
    bindparam,
    cast,
    exists,
    func,
    literal,
    select,
    text,
)

from shared.blobs import files
from shared.collections import collections
from shared.conversations import conversations
from shared.flows.tables import flows
from shared.jobs.record.prepared import sql
from shared.jobs.record.tables import job_forms, jobs, workers

_HEAVY = ("input", "result")
_COLUMNS = ", ".join(
    f"CAST({each.name} AS text) AS {each.name}" if each.name in _HEAVY else each.name for each in jobs.c
)
#: How many jobs before a queued one are counted at most.
MAX_AHEAD = 10_000
Row = Mapping[str, Any] | RowMapping
#: What a job may refer to: each noun with the column that names one, and the column that says whose it is.
REFERENCES: Mapping[str, tuple[ColumnElement[str], ColumnElement[str]]] = MappingProxyType(
    {
        "file": (files.c.id, files.c.tenant_id),
        "conversation": (conversations.c.id, conversations.c.tenant_id),
        "flow": (flows.c.id, flows.c.tenant_id),
        "collection": (collections.c.name, collections.c.tenant_id),
        "job": (jobs.c.id, jobs.c.tenant_id),
    }
)


def find(job_id: str, tenant: str) -> TextClause:
    """Return the job, with input and result as JSON texts: a caller that only passes them on need not parse them.

    ``isolation`` is where the code of its latest run runs or ran, as the worker found out when it started; else null.
    """
    # Statements name the job, not its row: a value leaves one partition of events to be opened.
    return sql(
        f"""
        SELECT {_COLUMNS}, (
            SELECT data->'isolation' FROM job_events WHERE tenant_id = :tenant AND job_id = :id
              AND type = 'job_started' AND CAST(data->>'attempt' AS integer) = jobs.attempt
            ORDER BY seq LIMIT 1) AS isolation,
            (SELECT name FROM api_keys WHERE id = jobs.actor AND tenant_id = :tenant) AS actor_name
        FROM jobs WHERE id = :id AND tenant_id = :tenant
        """,  # noqa: S608 - columns of ours
        id=job_id,
        tenant=tenant,
    )


def input_length(job_id: str, tenant: str) -> Select[int]:
    """Select the length of the job's input as JSON, in characters."""
    return select(func.length(cast(jobs.c.input, Text))).where(jobs.c.id == job_id, jobs.c.tenant_id == tenant)


def tokens_of(tenant: str, ids: Collection[str]) -> Select[str, int]:
    """``id, tokens`` of those that are jobs of the tenant: what their models took and gave."""
    numbers = [
        func.coalesce(cast(jobs.c.usage[name].astext, BigInteger), 0) for name in ("input_tokens", "output_tokens")
    ]
    return select(jobs.c.id, (numbers[0] + numbers[1]).label("tokens")).where(
        jobs.c.tenant_id == tenant, jobs.c.id.in_(ids)
    )


def batch_jobs(batch_id: str, tenant: str, limit: int) -> Select[Any]:
    """Select a batch's jobs, newest first, without inputs and results."""
    return (
        select(*[column for column in jobs.c if column.name not in _HEAVY])
        .where(jobs.c.tenant_id == tenant, jobs.c.batch_id == batch_id)
        .order_by(jobs.c.created_at.desc(), jobs.c.id.desc())
        .limit(limit)
    )


def batch_counts(batch_id: str, tenant: str) -> Select[Any]:
    return (
        select(jobs.c.state, func.count())
        .where(jobs.c.batch_id == batch_id, jobs.c.tenant_id == tenant)
        .group_by(jobs.c.state)
    )


def form(job_id: str, tenant: str, name: str) -> Select[Any]:
    return select(job_forms.c.media_type, job_forms.c.body).where(
        job_forms.c.tenant_id == tenant, job_forms.c.job_id == job_id, job_forms.c.name == name
    )


def live_workers(within_seconds: float) -> Select[Any]:
    """Select the workers with a heartbeat within the given time."""
    return select(workers).where(
        workers.c.seen_at > func.clock_timestamp() - func.make_interval(0, 0, 0, 0, 0, 0, within_seconds)
    )


def unknown_references(noun: str, tenant: str, names: Sequence[str]) -> Select[Any]:
    """Select the names under which the tenant has no file, conversation, flow, collection or job."""
    name, owner = REFERENCES[noun]
    given = func.unnest(literal(list(names), ARRAY(Text))).column_valued("given")
    return select(given).where(~exists().where(name == given, owner == tenant))


def batch(batch_id: str, tenant: str) -> TextClause:
    """Select the batch's id; no row when the tenant has no such batch."""
    return text("SELECT id FROM batches WHERE id = :id AND tenant_id = :tenant").bindparams(id=batch_id, tenant=tenant)


def waiting_reason(row: Row) -> TextClause:
    """Select why a queued job waits: jobs ``ahead`` of it, ``later`` if it is a retry, ``running`` of the same
    tenant.
    """
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


def queue_positions(tenant: str, ids: Sequence[str]) -> TextClause:
    """Select ``id`` and the number of jobs ``ahead`` of each of these queued jobs; jobs far behind are left out."""
    return text(
        """
        SELECT placed.id, placed.ahead
        FROM (SELECT DISTINCT kind FROM jobs WHERE id = ANY(:ids) AND tenant_id = :tenant) AS kinds
        CROSS JOIN LATERAL job_places(kinds.kind, :tenant) AS placed WHERE placed.id = ANY(:ids)
        """
    ).bindparams(bindparam("tenant", tenant), bindparam("ids", list(ids), type_=ARRAY(Text)))


def events_after(job_id: str, tenant: str, seq: int, limit: int, types: Sequence[str] = ()) -> TextClause:
    """Select the events after ``seq`` with the job's ``state`` in the same snapshot; one row of nulls without events.

    Gives no row when the tenant has no such job. ``types``: only events of these types, if any are given.
    """
    return text(
        """
        SELECT j.state, e.seq, e.type, e.at, e.data
        FROM jobs j LEFT JOIN LATERAL (
            SELECT seq, type, at, data FROM job_events
            WHERE tenant_id = :tenant AND job_id = :id AND seq > :seq AND (:every OR type = ANY(CAST(:types AS text[])))
            ORDER BY seq LIMIT :most
        ) AS e ON true
        WHERE j.id = :id AND j.tenant_id = :tenant ORDER BY e.seq
        """
    ).bindparams(id=job_id, tenant=tenant, seq=seq, most=limit, every=not types, types=list(types))


def progressed(known: Mapping[str, int | None]) -> TextClause:
    """Select the jobs (id to last known event) whose last event has changed; columns are null for a deleted job."""
    return text(
        """
        SELECT known.id, j.state, j.last_seq
        FROM unnest(:ids, :seqs) AS known(id, seq) LEFT JOIN LATERAL (
            SELECT state, last_seq FROM jobs WHERE jobs.id = known.id LIMIT 1  -- each by its index
        ) AS j ON true
        WHERE j.last_seq IS DISTINCT FROM known.seq
        """
    ).bindparams(
        bindparam("ids", list(known), type_=ARRAY(Text)),
        bindparam("seqs", list(known.values()), type_=ARRAY(BigInteger)),
    )


def state(job_id: str, tenant: str) -> TextClause:
    """Select the state of one job; no row when the tenant has no such job."""
    return text("SELECT state FROM jobs WHERE id = :id AND tenant_id = :tenant").bindparams(id=job_id, tenant=tenant)


def states(tenant: str, ids: Sequence[str]) -> Select[Any]:
    """Id and state of each of the tenant's jobs."""
    return select(jobs.c.id, jobs.c.state).where(jobs.c.tenant_id == tenant, jobs.c.id.in_(ids))


def is_first_of_conversation(job_id: str, tenant: str, conversation_id: str) -> TextClause:
    """Select whether no earlier job belongs to the conversation."""
    return text(
        """
        SELECT NOT EXISTS (
            SELECT 1 FROM jobs WHERE tenant_id = :tenant AND conversation_id = :conversation AND id < :id)
        """
    ).bindparams(tenant=tenant, conversation=conversation_id, id=job_id)
