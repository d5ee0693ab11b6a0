"""Where health is kept: in Redis for all workers together, in the process while Redis cannot be reached."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from typing import Protocol

from shared.redis_urls import client

log = logging.getLogger(__name__)

_EXPIRY = 7200  #: seconds without a change after which a value is dropped
_PAUSE = 2.0  #: seconds for which a failed Redis is not queried

_SWAP = """
local old = redis.call('GET', KEYS[1])
if (old or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
return 1
"""


class States(Protocol):
    """A store of small values with compare-and-swap."""

    def read(self, keys: Sequence[str]) -> list[bytes]:
        """Return the values; empty for missing keys."""
        ...

    def swap(self, key: str, old: bytes, new: bytes) -> bool:
        """Write ``new`` if the value is still ``old``."""
        ...


class LocalStates:
    """In this process."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def read(self, keys: Sequence[str]) -> list[bytes]:
        with self._lock:
            return [self._values.get(key, b"") for key in keys]

    def swap(self, key: str, old: bytes, new: bytes) -> bool:
        with self._lock:
            if self._values.get(key, b"") != old:
                return False
            self._values[key] = new
            return True

    def close(self) -> None:
        """Do nothing: there is nothing to close."""

    def put(self, key: str, value: bytes) -> None:
        with self._lock:
            self._values[key] = value


class SharedStates:
    """In Redis, mirrored into this process; an unreachable Redis costs one short time-out every two seconds."""

    def __init__(self, url: str) -> None:
        import redis  # noqa: PLC0415  # not loaded where health is kept in the process

        self._redis = client(url, socket_timeout=0.25, socket_connect_timeout=0.25, retry=None)
        self._faults = (redis.RedisError, OSError)
        self._swap = self._redis.register_script(_SWAP)
        self._local = LocalStates()
        self._paused_until = 0.0

    def read(self, keys: Sequence[str]) -> list[bytes]:
        if time.monotonic() >= self._paused_until:
            try:
                answer = self._redis.mget([_name(key) for key in keys])
            except self._faults as error:
                self._pause(error)
            else:
                values = [value or b"" for value in answer if value is None or isinstance(value, bytes)]
                for key, value in zip(keys, values, strict=True):
                    self._local.put(key, value)
                return values
        return self._local.read(keys)

    def swap(self, key: str, old: bytes, new: bytes) -> bool:
        if time.monotonic() >= self._paused_until:
            try:
                swapped = bool(self._swap(keys=[_name(key)], args=[old, new, _EXPIRY]))
            except self._faults as error:
                self._pause(error)
            else:
                if swapped:
                    self._local.put(key, new)
                return swapped
        return self._local.swap(key, old, new)

    def close(self) -> None:
        self._redis.close()

    def _pause(self, error: Exception) -> None:
        self._paused_until = time.monotonic() + _PAUSE
        log.warning("Redis cannot be reached, provider health is kept per process: %s", type(error).__name__)


def _name(key: str) -> str:
    return f"assay:llm:{key}"
