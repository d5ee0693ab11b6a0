"""Statements about known results: which job answered a tree, under which rules, for whom."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Connection, Select, and_, delete, func, select
from sqlalchemy.dialects.postgresql import insert

from shared.jobs.record.tables import job_forms, jobs
from shared.stacks.tables import stack_results as table

#: How many results of a tenant are kept; older ones are detected again on request.
MAX_RESULTS = 2000
#: One in this many jobs deletes surplus results.
_FORGET_EVERY = 50


def find(tenant: str, identity: str) -> Select[Any]:
    """Select the result, the warnings about its source and the form ``source``.

    The tenant is part of the key, so that no tenant sees another's.
    """
    return (
        select(jobs.c.result, table.c.warnings, job_forms.c.body.label("source"))
        .join(jobs, and_(jobs.c.tenant_id == table.c.tenant_id, jobs.c.id == table.c.job_id))
        .outerjoin(
            job_forms,
            and_(
                job_forms.c.tenant_id == jobs.c.tenant_id,
                job_forms.c.job_id == jobs.c.id,
                job_forms.c.name == "source",
            ),
        )
        .where(
            table.c.tenant_id == tenant,
            table.c.identity == identity,
            jobs.c.tenant_id == tenant,
            jobs.c.result.is_not(None),
        )
    )


def keep(tenant: str, identity: str, job_id: str, warnings: Sequence[str]) -> Callable[[Connection], None]:
    """Return the effect that stores the result, for the job's completion."""
    row = {"tenant_id": tenant, "identity": identity, "job_id": job_id, "warnings": list(warnings)}
    old = (
        select(table.c.identity)
        .where(table.c.tenant_id == tenant)
        .order_by(table.c.created_at.desc())
        .offset(MAX_RESULTS)
    )

    turn = zlib.crc32(job_id.encode()) % _FORGET_EVERY

    def apply(connection: Connection) -> None:
        added = insert(table).values(row)
        changed = {"job_id": job_id, "warnings": list(warnings), "created_at": func.clock_timestamp()}
        connection.execute(added.on_conflict_do_update(index_elements=["tenant_id", "identity"], set_=changed))
        if turn == 0:
            connection.execute(delete(table).where(table.c.tenant_id == tenant, table.c.identity.in_(old)))

    return apply
