"""What one gateway process holds open: Postgres, Redis, the blobs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, TypeVar, cast

import structlog
from fastapi import Depends, FastAPI, Request
from obstore.store import ObjectStore
from redis.asyncio import Redis
from sqlalchemy import Connection
from sqlalchemy.engine import AdaptedConnection

from services.gateway.admission.quotas import Quotas
from services.gateway.admission.rates import Rates
from services.gateway.admission.streams import OpenStreams
from services.gateway.bounded import BoundedWork
from services.gateway.database import Database
from services.gateway.health import HealthMonitor
from services.gateway.http.auditing import CrossTenantReads
from services.gateway.http.auth import Authenticator, Guesses
from services.gateway.http.large_bodies import LargeBodies
from services.gateway.llm import LlmAccess
from services.gateway.metrics import Metrics
from services.gateway.notifications import Notifier, Watchers
from services.gateway.progress import progress_of_flows, progress_of_jobs
from services.gateway.settings import Settings
from services.gateway.tables.conversion import Conversions
from services.gateway.workers import Workforce
from shared import blobs
from shared.flows.store import FlowStore
from shared.redis_urls import async_client

log = structlog.get_logger()

Answer = TypeVar("Answer")

#: Redis only carries notifications: no request waits long for it.
_REDIS_TIMEOUT = 0.2
SIDE_CONNECTIONS, KEY_CONNECTIONS = 2, 1


def offload(connection: Connection, work: Callable[[], Answer], /) -> Answer:
    """Run in a thread what a store computes under ``run_sync``, so that the event loop continues."""
    driver = connection.connection.dbapi_connection
    assert isinstance(driver, AdaptedConnection)
    return cast(Answer, driver.run_async(lambda _: asyncio.to_thread(work)))


@dataclass
class Dependencies:
    settings: Settings
    metrics: Metrics
    database: Database
    redis: Redis
    blobs: ObjectStore
    authenticator: Authenticator
    streams: OpenStreams
    workforce: Workforce
    health: HealthMonitor
    quotas: Quotas
    rates: Rates
    watchers: Watchers
    notifier: Notifier
    llm: LlmAccess
    flows: FlowStore
    bounded: BoundedWork
    conversions: Conversions
    large_bodies: LargeBodies | None  #: None in such a process
    cross_tenant_reads: CrossTenantReads = field(default_factory=CrossTenantReads)
    closing: asyncio.Event = field(default_factory=asyncio.Event)  #: set when the process is stopping
    _tasks: set[asyncio.Task[Any]] = field(default_factory=set)
    _shared: dict[Hashable, asyncio.Task[Any]] = field(default_factory=dict)

    def in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Run the work in the background; the answer does not wait for it."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def to_its_end(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        """Return the work's result; when the caller is cancelled meanwhile, the work still completes.

        A statement that is interrupted breaks its connection.
        """
        return await asyncio.shield(self._begun(work))

    async def together(self, key: Hashable, begin: Callable[[], Coroutine[Any, Any, Answer]]) -> Answer:
        """Run the coroutine once for all concurrent callers with the same key."""
        task = self._shared.get(key)
        if task is None:
            task = self._shared[key] = self._begun(begin())
            task.add_done_callback(lambda _: self._shared.pop(key))
        return cast(Answer, await asyncio.shield(task))

    def _begun(self, work: Coroutine[Any, Any, Answer]) -> asyncio.Task[Answer]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # read, so that asyncio does not warn: its caller may be gone

    def end_streams(self) -> None:
        """Wake all requests that wait for a job: this process stops."""
        self.closing.set()
        self.watchers.wake_all()

    async def settle(self) -> None:
        """Wait for what was begun with ``in_background``."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=1)


@asynccontextmanager
async def opened(
    app: FastAPI, settings: Settings, metrics: Metrics, *, is_behind: bool = False
) -> AsyncIterator[Dependencies]:
    """Open the resources for the life of the process; none of them has to be reachable yet."""
    redis = async_client(
        settings.stores.redis_url,
        socket_timeout=_REDIS_TIMEOUT,
        socket_connect_timeout=_REDIS_TIMEOUT,
        health_check_interval=0,
        retry=None,
    )
    url, most = settings.stores.database_url, settings.http.database_connections
    # Side lookups have separate connections, so that no request waits for one while it holds another.
    side_database = Database(url, 1 if is_behind else SIDE_CONNECTIONS)
    # The count of a long queue must not delay the lookup of other tenants' keys.
    key_database = side_database if is_behind else Database(url, KEY_CONNECTIONS)
    store = blobs.open_store(settings.stores.blob_url)
    quotas = Quotas(settings, side_database.read)
    database = Database(url, 1 if is_behind else most, quotas.weight)  # one behind reads one large body at a time
    dependencies = Dependencies(
        settings=settings,
        metrics=metrics,
        database=database,
        redis=redis,
        blobs=store,
        authenticator=Authenticator(key_database, Guesses(settings.http.wrong_keys_per_minute)),
        streams=OpenStreams(side_database.read),
        workforce=Workforce(side_database),
        health=HealthMonitor(settings.stores, database, side_database, metrics),
        quotas=quotas,
        rates=Rates(quotas, redis),
        watchers=Watchers(
            settings.stores.redis_url,
            jobs=partial(progress_of_jobs, side_database),
            flows=partial(progress_of_flows, side_database),
        ),
        notifier=Notifier(redis),
        llm=LlmAccess(settings),
        flows=FlowStore(settings.flows.undo_depth, settings.flows.flow_versions, offload=offload),
        bounded=BoundedWork(),
        conversions=Conversions(settings.http.table_processes, settings.http.table_memory_mb),
        large_bodies=None if is_behind else LargeBodies(settings, metrics),
    )
    app.state.dependencies = dependencies
    if dependencies.large_bodies is not None:
        dependencies.health.add("large_bodies", dependencies.large_bodies.check)
    dependencies.watchers.start()
    dependencies.health.start()
    port = 0 if is_behind else settings.jobs.metrics_port
    stop_metrics = metrics.serve(port) if port else lambda: None
    try:
        yield dependencies
    finally:
        dependencies.closing.set()
        stop_metrics()
        if dependencies.large_bodies is not None:
            await dependencies.large_bodies.stop()
        await dependencies.streams.stop()
        await dependencies.health.stop()
        await dependencies.watchers.stop()
        await dependencies.settle()
        await dependencies.notifier.settle()
        await redis.aclose()
        dependencies.llm.close()
        metrics.close()
        await database.close()
        await side_database.close()
        await key_database.close()


async def _dependencies(request: Request) -> Dependencies:
    dependencies = request.app.state.dependencies
    assert isinstance(dependencies, Dependencies)
    return dependencies


Deps = Annotated[Dependencies, Depends(_dependencies)]
