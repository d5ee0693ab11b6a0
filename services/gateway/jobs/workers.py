"""Who is there to do the work: the workers that were heard of lately, remembered for a second."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from services.gateway.database import Database
from shared.jobs import queries
from shared.kinds import KINDS

#: Workers say every 2 seconds that they are alive.
_ALIVE_SECONDS = 6.0
_TRUST_SECONDS = 1.0
#: A worker that is missing may have come just now.
_TRUST_ABSENCE_SECONDS = 0.1


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
        self._known: Sequence[LiveWorker] = ()
        self._seen_at = -_TRUST_SECONDS
        self._looking = asyncio.Lock()

    async def all(self) -> Sequence[LiveWorker]:
        await self._look(_TRUST_SECONDS)
        return self._known

    async def serving(self, kind: str) -> Sequence[LiveWorker]:
        """The workers of a kind."""
        await self._look(_TRUST_SECONDS)
        found = self._of(kind)
        if not found:
            await self._look(_TRUST_ABSENCE_SECONDS)
            found = self._of(kind)
        return found

    def _of(self, kind: str) -> Sequence[LiveWorker]:
        return [worker for worker in self._known if kind in worker.kinds]

    def absence(self, kind: str) -> str:
        """Why nobody serves the kind, as of the last look: a worker that cannot work stands by and says why."""
        for worker in self._known:
            reason = worker.facts.get("unavailable")
            if reason and worker.service == KINDS[kind].service:
                return f"The {worker.service} worker takes no {kind} jobs: {reason}"
        return f"No worker that serves {kind} jobs is running."

    async def _look(self, trust_seconds: float) -> None:
        if time.monotonic() - self._seen_at < trust_seconds:
            return
        async with self._looking:
            if time.monotonic() - self._seen_at < trust_seconds:
                return  # another request has looked meanwhile
            async with self._database.read() as connection:
                rows = (await connection.execute(queries.live_workers(_ALIVE_SECONDS))).mappings().all()
            self._known = [
                LiveWorker(row["id"], row["service"], frozenset(row["kinds"]), row["version"], row["facts"])
                for row in rows
            ]
            self._seen_at = time.monotonic()
