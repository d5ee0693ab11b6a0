"""Celery's transport on Redis, as a worker uses it."""

from __future__ import annotations

import kombu.transport
import pytest
from kombu.entity import Queue

from shared.jobs.celery_app import celery_app
from shared.settings import CelerySettings


def test_a_channel_closes_with_a_notification_in_hand_after_its_connection_is_gone(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Celery does so when a Sentinel names another primary; an error in it would end the worker."""
    monkeypatch.setattr(kombu.transport, "_transport_cache", {})  # another test may have had Celery's own before
    taken: list[object] = []
    connection = celery_app(CelerySettings(redis_url=redis_url), "test").connection_for_read()
    channel, queue = connection.default_channel, Queue("execute", routing_key="execute")  # type: ignore[no-untyped-call]
    connection.Producer().publish({}, routing_key="execute", declare=[queue])
    connection.Consumer(queue, callbacks=[lambda _, message: taken.append(message)]).consume()
    while not taken:
        connection.drain_events(timeout=10)
    connection.transport.client = None  # as kombu leaves it when it has given up a connection
    channel.close()
    assert channel.closed
