"""Row-level security: a query that forgets the tenant still reads nothing of another one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress

import pytest
from sqlalchemy import create_engine, func, insert, select, text, update
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ProgrammingError

from migrations import roles
from services.gateway.database import Database
from shared.blobs import files
from shared.db import with_driver
from shared.jobs.record import submission
from shared.jobs.record.tables import jobs
from tests.support.rows import job_row


@pytest.fixture
def gateway_url(database_url: str) -> Iterator[str]:
    """The database as the gateway's role sees it, with a job each of two tenants."""
    owner = create_engine(with_driver(database_url))
    with owner.begin() as connection:
        roles.allow_login(connection, {"gateway": "secret"})
        for tenant in ("a", "b"):
            connection.execute(submission.submit(job_row(tenant_id=tenant)))
    url = make_url(with_driver(database_url)).set(username="assay_gateway", password="secret")
    yield url.render_as_string(hide_password=False)
    with owner.begin() as connection:
        connection.execute(text("DELETE FROM jobs"))
    owner.dispose()


def test_a_query_without_a_tenant_reads_and_writes_only_the_callers_rows(gateway_url: str) -> None:
    async def seen() -> None:
        database = Database(gateway_url, 1)
        everything = select(jobs.c.tenant_id)
        for tenant in ("a", "b", "a"):  # on one connection, whose tenant changes
            async with database.read(tenant) as connection:
                assert (await connection.scalars(everything)).all() == [tenant]
            async with database.write(tenant) as connection:
                assert (await connection.scalars(everything)).all() == [tenant]
                assert (await connection.execute(update(jobs).values(priority=1))).rowcount == 1
        async with database.read("c") as connection:
            assert (await connection.scalars(everything)).all() == []
            foreign = {"id": "f", "tenant_id": "a", "name": "f", "size": 1, "sha256": "0", "media_type": "x/y"}
            with pytest.raises(ProgrammingError, match="row-level security"):
                await connection.execute(insert(files).values(foreign))
        await database.close()

    asyncio.run(seen())


def test_a_transaction_that_was_rolled_back_leaves_the_tenant_before(gateway_url: str) -> None:
    async def seen() -> None:
        database = Database(gateway_url, 1)
        counted = select(func.count()).select_from(jobs)
        async with database.write("a") as connection:
            assert await connection.scalar(counted) == 1
        with suppress(ZeroDivisionError):
            async with database.write("c") as connection:
                assert await connection.scalar(counted) == 0
                raise ZeroDivisionError
        async with database.write("c") as connection:
            assert await connection.scalar(counted) == 0
        async with database.write("a") as connection:
            assert await connection.scalar(counted) == 1
        await database.close()

    asyncio.run(seen())


def test_without_a_tenant_the_role_sees_nothing_and_administrators_see_all(gateway_url: str) -> None:
    engine = create_engine(gateway_url)
    with engine.connect() as connection:
        assert connection.scalars(select(jobs.c.id)).all() == []
    engine.dispose()

    async def seen() -> None:
        database = Database(gateway_url, 1)
        async with database.read() as connection:
            assert sorted((await connection.scalars(select(jobs.c.tenant_id))).all()) == ["a", "b"]
        await database.close()

    asyncio.run(seen())
