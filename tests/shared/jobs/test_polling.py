"""Jobs run while Redis is away, as many at once as there are slots, and none is polled for while Redis answers."""

from __future__ import annotations

import threading
from queue import Empty, SimpleQueue

from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from services.host.installation import free_port
from shared.jobs.delivery.polling import Poller
from tests.support.wait import until


class Answers(Redis):
    """A Redis that is there; ``asked`` counts its calls."""

    asked = 0

    def ping(self, **_: object) -> bool:
        self.asked += 1
        return True


def test_jobs_run_while_redis_is_away() -> None:
    waiting: SimpleQueue[int] = SimpleQueue()
    for number in range(6):
        waiting.put(number)
    running, most, done, guard = 0, 0, 0, threading.Condition()

    def answer(kind: str) -> bool:
        nonlocal running, most, done
        assert kind == "execute"
        try:
            waiting.get_nowait()
        except Empty:
            return False
        with guard:
            running += 1
            most = max(most, running)
            guard.notify_all()
            guard.wait_for(lambda: most > 1, timeout=10)
            running -= 1
            done += 1
        return True

    nobody = Redis(port=free_port("127.0.0.1", 0), socket_connect_timeout=1, retry=Retry(NoBackoff(), 0))
    poller = Poller(nobody, ["execute"], 2, lambda: 0, answer, every_seconds=0.01)
    poller.start()
    until(lambda: done == 6, "six jobs")
    poller.stop()
    nobody.close()
    assert most == 2


def test_nothing_is_polled_while_redis_answers() -> None:
    redis = Answers()
    asked: list[str] = []

    def answer(kind: str) -> bool:
        asked.append(kind)
        return False

    poller = Poller(redis, ["execute"], 2, lambda: 0, answer, every_seconds=0.001)
    poller.start()
    until(lambda: redis.asked > 3, "three looks at Redis")
    poller.stop()
    assert asked == []
