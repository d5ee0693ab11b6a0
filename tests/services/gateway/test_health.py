"""Readiness, requested by many at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest

from services.gateway.database import Database
from services.gateway.health import HealthMonitor
from services.gateway.metrics import Metrics
from shared.errors import DatabaseUnavailable
from shared.settings import StoreSettings


class _SlowPostgres:
    """Answers once it is let; ``questions`` counts its requests."""

    def __init__(self, error: Exception | None = None) -> None:
        self.questions = 0
        self.let = asyncio.Event()
        self._error = error

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Any]:
        self.questions += 1
        await self.let.wait()
        if self._error is not None:
            raise self._error
        yield SimpleNamespace(execute=self._execute)

    async def _execute(self, statement: object) -> None:
        del statement


def _monitor(postgres: _SlowPostgres) -> HealthMonitor:
    stores = StoreSettings(
        database_url="postgresql://127.0.0.1/a", redis_url="redis://127.0.0.1", blob_url="s3://b", qdrant_url=None
    )
    database = cast("Database", postgres)
    return HealthMonitor(stores, database, database, Metrics("postgresql://127.0.0.1/a", ["execute"]))


async def _asked(monitor: HealthMonitor, times: int) -> list[asyncio.Task[None]]:
    tasks = [asyncio.create_task(monitor.ask_postgres()) for _ in range(times)]
    for _ in range(5):  # each has come to its wait
        await asyncio.sleep(0)
    return tasks


def test_many_who_ask_at_once_are_one_question_and_one_who_leaves_takes_no_answer_from_another() -> None:
    async def scene() -> None:
        postgres = _SlowPostgres()
        monitor = _monitor(postgres)
        first, *others = await _asked(monitor, 20)
        first.cancel()
        await asyncio.sleep(0)
        postgres.let.set()
        await asyncio.gather(*others)
        assert first.cancelled()
        assert postgres.questions == 1
        await monitor.ask_postgres()
        assert postgres.questions == 2

    asyncio.run(scene())


def test_all_who_asked_hear_that_it_does_not_answer() -> None:
    async def scene() -> None:
        postgres = _SlowPostgres(DatabaseUnavailable("Postgres does not answer."))
        tasks = await _asked(_monitor(postgres), 3)
        postgres.let.set()
        for task in tasks:
            with pytest.raises(DatabaseUnavailable):
                await task

    asyncio.run(scene())
