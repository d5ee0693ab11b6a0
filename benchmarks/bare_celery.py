"""Bare Celery, as most people run it: the peer that the platform is measured against, on the same Redis."""

from __future__ import annotations

import os
from typing import Any

from celery import Celery

app: Any = Celery("bare", broker=os.environ["BARE_BROKER"], backend=os.environ["BARE_BACKEND"])
app.conf.update(task_default_queue="bare", worker_prefetch_multiplier=1, broker_connection_retry_on_startup=True)


def _noop(value: str) -> str:
    return value


noop: Any = app.task(name="bare.noop")(_noop)
