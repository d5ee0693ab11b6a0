"""Slots of an endpoint's model, shared by all workers: calls above the limit wait, and tenants get slots in turn.

Waiting calls are ordered by fair queueing: a tenant's next call comes one round after its last one, so that a tenant
with many calls delays the others by one call each round, however many it has.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Lock
from typing import Any

from shared.redis_urls import client

log = logging.getLogger(__name__)

_ALIVE = 3.0  #: seconds after which a caller that does not come back has died
_HELD = 60.0  #: seconds, in addition to the call's own limit, for which a dead worker holds a slot
_MIN_PAUSE, _MAX_PAUSE = 0.01, 1.0  #: seconds between two tries of the first and of the last in the queue
_ELSEWHERE_PAUSE = 0.1  #: seconds between two checks of other servers of the same model
_WOKEN = 2  #: of this process's waiting calls, the first ones, try at once when a slot becomes free
_REDIS_PAUSE = 2.0  #: seconds without a try after Redis has failed

#: Takes a slot (-1), or returns how many calls are before this one. KEYS: held, waiting, seen, rounds.
_TAKE = """
local time = redis.call('TIME')
local now, id, tenant, limit = tonumber(time[1]) + tonumber(time[2]) / 1e6, ARGV[1], ARGV[2], tonumber(ARGV[3])
local function keep(answer)
  for _, key in ipairs(KEYS) do redis.call('EXPIRE', key, 7200) end
  return answer
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now, 'LIMIT', 0, 100)) do
  redis.call('ZREM', KEYS[2], gone)
  redis.call('ZREM', KEYS[3], gone)
end
local turn = redis.call('ZSCORE', KEYS[2], id)
if not turn then
  local round = tonumber(redis.call('HGET', KEYS[4], '') or '0')
  local last = tonumber(redis.call('HGET', KEYS[4], tenant) or '0')
  turn = math.max(round, last) + 1
  redis.call('ZADD', KEYS[2], turn, id)
  redis.call('HSET', KEYS[4], tenant, turn)
