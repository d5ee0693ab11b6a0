"""No connection is lost, whenever a request or the gateway ends."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.database import EVERYONE, Database
from shared.errors import QueryTooSlow


def test_a_request_that_is_cancelled_in_the_moment_its_connection_is_there_returns_it(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def cancelled() -> None:
        database = Database(database_url, 1)
        connect = database._connect

        async def connected() -> AsyncConnection:
            connection = await connect()
            request.cancel()
            return connection

        monkeypatch.setattr(database, "_connect", connected)
        request = asyncio.ensure_future(_read(database))
        with pytest.raises(asyncio.CancelledError):
            await request
        async with asyncio.timeout(20):
            while database._engine.pool.checkedout():  # type: ignore[attr-defined]  # noqa: ASYNC110 - it has no event
                await asyncio.sleep(0.01)
        await database.close()

    asyncio.run(cancelled())


def test_a_connection_that_comes_back_after_the_end_is_closed(database_url: str) -> None:
    async def late() -> bool:
        database = Database(database_url, 1)
        async with database.read() as connection:
            driver = (await connection.get_raw_connection()).driver_connection
            assert driver is not None
            await database.close()
        return bool(driver.closed)

    assert asyncio.run(late())


def test_a_statement_that_takes_too_long_has_an_error_of_its_own(database_url: str) -> None:
    async def slow() -> None:
        database = Database(database_url, 1)
        try:
            async with database.read() as connection:
                await connection.exec_driver_sql("SET statement_timeout = 20")
                await connection.exec_driver_sql("SELECT pg_sleep(60)")
        finally:
            await database.close()

    with pytest.raises(QueryTooSlow) as refused:
        asyncio.run(slow())
    assert (refused.value.code, refused.value.status) == ("query_too_slow", 503)


async def _read(database: Database) -> None:
    async with database.read():
        pass


def test_work_that_is_no_tenants_needs_no_slot(database_url: str) -> None:
    async def opened() -> int:
        database = Database(database_url, 9)
        async with AsyncExitStack() as held:
            await held.enter_async_context(database.read("one"))
            for _ in range(8):  # a tenant would hold 6 of 9 at most while another one is served
                await held.enter_async_context(database.read(EVERYONE))
            count = database._engine.pool.checkedout()  # type: ignore[attr-defined]
        await database.close()
        return int(count)

    assert asyncio.run(opened()) == 9
