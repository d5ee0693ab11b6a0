"""No statement of the hot path reads more pages of a long queue than of a short one, whatever the statistics say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from sqlalchemy import Connection, Executable, text
from sqlalchemy.dialects import postgresql

from shared.db import connect
from shared.jobs import counts, listing, maintenance, queries, statements

_ROWS = 20_000
_FILL = """
    INSERT INTO jobs (id, tenant_id, kind, input, conversation_id, actor)
    SELECT 'q' || lpad(n::text, 9, '0'), 't' || (n % 500), 'execute', '{}',
           CASE WHEN n % 2 = 0 THEN 'one' ELSE 'c' || n END, 'k' FROM generate_series(1, :rows) n
"""
#: Each with the pages that it may read: those of an index from its root down, and of the rows that it gives or writes.
_HOT: Mapping[str, tuple[Callable[[], Executable], int]] = {
    "claim": (lambda: statements.claim("execute", "w", 60).clause, 150),
    "queued of a tenant": (lambda: counts.queued_of("t3"), 20),
    "rare state": (lambda: listing.page("t3", listing.JobFilter(states=["dead"]), 20), 20),
    "rare kind": (lambda: listing.page("t3", listing.JobFilter(kinds=["flow"]), 20), 60),
    "progress of 50": (lambda: queries.progressed({f"q{number:09}": 0 for number in range(1, 51)}), 250),
    "expired jobs": (lambda: maintenance.expired_jobs(30, 1000), 20),
    "expired keys": (lambda: maintenance.expired_idempotency_keys(24, 1000), 20),
}


@pytest.fixture(scope="module")
def filled(database_url: str) -> Iterator[Connection]:
    engine = connect(database_url)
    with engine.connect() as connection:
        connection.execute(text("TRUNCATE jobs, conversations CASCADE"))
        connection.execute(
            text("ANALYZE jobs, job_turns, job_counts, job_deltas")
        )  # of empty tables: stale from now on
        connection.execute(text(_FILL), {"rows": _ROWS})
        connection.execute(counts.add_up(10_000))
        connection.execute(statements.claim("execute", "w", 60).clause)  # reads the catalogue, once for each connection
        yield connection  # rolled back
    engine.dispose()


@pytest.mark.slow
@pytest.mark.parametrize("name", _HOT)
def test_a_long_queue_costs_no_more_pages(filled: Connection, name: str) -> None:
    statement, most = _HOT[name]
    assert _pages(filled, statement()) <= most


def _pages(connection: Connection, statement: Executable) -> int:
    """How many pages of tables and indexes one execution touches."""
    compiled = statement.compile(dialect=postgresql.psycopg.dialect(), compile_kwargs={"render_postcompile": True})  # type: ignore[attr-defined, no-untyped-call]
    asked: Any = "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) " + str(compiled)
    values = {
        name: processor(value) if (processor := compiled._bind_processors.get(name)) else value
        for name, value in compiled.params.items()
    }
    with connection.begin_nested() as attempt:
        plan = connection.exec_driver_sql(asked, values).scalar_one()[0]["Plan"]
        attempt.rollback()
    return int(plan["Shared Hit Blocks"]) + int(plan["Shared Read Blocks"])
