"""What partitions by day would cost the ledger of model calls: ``python -m benchmarks.call_partitions [DAYS]``.

Copies of ``llm_calls`` as it is, by days of the job's id, and by days of the call; of each statement the pages that it
reads, the tables and indexes that it locks and its median time, prepared, with 40 days unless told.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

import psycopg
from psycopg import sql
from rich.console import Console
from rich.table import Table

from migrations.upgrade import upgrade
from services.host.postgres import Postgres

DAYS = 40
_CALLS = 5_000  #: of each day
_TIMES = 300
_KEYS = ("plain", "job_id", "at")
_DAY = "date_trunc('day', now(), 'UTC') - make_interval(hours => 24 * {days})"
_PARTITIONED = """
    CREATE TABLE calls_{key} (LIKE llm_calls INCLUDING DEFAULTS INCLUDING IDENTITY) PARTITION BY RANGE ({key});
    CREATE INDEX ON calls_{key} (job_id, id);
    CREATE INDEX ON calls_{key} (tenant_id, at);
    CREATE INDEX ON calls_{key} (id);
    CREATE TABLE calls_{key}_default PARTITION OF calls_{key} DEFAULT
"""
_FILL = """
    INSERT INTO calls_{key} (tenant_id, job_id, at, turn, attempt, role, requested_provider, requested_model, reason,
        outcome, input_tokens, output_tokens, cost_usd, seconds, source)
    SELECT 't' || n % 100, job_id_at(at - interval '1 second') || '-7000-8000-' || lpad(n::text, 12, '0'), at, 1, 1,
        'r', 'p', 'm', 'primary', 'ok', 1000, 200, 0.01, 1.5, 'live'
    FROM generate_series(1, {rows}) AS n CROSS JOIN LATERAL (
        SELECT {start} + n * interval '24 hours' / {calls} AS at) AS called
"""
#: Each with the type of its parameter, and what is given.
_STATEMENTS = {
    "calls of a job": ("text", "SELECT * FROM {} WHERE job_id = $1 ORDER BY id LIMIT 10000", "job"),
    "tokens of a run": ("text", "SELECT sum(input_tokens) FROM {} WHERE job_id = $1 AND job_attempt = 1", "job"),
    "models of 20 jobs of a list": (
        "text[]",
        "SELECT job_id, count(*) FROM {} WHERE job_id = ANY($1) GROUP BY 1",
        "jobs",
    ),
    "tokens of a tenant today": (
        "text",
        "SELECT sum(input_tokens) FROM {} WHERE tenant_id = $1 AND at >= now() - interval '1 day'",
        "tenant",
    ),
    "text of a call": ("bigint", "SELECT * FROM {} WHERE id = $1", "call"),
}  # fmt: skip


def fill(connection: psycopg.Connection[tuple[object, ...]], days: int) -> None:
    connection.execute("CREATE TABLE calls_plain (LIKE llm_calls INCLUDING ALL)")
    for key in _KEYS[1:]:
        for statement in _PARTITIONED.format(key=key).split(";"):
            connection.execute(statement.encode())
        for number in range(-1, days + 1):
            starts = [_DAY.format(days=each) for each in (number, number - 1)]
            told = [f"job_id_at({each})" if key == "job_id" else f"({each})::text" for each in starts]
            bounds = connection.execute(f"SELECT {', '.join(told)}".encode()).fetchone()
            assert bounds is not None
            adding = sql.SQL("CREATE TABLE {} PARTITION OF {} FOR VALUES FROM ({}) TO ({})")
            names = (sql.Identifier(f"calls_{key}_{number + 1}"), sql.Identifier(f"calls_{key}"))
            connection.execute(adding.format(*names, *map(sql.Literal, bounds)))
    for key in _KEYS:
        start = _DAY.format(days=days)
        connection.execute(_FILL.format(key=key, rows=days * _CALLS, start=start, calls=_CALLS).encode())
        connection.execute(f"VACUUM ANALYZE calls_{key}".encode())


def given(connection: psycopg.Connection[tuple[object, ...]], days: int) -> dict[str, str]:
    """Literals of what the statements are asked for: a job and its call in the middle, the newest 20 jobs, a tenant."""
    call = days // 2 * _CALLS
    job = connection.execute("SELECT job_id FROM calls_plain WHERE id = %s", (call,)).fetchone()
    newest = connection.execute("SELECT job_id FROM calls_plain ORDER BY id DESC LIMIT 20").fetchall()
    assert job is not None
    jobs = sql.Literal([row[0] for row in newest]).as_string(connection)
    return {"job": f"'{job[0]}'", "jobs": jobs, "tenant": "'t7'", "call": str(call)}


def measured(connection: psycopg.Connection[tuple[object, ...]], type: str, statement: str, value: str) -> str:
    """``pages / locks / milliseconds``."""
    connection.execute(f"PREPARE asked ({type}) AS {statement}".encode())
    execute = f"EXECUTE asked ({value})".encode()
    connection.execute(execute)
    row = connection.execute(b"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + execute).fetchone()
    assert row is not None
    plan = row[0][0]["Plan"]  # type: ignore[index]
    taken = []
    for _ in range(_TIMES):
        began = time.perf_counter()
        connection.execute(execute)
        taken.append((time.perf_counter() - began) * 1000)
    with connection.transaction():
        connection.execute(execute)
        locks = connection.execute(
            "SELECT count(*) FROM pg_locks JOIN pg_class c ON c.oid = relation"
            " WHERE pid = pg_backend_pid() AND c.relname LIKE 'calls_%'"
        ).fetchone()
    connection.execute("DEALLOCATE asked")
    assert locks is not None
    return f"{plan['Shared Hit Blocks'] + plan['Shared Read Blocks']} / {locks[0]} / {statistics.median(taken):.3f}"


def main() -> None:
    days = int(sys.argv[-1]) if len(sys.argv) > 1 else DAYS
    table = Table("pages / locks / median ms", "as it is", "by days of the job", "by days of the call")
    with tempfile.TemporaryDirectory(prefix="assay-calls-") as folder:
        Path(folder).chmod(0o755)
        with Postgres(Path(folder) / "postgres", durable=False) as server:
            url = server.url_of("postgres")
            upgrade(url)
            options = "-c timezone=UTC -c plan_cache_mode=force_generic_plan"
            with psycopg.connect(url, autocommit=True, options=options) as connection:
                fill(connection, days)
                values = given(connection, days)
                for name, (type_, statement, what) in _STATEMENTS.items():
                    cells = (
                        measured(connection, type_, statement.format(f"calls_{key}"), values[what]) for key in _KEYS
                    )
                    table.add_row(name, *cells)
    Console(width=130).print(table)


if __name__ == "__main__":
    main()
