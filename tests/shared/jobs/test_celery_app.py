"""Celery's own command finds the application and talks to the workers of a running installation."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from shared.jobs.celery_app import celery_app
from shared.settings import CelerySettings, StoreSettings
from tests.support.platform import ROOT, Platform, wait_for
from tests.support.wait import until


@pytest.fixture
def platform(stores: StoreSettings) -> Iterator[Platform]:
    started = Platform(stores, lease_seconds=20)
    yield started
    started.stop()


def _celery(platform: Platform, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "celery", "-A", "shared.jobs.celery_app", *words]
    environment = {**os.environ, **platform.environment}
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)


def _json(done: subprocess.CompletedProcess[str]) -> Any:
    """Return the JSON that ``celery`` prints first."""
    return json.JSONDecoder().raw_decode(done.stdout)[0]


class OneWorker:
    """Celery's command with nothing but the variables that the worker has, about that worker alone.

    It returns as soon as the worker has answered; without a name it would wait for a second, whoever answers.
    """

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

        def answered() -> Any:
            done = _celery(platform, "status", "--json")
            return _json(done) if done.returncode == 0 else None

        [(self.name, self.status)] = until(answered, "the worker answers", 60).items()

    def said(self, *words: str) -> subprocess.CompletedProcess[str]:
        return _celery(self._platform, *words, "--destination", self.name, "--timeout", "60")

    def inspect(self, command: str) -> Any:
        done = self.said("inspect", command, "--json")
        assert done.returncode == 0, done.stderr
        return _json(done)[self.name]


@pytest.mark.slow(seconds=12)
def test_the_celery_command_inspects_a_running_worker(platform: Platform) -> None:
    worker = platform.ready_worker()
    celery = OneWorker(platform)
    until(lambda: celery.inspect("active") == [], "the worker is idle", 60)  # else its task takes the job
    job = platform.submit("sleep 60")
    wait_for(lambda: platform.job(job)["state"] == "running")

    assert celery.name.startswith(f"execution-{worker.pid}@")
    assert celery.status == {"ok": "pong"}
    assert [queue["name"] for queue in celery.inspect("active_queues")] == ["execute"]
    [task] = celery.inspect("active")
    assert (task["id"], task["name"], task["delivery_info"]["routing_key"]) == (job, "assay.run", "execute")
    stats = celery.inspect("stats")
    assert (stats["pid"], stats["prefetch_count"], stats["pool"]["max-concurrency"]) == (worker.pid, 4, 4)
    assert stats["pool"]["implementation"] == "celery.concurrency.thread:TaskPool"


@pytest.mark.slow(seconds=12)
def test_remote_control_stops_no_worker_and_shows_no_password(platform: Platform) -> None:
    worker = platform.ready_worker()
    celery = OneWorker(platform)
    for command in ("shutdown", "pool_shrink", "cancel_consumer execute", "revoke job-1", "rate_limit assay.run 1/h"):
        assert "KeyError" in celery.said("control", *command.split()).stdout, command
    for command in ("conf", "report", "memdump", "objgraph"):
        assert "KeyError" in celery.said("inspect", command).stdout, command
    assert worker.poll() is None
    assert "broker" not in celery.inspect("stats")
    assert platform.wait(platform.submit("noop"))["state"] == "succeeded"


def test_an_operators_settings_of_celery_are_added_to_ours() -> None:
    options = {"worker_send_task_events": True, "broker_transport_options": {"visibility_timeout": 7200}}
    app: Any = celery_app(CelerySettings(redis_url="redis://host:6379/1", assay_celery=options))
    assert app.conf.worker_send_task_events
    assert app.conf.task_acks_late
    transport = app.conf.broker_transport_options
    assert (transport["visibility_timeout"], transport["global_keyprefix"]) == (7200, "assay:")


_UNREADABLE = (
    "not json", "", "[]", "5", "null", '"text"', "{}", '{"body": 5}', '{"properties": []}', '{"properties": {}}',
    '{"body": "!", "properties": {"delivery_tag": "x"}}',
    '{"body": "!", "headers": {}, "properties": {"delivery_tag": "x", "delivery_info": {}}}',
    '{"body": "e30=", "headers": {"task": "assay.run"}, "content-type": "application/x-python-serialize", '
    '"content-encoding": "binary", "properties": {"delivery_tag": "x", "delivery_info": {}, '
    '"body_encoding": "base64"}}',
    "[" * 100_000, '{"properties": ' * 3000, "\ud800",
)  # fmt: skip


@pytest.mark.slow(seconds=12)
def test_a_message_that_cannot_be_read_ends_no_worker(platform: Platform) -> None:
    worker = platform.ready_worker()
    for text in _UNREADABLE:
        platform.redis.lpush("assay:execute", text.encode("utf-8", "surrogatepass"))
    platform.redis.lpush("assay:execute", b"\xff\xfe")
    platform.redis.hset("assay:execution:unacked", mapping={"a": "not json", "b": "[1]", "c": "[5, 5, 5]"})
    platform.redis.zadd("assay:execution:unacked_index", {"a": 1, "b": 1, "c": 1})
    platform.wait_all([platform.submit("effect") for _ in range(3)])
    assert worker.poll() is None
    assert platform.redis.llen("assay:execute") == 0
