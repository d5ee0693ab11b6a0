"""A migration waits for a table without holding up those that write it."""

from __future__ import annotations

from threading import Event, Thread

import psycopg

from migrations.locks import exclusively

_WRITE = b"INSERT INTO tenant_models (tenant_id, allowed) VALUES (gen_random_uuid()::text, '[]')"


def test_a_table_is_waited_for_and_no_one_is_held_up(database_url: str) -> None:
    locked = Event()

    def migrate() -> None:
        with psycopg.connect(database_url) as migration:
            migration.execute(exclusively("tenant_models").encode())
            locked.set()

    with psycopg.connect(database_url, autocommit=True) as other:
        with psycopg.connect(database_url) as holder:
            holder.execute(_WRITE)
            waiting = Thread(target=migrate)
            waiting.start()
            waits = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%%LOCK TABLE%%' AND pid <> %s"
            while other.execute(waits, (other.info.backend_pid,)).fetchone() == (0,):
                pass
            for _ in range(30):
                other.execute(_WRITE)
            assert not locked.is_set()
        waiting.join(60)
        assert locked.is_set()
