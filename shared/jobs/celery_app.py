"""Celery, wrapped once: it carries notifications and nothing else."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from celery import Celery
from celery.concurrency.thread import ApplyResult, TaskPool

from shared.jobs.notifications import queue_name
from shared.redis_urls import broker


def celery_app(redis_url: str, concurrency: int) -> Celery:
    """An app whose worker takes notifications: one for each free thread, acknowledged early, without results."""
    carried_by = broker(redis_url)
    app = Celery("assay", broker=carried_by.url)
    app.conf.update(
        **carried_by.settings,
        accept_content=["json"],
        task_serializer="json",
        task_protocol=2,
        # Results, retries and redelivery are kept in Postgres: a notification may be lost.
        task_ignore_result=True,
        task_store_errors_even_if_ignored=False,
        task_acks_late=False,
        task_default_queue=queue_name("none"),
        worker_pool="shared.jobs.celery_app:WakingPool",
        worker_concurrency=concurrency,
        worker_prefetch_multiplier=1,
        worker_disable_prefetch=True,
        worker_send_task_events=False,
        worker_enable_remote_control=False,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_connection_timeout=2,
        broker_transport_options={
            "visibility_timeout": 3600,
            "health_check_interval": 5,
            "socket_keepalive": True,
            "socket_timeout": 5,
            "socket_connect_timeout": 2,
            "retry_on_timeout": True,
            **carried_by.transport,
        },
    )
    return app


def arguments(kinds: Sequence[str], name: str) -> list[str]:
    """The command line of a worker that listens for these kinds; workers do not talk to each other."""
    queues = ",".join(queue_name(kind) for kind in kinds)
    return [
        "--quiet",
        "worker",
        f"--queues={queues}",
        f"--hostname={name}",
        "--loglevel=WARNING",
        "--without-gossip",
        "--without-mingle",
        "--without-heartbeat",
    ]


class WakingPool(TaskPool):
    """Celery's thread pool, with one addition: a thread that becomes free wakes the event loop.

    With prefetch disabled Celery stops listening while every thread is busy, and looks again only when its event loop
    happens to wake; a pipe wakes it the moment a task ends. Without it a backlog drains at a few jobs a second.
    """

    _pipe: tuple[int, int] | None = None

    def register_with_event_loop(self, hub: Any) -> None:  # noqa: ANN401 - kombu has no types
        """Called by Celery whenever its event loop starts, after a lost connection too."""
        if self._pipe is None:
            self._pipe = os.pipe()
            for end in self._pipe:
                os.set_blocking(end, False)
        hub.add_reader(self._pipe[0], self._drain)

    def on_apply(self, *args: Any, **options: Any) -> ApplyResult:  # noqa: ANN401
        result = super().on_apply(*args, **options)
        result.f.add_done_callback(self._wake)
        return result

    def _wake(self, _: object) -> None:
        if self._pipe is not None:
            with suppress(BlockingIOError):  # the pipe is full: the loop will wake anyway
                os.write(self._pipe[1], b"!")

    def _drain(self) -> None:
        if self._pipe is not None:
            with suppress(BlockingIOError):
                os.read(self._pipe[0], 4096)
