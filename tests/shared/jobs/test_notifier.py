"""Notifications of a worker, from many threads at once."""

from __future__ import annotations

import json
import os
import threading
from typing import cast

from redis import Redis

from shared.jobs.delivery.notifications import EVENTS_CHANNEL, queue_name
from shared.jobs.delivery.notifier import Notifier
from tests.support.wait import until


def test_events_and_work_are_sent_in_order(redis_url: str) -> None:
    kind = f"test{os.getpid()}"
    with Redis.from_url(redis_url) as redis, redis.pubsub(ignore_subscribe_messages=True) as heard:
        heard.subscribe(EVENTS_CHANNEL)
        until(lambda: redis.pubsub_numsub(EVENTS_CHANNEL)[0][1] > 0, "the subscription")
        notifier = Notifier(redis)
        for number in range(300):
            notifier.event(f"{kind}-{number}", ended=number % 2 == 1)
        notifier.work(kind, "next")

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


def test_a_start_is_sent_unless_the_end_comes_first(redis_url: str) -> None:
    name = f"start{os.getpid()}"
    with Redis.from_url(redis_url) as redis, redis.pubsub(ignore_subscribe_messages=True) as heard:
        heard.subscribe(EVENTS_CHANNEL)
        until(lambda: redis.pubsub_numsub(EVENTS_CHANNEL)[0][1] > 0, "the subscription")
        notifier = Notifier(redis)
        notifier.started(f"{name}-short")
        notifier.event(f"{name}-short", ended=True)
        notifier.started(f"{name}-long")
        events: list[str] = []

        def has_begun() -> bool:
            while (message := heard.get_message(timeout=0.01)) is not None:
                events.append(message["data"].decode())
            return f"{name}-long" in events

        until(has_begun, "the start of the long job")
        assert [event for event in events if event.startswith(name)] == [f"{name}-short ended", f"{name}-long"]


def test_who_comes_while_one_is_sent_does_not_wait_and_goes_with_the_next() -> None:
    """Redis hangs in the first round trip; 20,000 calls come back meanwhile, and what is left goes in few more."""
    began, goes_on = threading.Event(), threading.Event()
    rounds: list[int] = []

    class Pipeline:
        def __init__(self) -> None:
            self.size = 0

        def publish(self, *_: object) -> None:
            self.size += 1

        def execute(self) -> None:
            rounds.append(self.size)
            began.set()
            assert goes_on.wait(60)

    class Hanging:
        def pipeline(self, *, transaction: bool) -> Pipeline:
            return Pipeline()

    notifier = Notifier(cast(Redis, Hanging()))
    first = threading.Thread(target=notifier.event, args=("first",))
    first.start()
    assert began.wait(60)
    for number in range(20_000):
        notifier.event(str(number))
    goes_on.set()
    first.join(60)
    assert rounds == [1, *[500] * 20], "the oldest are dropped"


def test_a_redis_that_is_away_is_no_error() -> None:
    with Redis(port=1, socket_connect_timeout=0.1) as redis:
        notifier = Notifier(redis)
        notifier.event("one")
        notifier.work("execute", "one")
