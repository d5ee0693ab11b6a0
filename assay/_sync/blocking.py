"""What the clients do differently: here, the thread waits."""

from __future__ import annotations

import time
from typing import BinaryIO


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def read(stream: BinaryIO, size: int) -> bytes:
    return stream.read(size)
