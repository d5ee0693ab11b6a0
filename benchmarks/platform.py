"""The job platform against bare Celery, a plain gateway and procrastinate: ``python -m benchmarks.platform``.

Jobs do nothing, so what is measured is what each system adds. Bare Celery keeps results in Redis and loses jobs with
it; those of Assay and procrastinate are on disk in Postgres before the client has its answer. All use the same servers.
Flame graphs of the gateway and a worker are kept in the folder that is printed.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
from redis import Redis as SyncRedis
from redis.asyncio import Redis as AsyncRedis

from benchmarks import bare_celery
from benchmarks.installation import Installation, installation
from benchmarks.load import Load, drive, post
from benchmarks.peer import peer_python
from benchmarks.table import Line, at_least, at_most, show
from shared.jobs.delivery.notifications import message, queue_name
from shared.jobs.record import advertising
from shared.redis_urls import broker
from tests.support.platform import Platform, wait_for

SUBMITS = 3_000
CONNECTIONS = 16
BACKLOG = 3_000
ROUND_TRIPS = 300
WARM = 160
_BARE = ("BARE_BROKER", "BARE_BACKEND")
BODY = b'{"kind": "execute", "input": {"language": "python", "code": "noop"}}'


PROCRASTINATE = ("procrastinate==3.10.0", "psycopg[binary,pool]==3.3.9")
PY_SPY = ("py-spy==0.4.3",)
FLAME_SECONDS = 5
_BUSY = "while True: pass"


def main() -> None:
    with installation() as assay, assay.platform() as platform:
        lines = measure(assay, platform)
    show("The job platform and its peers on the same servers (threads, concurrency 4)", lines)


def measure(assay: Installation, platform: Platform) -> list[Line]:
    redis_url = assay.stores.redis_url
    os.environ.update(BARE_BROKER=broker(f"{redis_url}?db=1").url, BARE_BACKEND=broker(f"{redis_url}?db=2").url)
    with platform.engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE plain_jobs (id text PRIMARY KEY, kind text, input jsonb)")
    return [
        publishing(redis_url),
        submitting(assay, platform),
        *submit_to_result(assay, platform),
        *draining(platform),
    ]


def publishing(redis_url: str) -> Line:
    """Return one notification by redis.asyncio against one ``apply_async``."""
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
    return at_most(
        "publishing, median, and bare Celery", asyncio.run(ours()) * us, statistics.median(theirs) * us, "us", 0.3
    )


def submitting(assay: Installation, platform: Platform) -> Line:
    """Return the accepted requests a second; workers are reported as present, but none takes the processor's time."""
    with platform.engine.begin() as connection:
        connection.execute(advertising.advertise("w", "execution", ["execute"], 4, "bench", {}))
        connection.exec_driver_sql("UPDATE workers SET seen_at = seen_at + interval '1 hour'")
    with assay.gateway() as port:
        ours = _load(port, post("/v1/jobs", BODY, assay.authorization))
    with assay.gateway("benchmarks.plain_gateway", **{name: os.environ[name] for name in _BARE}) as port:
        plain = _load(port, post("/v1/jobs", BODY))
    _empty_bare()
    return at_least("submits, 16 connections, and a plain gateway", ours.per_second, plain.per_second, "req/s", 1.5)


def submit_to_result(assay: Installation, platform: Platform) -> Iterator[Line]:
    """Yield one client that submits and waits for the result, again and again; alone, and next to a process of one
    core.
    """
    noop = bare_celery.task()
    _forget_jobs(platform)
    worker = platform.ready_worker()
    request = post("/v1/jobs", BODY, {**assay.authorization, "Prefer": "wait=10"})
    with assay.gateway() as port:
        before = _writes(assay)
        ours = _load(port, request, total=ROUND_TRIPS, connections=1, expect=200)
        commits, flushes = (now - then for now, then in zip(_writes(assay), before, strict=True))
        with _neighbour():
            beside = _load(port, request, total=ROUND_TRIPS, connections=1, expect=200)
        _draw(port, request, {"gateway": _listener(port), "worker": worker.pid})
    _stop_workers(platform)
    jobs = ROUND_TRIPS + min(ROUND_TRIPS, WARM)
    print(f"for each job, heartbeats included: {commits / jobs:.1f} commits, {flushes / jobs:.1f} flushes")
    with _bare_worker():
        noop.delay("warm").get(timeout=30)
        taken = []
        for _ in range(ROUND_TRIPS):
            began = time.perf_counter()
            noop.delay("x").get(timeout=30)
            taken.append(time.perf_counter() - began)
    bare = statistics.median(taken) * 1e3
    yield at_most("submit to result, median, and bare Celery", ours.median_ms, bare, "ms", 2.5)
    yield at_most("the same, next to a process of one core, and alone", beside.median_ms, ours.median_ms, "ms", 1.5)


