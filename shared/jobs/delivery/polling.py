"""Polling of Postgres, at long intervals, while Redis is down and no notification arrives."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor

import structlog
from redis import Redis
from redis.exceptions import RedisError
from sqlalchemy.exc import SQLAlchemyError

from shared.db import reason_of

log = structlog.get_logger(__name__)

_EVERY_SECONDS = 1.0


class Poller:
    """Runs waiting jobs in its own threads, as many at once as the worker has free slots.

    ``answer`` claims and runs one job of a kind, and returns False when there was none; ``running`` returns how many
    jobs
    the worker runs.
    """

    def __init__(
        self,
        redis: Redis,
        kinds: Iterable[str],
        concurrency: int,
        running: Callable[[], int],
        answer: Callable[[str], bool],
        every_seconds: float = _EVERY_SECONDS,
    ) -> None:
        self._redis = redis
        self._kinds = sorted(kinds)
        self._concurrency = concurrency
        self._running = running
        self._answer = answer
        self._every_seconds = every_seconds
        self._stop = threading.Event()
        self._is_away = False
        self._threads = ThreadPoolExecutor(concurrency, thread_name_prefix="polled")
        self._under_way: set[Future[None]] = set()
        self._thread = threading.Thread(target=self._poll, name="poller", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Take no more jobs; those that run are let alone."""
        self._stop.set()
        self._thread.join(timeout=5)
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _poll(self) -> None:
        while not self._stop.wait(self._every_seconds):
            try:
                self._redis.ping()
                self._is_away = False
            except RedisError as fault:
                if not self._is_away:
                    log.warning("redis_away_polling_postgres", reason=type(fault).__name__)
                self._is_away = True
                self._fill()

    def _fill(self) -> None:
        self._under_way = {each for each in self._under_way if not each.done()}
        free = self._concurrency - max(self._running(), len(self._under_way))
        for _ in range(free):
            self._under_way.add(self._threads.submit(self._drain))

    def _drain(self) -> None:
        """Run jobs one after the other until none waits, or Redis is back."""
        try:
            while not self._stop.is_set() and self._is_away and any(self._answer(kind) for kind in self._kinds):
                pass
        except SQLAlchemyError as fault:  # the next look comes soon
            log.warning("poll_failed", reason=reason_of(fault))
