"""Every module gets a migrated database of its own."""

from __future__ import annotations

import psycopg

from migrations.upgrade import current, heads
from services.host.redis import Redis
from shared.settings import StoreSettings


def test_the_database_is_at_the_newest_revision(database_url: str) -> None:
    assert current(database_url)
    assert len(heads()) <= 1, "the revisions form one line"


def test_the_stores_are_reachable(stores: StoreSettings, redis_server: Redis) -> None:
    with psycopg.connect(stores.database_url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    assert redis_server.send("DBSIZE") == ":0"
