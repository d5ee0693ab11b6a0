"""Bare Celery, as most people run it: the peer that the platform is measured against, on the same Redis."""

from __future__ import annotations

import os
from typing import Any

from celery import Celery

_TASK = "bare.noop"


def _noop(value: str) -> str:
    return value


def application() -> Any:  # noqa: ANN401 - celery has no types
    """Return the app, with its broker and results where the variables say (they are set when the servers run)."""
    app = Celery("bare", broker=os.environ["BARE_BROKER"], backend=os.environ["BARE_BACKEND"])
    app.conf.update(task_default_queue="bare", worker_prefetch_multiplier=1, broker_connection_retry_on_startup=True)
    app.task(name=_TASK)(_noop)
    return app


def task() -> Any:  # noqa: ANN401
    """Return the task that does nothing, ready for ``delay``."""
    return application().tasks[_TASK]


def main() -> None:
    """A worker as most people run it, with all of its defaults but the chatter between workers."""
    options = ["--pool=threads", "--concurrency=4", "--loglevel=ERROR", "--without-gossip", "--without-mingle"]
    application().worker_main(["--quiet", "worker", *options])


if __name__ == "__main__":
    main()
