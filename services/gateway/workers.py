"""The live workers: those that have reported lately, cached for a second."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from services.gateway.database import Database
from shared.jobs.record import queries
from shared.kinds import KINDS

#: Workers say every 2 seconds that they are alive.
_ALIVE_SECONDS = 6.0
_CACHE_SECONDS = 1.0
#: A worker that is missing may have come just now.
_CACHE_ABSENCE_SECONDS = 0.1


@dataclass(frozen=True)
class LiveWorker:
    id: str
    service: str
    kinds: frozenset[str]
    version: str
    facts: Mapping[str, Any]


class Workforce:
    """The live workers as of a second ago at most, and an absence as of a moment ago."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._workers: Sequence[LiveWorker] = ()
        self._refreshed_at = -_CACHE_SECONDS
        self._refreshing = asyncio.Lock()

    async def all(self) -> Sequence[LiveWorker]:
        await self._refresh(_CACHE_SECONDS)
        return self._workers

    async def serving(self, kind: str) -> Sequence[LiveWorker]:
        """Return the workers of a kind."""
        await self._refresh(_CACHE_SECONDS)
        workers = self._of(kind)
        if not workers:
            await self._refresh(_CACHE_ABSENCE_SECONDS)
            workers = self._of(kind)
        return workers

    def _of(self, kind: str) -> Sequence[LiveWorker]:
        return [worker for worker in self._workers if kind in worker.kinds]

    def absence(self, kind: str) -> str:
        """Why no worker serves the kind, as of the last refresh: one that cannot work reports why."""
        for worker in self._workers:
            reason = worker.facts.get("unavailable")
            if reason and worker.service == KINDS[kind].service:
                return f"The {worker.service} worker takes no {kind} jobs: {reason}"
        return f"No worker that serves {kind} jobs is running."

    async def _refresh(self, max_age_seconds: float) -> None:
        if time.monotonic() - self._refreshed_at < max_age_seconds:
            return
        async with self._refreshing:
            if time.monotonic() - self._refreshed_at < max_age_seconds:
                return  # another request has looked meanwhile
            async with self._database.read() as connection:
                rows = (await connection.execute(queries.live_workers(_ALIVE_SECONDS))).mappings().all()
            self._workers = [
                LiveWorker(row["id"], row["service"], frozenset(row["kinds"]), row["version"], row["facts"])
                for row in rows
            ]
            self._refreshed_at = time.monotonic()
