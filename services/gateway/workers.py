"""Who is there to do the work: the workers that were heard of lately, remembered for a second."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from services.gateway.record import Record
from shared.jobs import queries

#: Workers say every 2 seconds that they are alive.
_ALIVE_SECONDS = 6.0
_TRUST_SECONDS = 1.0


@dataclass(frozen=True)
class LiveWorker:
    id: str
    service: str
    kinds: frozenset[str]
    version: str
    facts: Mapping[str, Any]


class Workforce:
    """The live workers as of a second ago at most; an absence is never taken from memory."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._known: Sequence[LiveWorker] = ()
        self._until = 0.0

    async def all(self) -> Sequence[LiveWorker]:
        if time.monotonic() >= self._until:
            await self._look()
        return self._known

    async def serving(self, kind: str) -> Sequence[LiveWorker]:
        """The workers of a kind."""
        found = [worker for worker in await self.all() if kind in worker.kinds]
        if not found:
            await self._look()
            found = [worker for worker in self._known if kind in worker.kinds]
        return found

    async def _look(self) -> None:
        async with self._record.read() as connection:
            rows = (await connection.execute(queries.live_workers(_ALIVE_SECONDS))).mappings().all()
        self._known = [
            LiveWorker(row["id"], row["service"], frozenset(row["kinds"]), row["version"], row["facts"]) for row in rows
        ]
        self._until = time.monotonic() + _TRUST_SECONDS
