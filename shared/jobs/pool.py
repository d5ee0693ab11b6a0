"""Celery's thread pool, with one thing added: a thread that becomes free says so.

With prefetch disabled Celery stops listening while every thread is busy, and looks again only when its event loop
happens to wake; a pipe wakes it the moment a task ends. Without it a backlog drains at a few jobs a second.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from celery.concurrency.thread import ApplyResult, TaskPool


class WakingPool(TaskPool):
    """``worker_pool = "shared.jobs.pool:WakingPool"``."""

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
            with suppress(BlockingIOError):  # it is full of wake-ups already
                os.write(self._pipe[1], b"!")

    def _drain(self) -> None:
        if self._pipe is not None:
            with suppress(BlockingIOError):
                os.read(self._pipe[0], 4096)