def _writes(assay: Installation) -> tuple[int, int]:
    """Count the commits of the database and the flushes of its log. (Sessions report theirs within a second.)"""
    time.sleep(1.5)
    with psycopg.connect(assay.stores.database_url.replace("+psycopg", ""), autocommit=True) as connection:
        row = connection.execute(
            "SELECT (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()), "
            "(SELECT sum(fsyncs) FROM pg_stat_io WHERE object = 'wal' AND backend_type = 'client backend')"
        ).fetchone()
    assert row is not None
    return int(row[0]), int(row[1])


@contextmanager
def _neighbour() -> Iterator[None]:
    busy = subprocess.Popen([sys.executable, "-c", _BUSY])
    try:
        yield
    finally:
        busy.kill()
        busy.wait()


def _listener(port: int) -> int:
    """Return the process that listens on a port. Raises: LookupError."""
    for file in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"ASSAY_PORT={port}".encode() in file.read_bytes().split(b"\0"):
                return int(file.parent.name)
        except OSError:
            continue
    raise LookupError(port)


def _draw(port: int, request: bytes, processes: Mapping[str, int]) -> None:
    """Keep a flame graph of each process under the same load."""
    python = peer_python(PY_SPY)
    if python is None:
        print("no flame graphs: py-spy cannot be installed")
        return
    folder = python.parent.parent.parent / "platform"
    folder.mkdir(exist_ok=True)
    with ExitStack() as held:
        for name, pid in processes.items():
            words = ["record", "--pid", str(pid), "--duration", str(FLAME_SECONDS), "--gil"]
            command = [str(python.with_name("py-spy")), *words, "--output", str(folder / f"{name}.svg")]
            spy = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            held.callback(spy.wait)
        end = time.monotonic() + FLAME_SECONDS
        while time.monotonic() < end:
            drive(port, request, total=20, connections=1, expect=200)
    print(f"flame graphs: {folder}")


def draining(platform: Platform) -> Iterator[Line]:
    """Jobs a second out of a backlog, from a tenth to nine tenths of it."""
    noop = bare_celery.task()
    _forget_jobs(platform)
    for _ in range(BACKLOG):
        platform.submit("noop")
    platform.worker()
    assay = _rate(lambda: _count(platform, "SELECT count(*) FROM jobs WHERE state = 'succeeded'"))
    _stop_workers(platform)
    results = SyncRedis.from_url(f"{platform.stores.redis_url}?db=2")
    results.flushdb()
    for _ in range(BACKLOG):
        noop.delay("x")
    with _bare_worker():
        bare = _rate(lambda: int(results.dbsize()))
    yield at_least("jobs done of a backlog, and bare Celery", assay, bare, "jobs/s", 1.0)
    python = peer_python(PROCRASTINATE)
    if python is None:
        print("no row of procrastinate: it cannot be installed")
        return
    durable = _procrastinate(platform, python)
    yield at_least("jobs done of a backlog, and procrastinate", assay, durable, "jobs/s", 2.0)


def _procrastinate(platform: Platform, python: Path) -> float:
    """Return its jobs a second; its tables are in the same database."""
    url = platform.stores.database_url.replace("+psycopg", "")
    environment = {**os.environ, "PEER_DATABASE": url}
    command = [str(python), "-P", str(Path(__file__).with_name("procrastinate_peer.py"))]
    subprocess.run([*command, "defer", str(BACKLOG)], env=environment, check=True)
    worker = subprocess.Popen([*command, "work"], env=environment, stderr=subprocess.DEVNULL)
    try:
        return _rate(lambda: _count(platform, "SELECT count(*) FROM procrastinate_jobs WHERE status = 'succeeded'"))
    finally:
        worker.kill()
        worker.wait()


def _count(platform: Platform, query: str) -> int:
    with platform.engine.connect() as connection:
        return int(connection.exec_driver_sql(query).scalar_one())


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
    drive(port, request, total=min(total, WARM), connections=connections, expect=expect)  # warm
    return drive(port, request, total=total, connections=connections, expect=expect)


if __name__ == "__main__":
    main()
