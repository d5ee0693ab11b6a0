"""Statements with which a worker registers itself, and unregisters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import JsonValue
from sqlalchemy import Executable, TextClause

from shared.jobs.record.prepared import sql
from shared.jobs.record.tables import workers


def advertise(
    worker_id: str, service: str, kinds: Sequence[str], concurrency: int, version: str, facts: Mapping[str, JsonValue]
) -> TextClause:
    """Record that a worker is alive, what it serves, and its facts."""
    return sql(
        """
        INSERT INTO workers (id, service, kinds, concurrency, version, facts)
        VALUES (:id, :service, :kinds, :concurrency, :version, :facts)
        ON CONFLICT (id) DO UPDATE SET seen_at = clock_timestamp(), facts = excluded.facts, kinds = excluded.kinds
        """,
        id=worker_id,
        service=service,
        texts__kinds=list(kinds),
        concurrency=concurrency,
        version=version,
        json__facts=facts,
    )


def retire(worker_id: str) -> Executable:
    return workers.delete().where(workers.c.id == worker_id)
