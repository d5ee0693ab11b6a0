"""Health of the gateway's dependencies: checked continuously, so that a probe never waits for a server that hangs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import unquote, urlsplit

import structlog
from redis.exceptions import RedisError
from sqlalchemy import text

from services.gateway.database import Database
from services.gateway.metrics import Metrics
from shared.contracts.capabilities import DependencyState
from shared.disk import disk_of
from shared.errors import DatabaseFailed, DatabaseUnavailable
from shared.redis_urls import async_client
from shared.settings import StoreSettings

log = structlog.get_logger()

_EVERY_SECONDS = 1.5
_DEADLINE_SECONDS = 2.0
_SHARED_SECONDS = 0.5  #: what has no answer for longer may never have one
_READ_ONLY = text("SELECT pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on'")
Check = Callable[[], Awaitable[str | None]]  #: why the dependency cannot serve; None when it can


class HealthMonitor:
    """The states of all dependencies, at most ``_EVERY_SECONDS + _DEADLINE_SECONDS`` old."""

    def __init__(self, stores: StoreSettings, serving: Database, side: Database, metrics: Metrics) -> None:
        """Set up the checks: ``serving`` holds the requests' connections, which readiness is about; ``side`` those
        of the checks.
        """
        self._serving = serving
        self._side = side
        self._metrics = metrics
        self._redis = async_client(
            stores.redis_url, socket_timeout=_DEADLINE_SECONDS, socket_connect_timeout=_DEADLINE_SECONDS, retry=None
        )
        self._files = _folder(stores.blob_url)
        self._qdrant = stores.qdrant_url
        self._checks: dict[str, Check] = {"postgres": self._of_postgres, "redis": self._of_redis}
        if self._files is not None:
            self._checks["files"] = self._of_files
        if self._qdrant is not None:
            self._checks["qdrant"] = self._of_qdrant
        self._states: dict[str, DependencyState] = {}
        self._unnamed: set[str] = set()  #: hidden while healthy: these are not servers
        self._looked = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._asked: asyncio.Task[None] | None = None
        self._asked_at = 0.0

    def add(self, name: str, check: Check) -> None:
        """Check one more thing, which is named only while it fails; before ``start``."""
        self._checks[name] = check
        self._unnamed.add(name)

    def start(self) -> None:
        self._task = asyncio.create_task(self._watch())

    async def stop(self) -> None:
        tasks = [task for task in (self._task, self._asked) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._redis.aclose()

    async def states(self) -> Mapping[str, DependencyState]:
        """Return the states by name; waits only for the very first check."""
        await self._looked.wait()
        return {name: state for name, state in self._states.items() if name not in self._unnamed or state != _OK}

    async def ask_postgres(self) -> None:
        """Query Postgres; concurrent callers share one query, so that a flood of them holds one connection.

        Raises: DatabaseUnavailable.
        """
        now = time.monotonic()
        if self._asked is None or self._asked.done() or now > self._asked_at + _SHARED_SECONDS:
            self._asked_at = now
            self._asked = asyncio.create_task(self._ask())
            self._asked.add_done_callback(_look_at_error)
        await asyncio.shield(self._asked)

    async def _ask(self) -> None:
        async with self._serving.read() as connection:
            await connection.execute(text("SELECT 1"))

    async def _watch(self) -> None:
        while True:
            await asyncio.gather(*(self._look(name, check) for name, check in self._checks.items()))
            self._looked.set()
            await asyncio.sleep(_EVERY_SECONDS)

    async def _look(self, name: str, check: Check) -> None:
        try:
            async with asyncio.timeout(_DEADLINE_SECONDS):
                reason = await check()
        except (TimeoutError, OSError, RedisError, DatabaseUnavailable):
            reason = _SILENT[name]
        except DatabaseFailed as failed:
            reason = failed.detail
        state = DependencyState(state="degraded" if reason else "ok", reason=reason)
        if state != self._states.get(name, _OK):
            log.warning("dependency", dependency=name, state=state.state, reason=reason)
        self._states[name] = state
        self._metrics.dependency_up.labels(name).set(reason is None)

    async def _of_postgres(self) -> str | None:
        async with self._side.read() as connection:
            read_only = (await connection.execute(_READ_ONLY)).scalar()
        if read_only:
            return "Postgres is read-only: nothing can be submitted or changed."
        if (state := self._serving.failing) is not None:
            return f"Postgres answers, but fails statements (SQLSTATE {state}): the gateway's log has its words."
        return None

    async def _of_redis(self) -> str | None:
        await self._redis.ping()
        return None

    async def _of_files(self) -> str | None:
        assert self._files is not None
        disk = await asyncio.to_thread(disk_of, self._files)
        self._metrics.disk_free.set(disk.free)
        self._metrics.disk_nearly_full.set(disk.nearly_full)
        return disk.warning

    async def _of_qdrant(self) -> str | None:
        """Read the first byte of its response: a port that only accepts connections does not serve."""
        parts = urlsplit(self._qdrant or "")
        port = parts.port or (443 if parts.scheme == "https" else 6333)
        reader, writer = await asyncio.open_connection(parts.hostname, port, ssl=parts.scheme == "https" or None)
        try:
            writer.write(f"GET /readyz HTTP/1.1\r\nHost: {parts.hostname}\r\nConnection: close\r\n\r\n".encode())
            return None if await reader.read(1) else _SILENT["qdrant"]
        finally:
            writer.close()


_OK = DependencyState(state="ok")
_SILENT = {
    "postgres": "Postgres does not answer.",
    "redis": "Redis does not answer: jobs are accepted, but may start late.",
    "files": "The folder of the files cannot be reached.",
    "large_bodies": "The process that reads large bodies is starting.",
    "qdrant": "Qdrant does not answer: search and ingest wait for it.",
}


def _look_at_error(asked: asyncio.Task[None]) -> None:
    """Retrieve the exception, because all callers may be gone before the answer."""
    if not asked.cancelled():
        asked.exception()


def _folder(blob_url: str) -> str | None:
    """Return the folder of the files; None when they are in a bucket."""
    parts = urlsplit(blob_url)
    return unquote(parts.path) if parts.scheme == "file" else None
