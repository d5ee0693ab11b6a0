"""Turns on the event loop: while several callers are served, each in turn makes one step of one of its requests.

A request is a sequence of steps between which it waits. The event loop makes the steps that are ready in the order in
which they became so; whoever sends many requests at once would have that many made between two of anybody else's.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Coroutine, Generator
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

Result = TypeVar("Result")

#: A single caller needs no turns.
_SEVERAL_SECONDS = 1.0


class _Caller:
    """One caller's place: whether a step is being made, or is to be, and what waits for the next."""

    def __init__(self) -> None:
        self.has_turn = False
        self.waiting: deque[asyncio.Future[None]] = deque()

    def step_ended(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let the next of the caller's steps be made, in the next iteration of the loop at the earliest."""
        if not self._grant():
            loop.call_soon(self._end_turn)

    def _end_turn(self) -> None:
        if not self._grant():
            self.has_turn = False

    def _grant(self) -> bool:
        while self.waiting:
            turn = self.waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return True
        return False


class Turns:
    """The callers of one event loop; after the last change of the caller several count as served for some seconds."""

    def __init__(self, several_seconds: float = _SEVERAL_SECONDS) -> None:
        self._several_seconds = several_seconds
        self._callers: WeakValueDictionary[str, _Caller] = WeakValueDictionary()
        self._last: _Caller | None = None
        self._several_until = 0.0

    async def take(self, caller: str, work: Coroutine[Any, Any, Result]) -> Result:
        """Its result, after steps that are made when it is the caller's turn."""
        return await _InTurns(self, self._callers.setdefault(caller, _Caller()), work)

    def needed(self, caller: _Caller) -> bool:
        """Whether somebody else has made a step within the last second."""
        now = time.monotonic()
        if caller is not self._last:
            self._last, self._several_until = caller, now + self._several_seconds
        return now < self._several_until


class _InTurns(Generic[Result]):
    """Awaits what a coroutine awaits, and goes on with it in turns."""

    def __init__(self, turns: Turns, caller: _Caller, work: Coroutine[Any, Any, Result]) -> None:
        self._turns = turns
        self._caller = caller
        self._work = work

    def __await__(self) -> Generator[Any, None, Result]:
        loop, caller = asyncio.get_running_loop(), self._caller
        error: BaseException | None = None
        while True:
            has_turn = False
            if error is None and self._turns.needed(caller):
                try:
                    yield from self._turn(loop)
                    has_turn = True
                except BaseException as raised:  # the request is cancelled
                    error = raised
            try:
                awaited = self._work.send(None) if error is None else self._work.throw(error)
            except StopIteration as end:
                result: Result = end.value
                return result
            finally:
                if has_turn:
                    caller.step_ended(loop)
            error = None
            try:
                yield awaited
            except BaseException as raised:
                error = raised

    def _turn(self, loop: asyncio.AbstractEventLoop) -> Generator[Any, None, None]:
        """Wait for the caller's turn. Raises: CancelledError, and then the turn is not the caller's."""
        caller = self._caller
        if not caller.has_turn:
            caller.has_turn = True
            return
        turn: asyncio.Future[None] = loop.create_future()
        caller.waiting.append(turn)
        try:
            yield from turn
        except BaseException:
            if turn.done() and not turn.cancelled():
                caller.step_ended(loop)
            raise
