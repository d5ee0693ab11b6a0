"""What was claimed is run, even where a statement that claims more fails."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Engine, event, text
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection

from shared.db import connect
from shared.jobs.record import submission
from shared.jobs.running.claims import Claimed, Claims
from shared.settings import StoreSettings
from tests.support.rows import job_row


class Cut:
    """Lets that number of statements have a connection, and none after them."""

    def __init__(self, engine: Engine) -> None:
        self.left = 1000
        event.listen(engine, "checkout", self._checkout)

    def _checkout(self, opened: DBAPIConnection, record: ConnectionPoolEntry, proxy: PoolProxiedConnection) -> None:
        self.left -= 1
        if self.left < 0:
            raise OperationalError(None, None, ConnectionError("cut"))


@pytest.fixture
def engine(stores: StoreSettings) -> Iterator[Engine]:
    engine = connect(stores.database_url, 4)
    with engine.begin() as connection:
        connection.execute(text("TRUNCATE jobs, conversations CASCADE"))
        connection.execute(text("DELETE FROM tenant_limits"))
        for tenant in ("a", "b", "a", "b"):
            connection.execute(submission.submit(job_row(tenant_id=tenant)))
    yield engine
    engine.dispose()


def test_what_was_claimed_before_a_fault_is_handed_out(engine: Engine) -> None:
    claims = Claims(engine.execution_options(isolation_level="AUTOCOMMIT"), "w", 60, 0)
    cut = Cut(engine)
    cut.left = 1  # two tenants in turn: the first statement ends where the first tenant's turn comes again
    handed = claims._claim("execute", [None] * 4)
    assert [None if each is None else each.row["tenant_id"] for each in handed] == ["a", "b", "b", None]
    with pytest.raises(OperationalError):
        claims._claim("execute", [None])
    cut.left = 1000
    with ThreadPoolExecutor(4) as threads:
        rest: list[Claimed | None] = list(threads.map(lambda _: claims.next("execute"), range(4)))
    assert [each.row["tenant_id"] for each in rest if each is not None] == ["a"]
