"""One reconciler leads; its tasks do not hold each other up; lost notifications are counted and sent again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

import pytest
from redis import Redis
from sqlalchemy import Engine, text

from services.reconciler.reconciler import PeriodicTask, Reconciler
from services.reconciler.recovery import SPARE, notify_again
from shared.db import connect
from shared.jobs.delivery.notifications import queue_name
from shared.jobs.record import submission
from shared.jobs.upkeep.maintenance import LEADER_LOCK
from tests.support.rows import job_row
from tests.support.wait import until


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    engine = connect(database_url)
    yield engine
    engine.dispose()


@contextmanager
def running(engine: Engine, *tasks: PeriodicTask, say_ready: Callable[[], None] = lambda: None) -> Iterator[None]:
    stop = Event()
    reconciler = Reconciler(engine, tasks, say_ready, tick_seconds=0.01, retry_seconds=0.02)
    thread = Thread(target=reconciler.run, args=(stop,))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(30)


@pytest.mark.slow
def test_a_task_that_fails_or_hangs_does_not_hold_up_the_others(engine: Engine) -> None:
    release, again = Event(), Event()
    runs: list[int] = []

    def fail() -> None:
        raise ZeroDivisionError

    def work() -> None:
        runs.append(1)
        if len(runs) > 1:
            again.set()

    tasks = [PeriodicTask("fails", 0, fail), PeriodicTask("hangs", 0, lambda: release.wait(60))]
    with running(engine, *tasks, PeriodicTask("works", 0, work)):
        assert again.wait(30)
        release.set()


@pytest.mark.slow
def test_the_second_one_leads_when_the_first_has_ended(engine: Engine) -> None:
    led, follows = Event(), Event()
    with running(engine, PeriodicTask("first", 0, led.set)):
        assert led.wait(30)
        attempts: list[int] = []
        with running(engine, PeriodicTask("second", 0, follows.set), say_ready=lambda: attempts.append(1)):
            until(lambda: len(attempts) > 2, "the second one tries to lead")
            assert not follows.is_set()
    with running(engine, PeriodicTask("second", 0, follows.set)):
        assert follows.wait(30)


@pytest.mark.slow
def test_the_leader_holds_no_snapshot(engine: Engine) -> None:
    """It would hold up vacuum, and an index that is built concurrently until another one leads."""
    rounds: list[int] = []
    held = text(
        """
        SELECT a.backend_xmin FROM pg_stat_activity a JOIN pg_locks l USING (pid)
        WHERE l.locktype = 'advisory' AND l.objid::bigint = :lock
          AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
        """
    ).bindparams(lock=LEADER_LOCK & 0xFFFFFFFF)
    with running(engine, PeriodicTask("works", 0, int), say_ready=lambda: rounds.append(1)):
        until(lambda: len(rounds) > 12, "the leader executes so many statements that psycopg would prepare them")
        with engine.connect() as connection:
            assert connection.execute(held).scalars().all() == [None]


def test_only_missing_notifications_are_sent(engine: Engine, redis_url: str) -> None:
    queue = queue_name("execute")
    with Redis.from_url(redis_url) as redis, engine.begin() as connection:
        for _ in range(3):
            connection.execute(submission.submit(job_row()))
        connection.execute(text("UPDATE jobs SET notified_at = notified_at - interval '1 h'"))
        connection.commit()
        redis.lpush(queue, "one that is still queued")
        assert notify_again(engine, redis) == 2
        assert redis.llen(queue) == 3
        assert notify_again(engine, redis) == 0  # those two were notified just now, and as many messages as jobs wait


def test_surplus_notifications_are_dropped(engine: Engine, redis_url: str) -> None:
    """One notification may have served several jobs."""
    queue = queue_name("execute")
    with Redis.from_url(redis_url) as redis:
        redis.delete(queue)
        with engine.begin() as connection:
            connection.execute(text("TRUNCATE jobs CASCADE"))
        redis.lpush(queue, *range(SPARE + 50))
        notify_again(engine, redis)
        assert redis.lrange(queue, -1, -1) == [b"50"]  # the oldest are gone
        redis.delete(queue)
