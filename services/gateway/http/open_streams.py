"""The event streams of one process: how many a key has open, and their end when it is revoked or expires."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import suppress

from services.gateway.database import Database
from shared import keys
from shared.errors import DatabaseUnavailable, QuotaExceeded

_LOOK_SECONDS = 0.5


class OpenStream:
    """One stream; ``news`` wakes it, ``ended`` says that its key may not go on."""

    def __init__(self, key_id: str) -> None:
        self.key_id = key_id
        self.ended = False
        self.news: asyncio.Event | None = None

    def end(self) -> None:
        self.ended = True
        if self.news is not None:
            self.news.set()


class OpenStreams:
    """All of them by key; one query looks after the keys of all."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._open: defaultdict[str, set[OpenStream]] = defaultdict(set)
        self._looking: asyncio.Task[None] | None = None

    def open(self, key_id: str, most: int) -> OpenStream:
        """Raises: QuotaExceeded when the key has ``most`` streams already."""
        if len(self._open.get(key_id, ())) >= most:
            detail = f"This key has {most} event streams open, which is the most; close one."
            raise QuotaExceeded(detail, retry_after=5, quota="streams", limit=most)
        stream = OpenStream(key_id)
        self._open[key_id].add(stream)
        if self._looking is None:
            self._looking = asyncio.create_task(self._look_after())
        return stream

    def close(self, stream: OpenStream) -> None:
        streams = self._open[stream.key_id]
        streams.discard(stream)
        if not streams:
            del self._open[stream.key_id]

    async def stop(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
            with suppress(asyncio.CancelledError):
                await self._looking

    async def _look_after(self) -> None:
        try:
            while self._open:
                await asyncio.sleep(_LOOK_SECONDS)
                with suppress(DatabaseUnavailable):
                    await self._end_invalid()
        finally:
            self._looking = None

    async def _end_invalid(self) -> None:
        ids = list(self._open)
        async with self._database.read() as connection:
            valid = set((await connection.execute(keys.still_valid(ids))).scalars())
        for id in set(ids) - valid:
            for stream in list(self._open.get(id, ())):
                stream.end()
