"""Notifications that a thread of the worker sends."""

from __future__ import annotations

import json
import os
import threading

import pytest
from redis import Redis

from shared.jobs.notifications import EVENTS_CHANNEL, queue_name
from shared.jobs.notifier import Notifier
from tests.support.wait import until


def test_events_and_work_are_sent_in_order_and_all_of_them_before_the_end(redis_url: str) -> None:
    kind = f"test{os.getpid()}"
    with Redis.from_url(redis_url) as redis, redis.pubsub(ignore_subscribe_messages=True) as heard:
        heard.subscribe(EVENTS_CHANNEL)
        until(lambda: redis.pubsub_numsub(EVENTS_CHANNEL)[0][1] > 0, "the subscription")
        notifier = Notifier(redis)
        for number in range(300):
            notifier.event(f"{kind}-{number}", ended=number % 2 == 1)
        notifier.work(kind, "next")
        notifier.close()
        notifier.event(f"{kind}-late")

        events: list[str] = []

        def all_there() -> bool:
            while (message := heard.get_message(timeout=0.01)) is not None:
                events.append(message["data"].decode())
            return sum(event.startswith(kind) for event in events) >= 300

        until(all_there, "the events")
        mine = [event for event in events if event.startswith(kind)]
        assert mine == [f"{kind}-{number}{' ended' if number % 2 else ''}" for number in range(300)]
        sent = redis.rpop(queue_name(kind))
        assert isinstance(sent, bytes)
        assert json.loads(sent)["headers"]["id"] == "next"


@pytest.mark.slow
def test_a_redis_that_hangs_makes_nobody_wait() -> None:
    hangs, answered = threading.Event(), threading.Event()

    class Hanging(Redis):
        def pipeline(self, transaction: bool = True, shard_hint: object = None):  # type: ignore[no-untyped-def]
            hangs.set()
            answered.wait(60)
            return super().pipeline(transaction, shard_hint)

    with Hanging(port=1, socket_connect_timeout=0.1) as redis:
        notifier = Notifier(redis)
        notifier.event("first")
        assert hangs.wait(60)
        for number in range(20_000):
            notifier.event(str(number))
        assert not answered.is_set()  # 20,000 calls came back while it hung
        answered.set()
        notifier.close()
