"""What the clients do differently: here, without blocking the event loop."""

from __future__ import annotations

from typing import BinaryIO

import anyio


async def sleep(seconds: float) -> None:
    await anyio.sleep(seconds)


async def read(stream: BinaryIO, size: int) -> bytes:
    return await anyio.to_thread.run_sync(stream.read, size)
