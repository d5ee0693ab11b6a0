"""What is read of jobs: by clients, by the reconciler, by the metrics; either side executes them, sync or async."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any

from sqlalchemy import ARRAY, ColumnElement, Select, Text, TextClause, exists, func, literal, select, text, tuple_

from shared.blobs import files
from shared.collections import collections
from shared.conversations import conversations
from shared.flows.tables import flows
from shared.jobs.tables import job_forms, jobs, workers

_HEAVY = ("input", "result")
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


def find(job_id: str, tenant: str) -> Select[Any]:
    return select(jobs).where(jobs.c.id == job_id, jobs.c.tenant_id == tenant)


def page(
    tenant: str,
    limit: int,
    before: tuple[datetime, str] | None = None,
    kind: str | None = None,
    state: str | None = None,
    labels: Mapping[str, str] | None = None,
    batch_id: str | None = None,
) -> Select[Any]:
    """A tenant's jobs, newest first, without inputs and results; ``before``: (created_at, id) of the last one seen."""
    query = select(*[column for column in jobs.c if column.name not in _HEAVY]).where(jobs.c.tenant_id == tenant)
    if kind is not None:
        query = query.where(jobs.c.kind == kind)
    if state is not None:
        query = query.where(jobs.c.state == state)
    if batch_id is not None:
        query = query.where(jobs.c.batch_id == batch_id)
    if labels:
        query = query.where(jobs.c.labels.contains(dict(labels)))
    if before is not None:
        query = query.where(tuple_(jobs.c.created_at, jobs.c.id) < tuple_(before[0], before[1]))
    return query.order_by(jobs.c.created_at.desc(), jobs.c.id.desc()).limit(limit)


def batch_counts(batch_id: str, tenant: str) -> Select[Any]:
    return (
        select(jobs.c.state, func.count())
        .where(jobs.c.batch_id == batch_id, jobs.c.tenant_id == tenant)
        .group_by(jobs.c.state)
    )


def form(job_id: str, name: str) -> Select[Any]:
    return select(job_forms.c.media_type, job_forms.c.body).where(
        job_forms.c.job_id == job_id, job_forms.c.name == name
    )


def live_workers(within_seconds: float) -> Select[Any]:
    """The workers with a heartbeat within the given time."""
    return select(workers).where(
        workers.c.seen_at > func.clock_timestamp() - func.make_interval(0, 0, 0, 0, 0, 0, within_seconds)
    )


def depth() -> TextClause:
    """Per kind: queued and running jobs, and the age in seconds of the oldest queued one."""
    return text(
        """
        SELECT kind, count(*) FILTER (WHERE state = 'queued') AS queued,
               count(*) FILTER (WHERE state = 'running') AS running,
               coalesce(extract(epoch FROM clock_timestamp() - min(created_at) FILTER (WHERE state = 'queued')), 0)
                   AS oldest_seconds
        FROM jobs WHERE state IN ('queued', 'running') GROUP BY kind
        """
    )


def unknown_references(noun: str, tenant: str, names: Sequence[str]) -> Select[Any]:
    """Those of the names under which the tenant has no file, conversation, flow, collection or job."""
    name, owner = REFERENCES[noun]
    given = func.unnest(literal(list(names), ARRAY(Text))).column_valued("given")
    return select(given).where(~exists().where(name == given, owner == tenant))
