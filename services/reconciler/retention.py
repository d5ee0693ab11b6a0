"""Retention: deletes old jobs, stored responses, workers without a heartbeat, and blobs without a reference.

Each batch is a separate transaction, so that locks are held briefly, and batches follow until nothing is left
(as River deletes, 10,000 rows at a time): a limit per round would limit the jobs that an installation can take.
Events of jobs are not deleted: the partition of their day is dropped when its last job is gone (``PastDays``).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import structlog
from obstore.store import ObjectStore
from sqlalchemy import Connection, Engine, delete, func, select

from services.reconciler.partitions import PastDays
from shared import blobs
from shared.blobs import files
from shared.jobs.record.tables import workers
from shared.jobs.upkeep import deletion, maintenance, partitions

log = structlog.get_logger(__name__)

IDEMPOTENCY_HOURS = 24.0
#: Rows in one transaction.
_BATCH = 2_000
#: A round ends after this, so that every kind of row has its turn; the next follows within a minute.
_MAX_ROWS = 5_000  #: of each table of a tenant that is deleted, in one statement
_MAX_SECONDS = 45.0
#: With a shorter retention events are deleted with their jobs: a day more would be a multiple of it.
_LEAST_DAYS_FOR_DROPS = 1
#: A blob may be written before the row that refers to it: younger ones are left alone.
_BLOB_GRACE = timedelta(hours=1)
#: A store with more blobs is swept a 256th in each round.
_BLOBS_AT_ONCE = 20_000
_SHARDS = 256
_WORKER_SILENT_SECONDS = 600


class Retention:
    """Deletes all that is older than its retention; safe to stop anywhere and to run again."""

    def __init__(
        self, engine: Engine, store: ObjectStore, retention_days: float, upload_days: float, text_days: float
    ) -> None:
        self._engine = engine
        self._store = store
        self._retention_days = retention_days
        self._upload_days = upload_days
        self._text_days = text_days
        self._looked_through = {"files": "", "llm_calls": ""}  #: up to which job, for rows without one
        self._past_days = PastDays(engine, retention_days)
        self._shard: int | None = None  #: of blobs, the next one; None while the store is small

    def delete_expired(self) -> None:
        """Do one round."""
        jobs = self._until_empty(self._expired_jobs)
        self._past_days.drop()
        uploads = self._until_empty(self._expired_uploads)
        self._until_empty(self._expired_keys)
        self._until_empty(self._expired_texts)
        self._forget_workers()
        for table in self._looked_through:
            self._delete_orphans(table)
        swept = self._sweep()
        if jobs or uploads or swept:
            log.info("retention_deleted", jobs=jobs, uploads=uploads, blobs=swept)

    def _until_empty(self, batch: Callable[[Connection], int]) -> int:
        """Run batches until one is not full; the number of rows."""
        until = time.monotonic() + _MAX_SECONDS
        deleted = 0
        while True:
            with self._engine.begin() as connection:
                count = batch(connection)
            deleted += count
            if count < _BATCH or time.monotonic() >= until:
                return deleted

    def _expired_jobs(self, connection: Connection) -> int:
        if self._retention_days >= _LEAST_DAYS_FOR_DROPS:
            connection.execute(partitions.leave_events())
        expired = connection.execute(maintenance.expired_jobs(self._retention_days, _BATCH)).all()
        # Every job has a conversation, and most of them stay empty: an empty one is deleted with its last job.
        connection.execute(maintenance.orphaned_conversations([job.conversation_id for job in expired]))
        return len(expired)

    def _expired_uploads(self, connection: Connection) -> int:
        return len(connection.execute(maintenance.expired_uploads(self._upload_days, _BATCH)).all())

    def _expired_keys(self, connection: Connection) -> int:
        return connection.execute(maintenance.expired_idempotency_keys(IDEMPOTENCY_HOURS, _BATCH)).rowcount

    def _expired_texts(self, connection: Connection) -> int:
        return connection.execute(maintenance.expired_texts(self._text_days, _BATCH)).rowcount

    def _forget_workers(self) -> None:
        silent = func.statement_timestamp() - func.make_interval(0, 0, 0, 0, 0, 0, _WORKER_SILENT_SECONDS)
        with self._engine.begin() as connection:
            connection.execute(delete(workers).where(workers.c.seen_at < silent))

    def _delete_orphans(self, table: str) -> None:
        statement = maintenance.orphans(table, self._looked_through[table], _BATCH)
        with self._engine.begin() as connection:
            self._looked_through[table] = connection.execute(statement).scalar_one() or ""

    def _sweep(self) -> int:
        swept = blobs.sweep(self._store, datetime.now(UTC) - _BLOB_GRACE, self._in_use, self._shard)
        if self._shard is not None:
            self._shard = (self._shard + 1) % _SHARDS
        elif swept.listed > _BLOBS_AT_ONCE:
            self._shard = 0
        return swept.deleted

    def _in_use(self, hashes: list[str]) -> set[str]:
        with self._engine.connect() as connection:
            return set(connection.execute(select(files.c.sha256).where(files.c.sha256.in_(hashes))).scalars())


def delete_tenants(engine: Engine) -> int:
    """Delete a part of what belongs to tenants whose deletion was requested; the number of rows."""
    with engine.connect() as connection:
        doomed = list(connection.execute(deletion.doomed_tenants()).scalars())
    removed = 0
    for tenant in doomed:
        with engine.begin() as connection:
            rows = int(connection.execute(deletion.delete_rows(tenant, _MAX_ROWS)).scalar_one())
            if not rows:
                connection.execute(deletion.end_tenant_deletion(tenant))
                log.info("tenant_deleted", tenant=tenant)
        removed += rows
    return removed
