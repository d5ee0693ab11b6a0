"""Retention: deletes old jobs, stored responses, workers without a heartbeat, and blobs without a reference."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import structlog
from obstore.store import ObjectStore
from sqlalchemy import Engine, delete, func, select

from shared import blobs
from shared.blobs import files
from shared.jobs import maintenance
from shared.jobs.tables import jobs, workers
from shared.llm.tables import llm_calls

log = structlog.get_logger(__name__)

IDEMPOTENCY_HOURS = 24.0
_MOST_JOBS = 1_000
#: A blob may be written before the row that refers to it: younger ones are left alone.
_BLOB_GRACE = timedelta(hours=1)
_WORKER_SILENT_SECONDS = 600


def delete_expired(engine: Engine, store: ObjectStore, retention_days: float, upload_days: float) -> None:
    """Delete all that is older than its retention; safe to stop anywhere and to run again."""
    with engine.begin() as connection:
        expired = connection.execute(maintenance.expired_jobs(retention_days, _MOST_JOBS)).all()
        # Every job has a conversation, and most of them stay empty: an empty one is deleted with its last job.
        connection.execute(maintenance.orphaned_conversations([job.conversation_id for job in expired]))
        uploads = connection.execute(maintenance.expired_uploads(upload_days, _MOST_JOBS)).all()
        # Files that a deleted job made, and those of runs that were fenced off and whose job has been deleted since.
        orphaned = files.c.job_id.is_not(None) & ~select(1).where(jobs.c.id == files.c.job_id).exists()
        connection.execute(delete(files).where(orphaned))
        orphaned_calls = llm_calls.c.job_id.is_not(None) & ~select(1).where(jobs.c.id == llm_calls.c.job_id).exists()
        connection.execute(delete(llm_calls).where(orphaned_calls))
        connection.execute(maintenance.expired_idempotency_keys(IDEMPOTENCY_HOURS))
        silent = func.clock_timestamp() - func.make_interval(0, 0, 0, 0, 0, 0, _WORKER_SILENT_SECONDS)
        connection.execute(delete(workers).where(workers.c.seen_at < silent))
    swept = blobs.sweep(store, datetime.now(UTC) - _BLOB_GRACE, lambda hashes: _in_use(engine, hashes))
    if expired or uploads or swept:
        log.info("retention_deleted", jobs=len(expired), uploads=len(uploads), blobs=swept)


def _in_use(engine: Engine, hashes: list[str]) -> set[str]:
    with engine.connect() as connection:
        return set(connection.execute(select(files.c.sha256).where(files.c.sha256.in_(hashes))).scalars())
