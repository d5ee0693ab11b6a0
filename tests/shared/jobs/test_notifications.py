"""The notification that is written by hand is the message that Celery itself would have sent."""

from __future__ import annotations

import base64
import json
from typing import cast

from celery import Celery
from redis import Redis

from shared.jobs.celery_app import celery_app
from shared.jobs.delivery.notifications import TASK, message, queue_name
from shared.redis_urls import broker
from shared.settings import CelerySettings


def test_the_message_is_what_celery_sends(redis_url: str) -> None:
    app: Celery = celery_app(CelerySettings(redis_url=redis_url))
    redis = Redis.from_url(redis_url)
    with app.connection_for_write() as connection:
        app.send_task(TASK, ["job-1"], task_id="job-1", queue="execute", ignore_result=True, connection=connection)
    theirs = json.loads(cast("bytes", redis.lpop(queue_name("execute"))))
    ours = json.loads(message("execute", "job-1"))

    assert json.loads(base64.b64decode(ours["body"])) == json.loads(base64.b64decode(theirs["body"]))
    assert ours["content-type"] == theirs["content-type"]
    assert ours["content-encoding"] == theirs["content-encoding"]
    assert ours["headers"].keys() == theirs["headers"].keys()
    for name in ("lang", "task", "id", "root_id", "retries", "timelimit", "eta", "expires", "ignore_result"):
        assert ours["headers"][name] == theirs["headers"][name], name
    assert ours["properties"].keys() == theirs["properties"].keys()
    for name in ("correlation_id", "delivery_mode", "priority", "body_encoding", "delivery_info"):
        assert ours["properties"][name] == theirs["properties"][name], name


def test_every_message_has_a_delivery_tag_of_its_own() -> None:
    first, second = (json.loads(message("flow", "x"))["properties"]["delivery_tag"] for _ in range(2))
    assert first != second


def test_a_unix_socket_is_spelled_as_kombu_wants_it() -> None:
    assert broker("unix:///run/r.sock?db=3").url == "redis+socket:///run/r.sock?virtual_host=3"
    assert broker("redis://host:6379/1").url == "redis://host:6379/1"