end
redis.call('ZADD', KEYS[3], now + tonumber(ARGV[5]), id)
local rank = redis.call('ZRANK', KEYS[2], id)
if rank >= limit - redis.call('ZCARD', KEYS[1]) then return keep(rank) end
redis.call('ZREM', KEYS[2], id)
redis.call('ZREM', KEYS[3], id)
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[4]), id)
redis.call('HSET', KEYS[4], '', turn)
if redis.call('ZCARD', KEYS[2]) == 0 then redis.call('DEL', KEYS[4]) end
return keep(-1)
"""

#: The number of calls that hold or wait for a slot, without those whose worker has died. KEYS: held, seen.
_LOAD = """
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1e6
return redis.call('ZCOUNT', KEYS[1], now, '+inf') + redis.call('ZCOUNT', KEYS[2], now, '+inf')
"""


class SlotTaken(Exception):
    """No slot became free in time."""


class SlotElsewhere(Exception):
    """A slot of another server of the same model is free now; ``waited``: seconds spent waiting for this one."""

    def __init__(self, waited: float) -> None:
        super().__init__()
        self.waited = waited


@dataclass
class Waiting:
    """The waiting calls of this process, each with the number of calls before it at its last try."""

    calls: dict[str, dict[str, tuple[int, Event]]] = field(default_factory=lambda: defaultdict(dict))
    lock: Lock = field(default_factory=Lock)

    def wait(self, key: str, id: str, before: int, seconds: float) -> None:
        """Wait the given seconds, or until a slot becomes free."""
        woken = Event()
        with self.lock:
            self.calls[key][id] = (before, woken)
        woken.wait(seconds)
        with self.lock:
            self.calls[key].pop(id, None)

    def wake(self, key: str) -> None:
        with self.lock:
            for _, woken in sorted(self.calls[key].values(), key=lambda call: call[0])[:_WOKEN]:
                woken.set()


@dataclass(eq=False)
class CallSlots:
    """Slots of one process: where there is no Redis, and while it cannot be reached."""

    held: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    waiting: dict[str, dict[str, tuple[float, int]]] = field(default_factory=lambda: defaultdict(dict))
    rounds: dict[str, dict[str, float]] = field(default_factory=lambda: defaultdict(dict))
    lock: Lock = field(default_factory=Lock)
    arrived: int = 0
    waiting_here: Waiting = field(default_factory=Waiting)

    def take(self, key: str, id: str, tenant: str, limit: int, seconds: float) -> int:
        """Take a slot for at most the given seconds and return -1, or return the number of calls ahead of this one."""
        with self.lock:
            held, waiting, rounds = self.held[key], self.waiting[key], self.rounds[key]
            if id not in waiting:
                self.arrived += 1
                rounds[tenant] = max(rounds.get("", 0), rounds.get(tenant, 0)) + 1
                waiting[id] = (rounds[tenant], self.arrived)
            rank = sorted(waiting.values()).index(waiting[id])
            if rank >= limit - len(held):
                return rank
            rounds[""] = waiting.pop(id)[0]
            held.add(id)
            if not waiting:
                rounds.clear()
            return -1

    def free(self, key: str, id: str) -> None:
        with self.lock:
            self.held[key].discard(id)
            self.waiting[key].pop(id, None)

    def loads(self, keys: Sequence[str]) -> list[int]:
        """Return for each key how many calls hold or wait for a slot."""
        with self.lock:
            return [len(self.held[key]) + len(self.waiting[key]) for key in keys]

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


class SharedCallSlots(CallSlots):
    """Slots shared by all workers, in Redis."""

    def __init__(self, url: str) -> None:
        super().__init__()
        import redis  # noqa: PLC0415

        self._redis: Any = client(url, socket_timeout=0.5, socket_connect_timeout=0.5, retry=None)
        self._faults = (redis.RedisError, OSError)
        self._take = self._redis.register_script(_TAKE)
        self._load = self._redis.register_script(_LOAD)
        self._paused_until = 0.0

    def take(self, key: str, id: str, tenant: str, limit: int, seconds: float) -> int:
        if time.monotonic() >= self._paused_until:
            try:
                return int(self._take(keys=_keys(key), args=[id, tenant, limit, seconds + _HELD, _ALIVE]))
            except self._faults as error:
                self._pause(error)
        return super().take(key, id, tenant, limit, seconds)

    def free(self, key: str, id: str) -> None:
        super().free(key, id)
        try:
            with self._redis.pipeline(transaction=False) as pipe:
                for each in _keys(key)[:3]:
                    pipe.zrem(each, id)
                pipe.execute()
        except self._faults:
            pass  # it ends by itself

    def loads(self, keys: Sequence[str]) -> list[int]:
        if time.monotonic() >= self._paused_until:
            try:
                with self._redis.pipeline(transaction=False) as pipe:
                    for key in keys:
                        self._load(keys=_keys(key)[0:3:2], client=pipe)
                    return [int(load) for load in pipe.execute()]
            except self._faults as error:
                self._pause(error)
        return super().loads(keys)

    def _pause(self, error: Exception) -> None:
        self._paused_until = time.monotonic() + _REDIS_PAUSE
        log.warning("Redis cannot be reached, calls are counted per process: %s", type(error).__name__)

    def close(self) -> None:
        self._redis.close()


@contextmanager
def slot(
    slots: CallSlots,
    key: str,
    tenant: str,
    limit: int,
    *,
    held: float,
    until: float,
    check: Callable[[], None],
    elsewhere: Callable[[], bool] | None = None,
) -> Iterator[float]:
    """Hold a slot for at most ``held`` seconds; gives the seconds spent waiting for it.

    ``until``: monotonic. ``check`` is called while the call waits. ``elsewhere`` returns whether another server of the
    same model has a free slot. Raises: SlotTaken, SlotElsewhere; what ``check`` raises.
    """
    id, began = f"{tenant}:{uuid.uuid4().hex}", time.monotonic()
    try:
        while (before := slots.take(key, id, tenant, limit, held)) >= 0:
            check()
            if time.monotonic() >= until:
                raise SlotTaken
            if elsewhere is not None and elsewhere():
                raise SlotElsewhere(time.monotonic() - began)
            pause = _MAX_PAUSE if elsewhere is None else _ELSEWHERE_PAUSE
            slots.waiting_here.wait(key, id, before, min(_MIN_PAUSE * 2 ** min(before, 10), pause))
        yield time.monotonic() - began
    finally:
        slots.free(key, id)
        slots.waiting_here.wake(key)


def _keys(key: str) -> list[str]:
    name = f"assay:llm:slots:{{{key}}}"
    return [f"{name}:held", f"{name}:waiting", f"{name}:seen", f"{name}:rounds"]
