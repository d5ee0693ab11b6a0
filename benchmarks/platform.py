"""The job platform against bare Celery 5.7 on the same Redis, in one run: ``python -m benchmarks.platform``.

Both do nothing inside a job, so what is measured is what each adds. Bare Celery keeps results in Redis and loses jobs
with it; Assay's are on disk in Postgres before the client has its answer.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from redis import Redis as SyncRedis
from redis.asyncio import Redis as AsyncRedis

from benchmarks import bare_celery
from benchmarks.installation import Installation, installation
from benchmarks.load import Load, drive, post
from benchmarks.table import Line, at_least, at_most, show
from shared.jobs import advertising
from shared.jobs.notifications import message, queue_name
from shared.redis_urls import broker
from tests.support.platform import Platform, wait_for

SUBMITS = 3_000
CONNECTIONS = 16
BACKLOG = 3_000
ROUND_TRIPS = 300
_BARE = ("BARE_BROKER", "BARE_BACKEND")
BODY = b'{"kind": "execute", "input": {"language": "python", "code": "noop"}}'


def main() -> None:
    with installation() as assay, assay.platform() as platform:
        lines = measure(assay, platform)
    show("The job platform and bare Celery 5.7 (threads, concurrency 4) on the same Redis", lines)


def measure(assay: Installation, platform: Platform) -> list[Line]:
    redis_url = assay.stores.redis_url
    os.environ.update(BARE_BROKER=broker(f"{redis_url}?db=1").url, BARE_BACKEND=broker(f"{redis_url}?db=2").url)
    with platform.engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE plain_jobs (id text PRIMARY KEY, kind text, input jsonb)")
    return [
        publishing(redis_url),
        submitting(assay, platform),
        submit_to_result(assay, platform),
        draining(platform),
    ]


def publishing(redis_url: str) -> Line:
    """One notification by redis.asyncio against one ``apply_async``."""
    noop = bare_celery.task()

    async def ours() -> float:
        redis = AsyncRedis.from_url(redis_url)
        taken = []
        for number in range(1_000):
            began = time.perf_counter()
            await redis.lpush(queue_name("bench"), message("bench", str(number)))
            taken.append(time.perf_counter() - began)
        await redis.delete(queue_name("bench"))
        await redis.aclose()
        return statistics.median(taken)

    theirs = []
    for number in range(1_000):
        began = time.perf_counter()
        noop.apply_async((str(number),))
        theirs.append(time.perf_counter() - began)
    _empty_bare()
    us = 1e6
    return at_most("publishing, median", asyncio.run(ours()) * us, statistics.median(theirs) * us, "us", 0.3)


def submitting(assay: Installation, platform: Platform) -> Line:
    """Requests a second that are accepted; workers are said to be there, but nobody takes the processor's time."""
    with platform.engine.begin() as connection:
        connection.execute(advertising.advertise("w", "execution", ["execute"], 4, "bench", {}))
        connection.exec_driver_sql("UPDATE workers SET seen_at = seen_at + interval '1 hour'")
    with assay.gateway() as port:
        ours = _load(port, post("/v1/jobs", BODY, assay.authorization))
    with assay.gateway("benchmarks.plain_gateway", **{name: os.environ[name] for name in _BARE}) as port:
        plain = _load(port, post("/v1/jobs", BODY))
    _empty_bare()
    return at_least("submits, 16 connections", ours.per_second, plain.per_second, "req/s", 1.3)


def submit_to_result(assay: Installation, platform: Platform) -> Line:
    """One client that submits and waits for the result, again and again."""
    noop = bare_celery.task()
    _forget_jobs(platform)
    platform.ready_worker()
    request = post("/v1/jobs", BODY, {**assay.authorization, "Prefer": "wait=10"})
    with assay.gateway() as port:
        ours = _load(port, request, total=ROUND_TRIPS, connections=1, expect=200)
    _stop_workers(platform)
    with _bare_worker():
        noop.delay("warm").get(timeout=30)
        taken = []
        for _ in range(ROUND_TRIPS):
            began = time.perf_counter()
            noop.delay("x").get(timeout=30)
            taken.append(time.perf_counter() - began)
    return at_most("submit to result, median", ours.median_ms, statistics.median(taken) * 1e3, "ms", 3)


def draining(platform: Platform) -> Line:
    """Jobs a second out of a backlog, from a tenth to nine tenths of it."""
    noop = bare_celery.task()
    _forget_jobs(platform)
    for _ in range(BACKLOG):
        platform.submit("noop")
    platform.worker()

    def ours() -> int:
        with platform.engine.connect() as connection:
            row = connection.exec_driver_sql("SELECT count(*) FROM jobs WHERE state = 'succeeded'").one()
        return int(row[0])

    assay = _rate(ours)
    _stop_workers(platform)
    results = SyncRedis.from_url(f"{platform.stores.redis_url}?db=2")
    results.flushdb()
    for _ in range(BACKLOG):
        noop.delay("x")
    with _bare_worker():
        bare = _rate(lambda: int(results.dbsize()))
    return at_least("jobs done of a backlog", assay, bare, "jobs/s", 0.6)


def _rate(done: Callable[[], int]) -> float:
    low, high = BACKLOG // 10, BACKLOG * 9 // 10
    wait_for(lambda: done() >= low, 60)
    first, began = done(), time.perf_counter()
    wait_for(lambda: done() >= high, 120)
    return (done() - first) / (time.perf_counter() - began)


def _forget_jobs(platform: Platform) -> None:
    with platform.engine.begin() as connection:
        connection.exec_driver_sql("TRUNCATE jobs CASCADE")
    platform.redis.flushdb()


def _stop_workers(platform: Platform) -> None:
    for process in platform.processes:
        process.kill()
        process.wait()
    platform.processes.clear()


def _empty_bare() -> None:
    for name in _BARE:
        path, _, number = os.environ[name].removeprefix("redis+socket://").partition("?virtual_host=")
        SyncRedis(unix_socket_path=path, db=int(number)).flushdb()


@contextmanager
def _bare_worker() -> Iterator[None]:
    worker = subprocess.Popen([sys.executable, "-m", "benchmarks.bare_celery"], stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        worker.kill()
        worker.wait()


def _load(
    port: int, request: bytes, *, total: int = SUBMITS, connections: int = CONNECTIONS, expect: int = 202
) -> Load:
    drive(port, request, total=min(total, 160), connections=connections, expect=expect)  # warm
    return drive(port, request, total=total, connections=connections, expect=expect)


if __name__ == "__main__":
    main()
