"""The event streams of one process: how many a key has open, and their end when it is revoked or expires."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import suppress

from services.gateway.admission.quotas import Read
from services.gateway.admission.slots import Share, Slots
from shared import keys
from shared.errors import DatabaseUnavailable, QuotaExceeded

_CHECK_SECONDS = 0.5


class OpenStream:
    """One stream; ``news`` wakes it, ``ended`` is set when its key is no longer valid."""

    def __init__(self, key_id: str, share: Share) -> None:
        self.key_id = key_id
        self.share = share
        self.ended = False
        self.news: asyncio.Event | None = None

    def end(self) -> None:
        self.ended = True
        if self.news is not None:
            self.news.set()


class OpenStreams:
    """All streams by key; one query checks the keys of all."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._slots = Slots("event streams", 0)
        self._open: defaultdict[str, set[OpenStream]] = defaultdict(set)
        self._checking: asyncio.Task[None] | None = None

    def open(self, key_id: str, limit: int) -> OpenStream:
        """Open a stream. Raises: QuotaExceeded when the key has ``limit`` streams already."""
        share = self._slots.of(key_id)
        if not self._slots.take(share, limit):
            detail = f"This key has {limit} event streams open, which is the most; close one."
            raise QuotaExceeded(detail, retry_after=5, quota="streams", limit=limit)
        stream = OpenStream(key_id, share)
        self._open[key_id].add(stream)
        if self._checking is None:
            self._checking = asyncio.create_task(self._check_keys())
        return stream

    def close(self, stream: OpenStream) -> None:
        streams = self._open[stream.key_id]
        if stream in streams:  # a stream is closed when it ends, and again when it is collected
            streams.remove(stream)
            self._slots.free(stream.share)
        if not streams:
            del self._open[stream.key_id]

    async def stop(self) -> None:
        if self._checking is not None:
            self._checking.cancel()
            with suppress(asyncio.CancelledError):
                await self._checking

    async def _check_keys(self) -> None:
        try:
            while self._open:
                await asyncio.sleep(_CHECK_SECONDS)
                with suppress(DatabaseUnavailable):
                    await self._end_invalid()
        finally:
            self._checking = None

    async def _end_invalid(self) -> None:
        ids = list(self._open)
        async with self._read() as connection:
            valid = set((await connection.execute(keys.still_valid(ids))).scalars())
        for id in set(ids) - valid:
            for stream in list(self._open.get(id, ())):
                stream.end()
