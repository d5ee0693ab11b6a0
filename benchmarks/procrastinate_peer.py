"""Procrastinate, whose jobs are as durable as ours; runs in an environment of its own, without anything of Assay.

``python procrastinate_peer.py defer N | work``, with the database in ``PEER_DATABASE``.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import sys
from typing import Any

CONCURRENCY = 4


def _application() -> tuple[Any, Any]:
    """Return the application and its task that does nothing."""
    procrastinate: Any = importlib.import_module("procrastinate")  # not installed where the checks run
    connector = procrastinate.PsycopgConnector(conninfo=os.environ["PEER_DATABASE"], max_size=CONCURRENCY + 2)
    app = procrastinate.App(connector=connector)

    async def noop(value: str) -> str:
        return value

    return app, app.task(name="noop", queue="bench")(noop)


async def _defer(count: int) -> None:
    """Make the tables, and submit jobs."""
    app, noop = _application()
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        for number in range(count):
            await noop.defer_async(value=str(number))


async def _work() -> None:
    app, _ = _application()
    async with app.open_async():
        await app.run_worker_async(queues=["bench"], concurrency=CONCURRENCY, install_signal_handlers=False)


if __name__ == "__main__":
    asyncio.run(_defer(int(sys.argv[2])) if sys.argv[1] == "defer" else _work())
