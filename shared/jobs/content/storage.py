"""The quota of storage where workers write: results' files, artifacts, displays."""

from __future__ import annotations

import time
from threading import Lock

from sqlalchemy import Connection, Engine

from shared.errors import QuotaExceeded
from shared.jobs.record import quotas

_COUNTED_FOR = 1.0  #: seconds; what other jobs save meanwhile is seen after them

_NEAR_BYTES = 1_000_000_000  #: more than other jobs save in that time


class StorageQuota:
    """What one tenant may store, held by one job; safe to call from its threads."""

    def __init__(self, engine: Engine, tenant: str, default_bytes: int) -> None:
        """``default_bytes`` are for tenants for whom nothing else is set."""
        self._engine = engine
        self._tenant = tenant
        self._default = default_bytes
        self._most = self._stored = 0
        self._until = 0.0
        self._counting = Lock()

    def admit(self, size: int) -> None:
        """Raise QuotaExceeded when the tenant would store more bytes than it may."""
        with self._counting:
            if time.monotonic() >= self._until:
                self._count()
            self._check(size)

    def reserve(self, connection: Connection, size: int) -> None:
        """Admit bytes that the connection's transaction adds. Raises: QuotaExceeded.

        Near its end the tenant's jobs wait for each other here, and see what others have saved.
        """
        with self._counting:
            if self._stored + size + max(_NEAR_BYTES, self._most // 2) > self._most:
                connection.execute(quotas.one_at_a_time(self._tenant, "storage_bytes"))
                row = connection.execute(quotas.storage(self._tenant, self._default)).one()
                self._most, self._stored = row.most, row.stored
            self._check(size)

    def _check(self, size: int) -> None:
        if self._stored + size > self._most:
            detail = (
                f"The tenant stores {self._stored} bytes; with a file of this job it would store more than "
                f"the {self._most} that are allowed. Delete files and jobs, or have the quota raised."
            )
            raise QuotaExceeded(detail, quota="storage_bytes", limit=self._most)

    def add(self, size: int) -> None:
        """Count a saved file."""
        with self._counting:
            self._stored += size

    def _count(self) -> None:
        began = time.monotonic()
        with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            row = connection.execute(quotas.storage(self._tenant, self._default)).one()
        self._most, self._stored = row.most, row.stored
        ended = time.monotonic()
        self._until = ended + max(_COUNTED_FOR, 50 * (ended - began))
