"""Combined calls of many threads: requests that arrive during a call go together with the next one.

A single request is sent at once, without waiting for others (as databases do with group commits).
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Request = TypeVar("Request")
Answer = TypeVar("Answer")


class CombinedCalls(Generic[Request, Answer]):
    """``make`` answers up to ``most`` requests in order; its exception is raised for all of them.

    A request waits at most ``patience`` seconds for the current call: then the waiting ones make a parallel call.
    """

    def __init__(
        self, make: Callable[[Sequence[Request]], Sequence[Answer]], most: int, patience: float = 0.02
    ) -> None:
        self._make = make
        self._most = most
        self._patience = patience
        self.waiting: deque[_Call[Request, Answer]] = deque()
        self._lock = threading.Lock()
        self._under_way = 0

    def __call__(self, request: Request) -> Answer:
        call = _Call[Request, Answer](request)
        with self._lock:
            self.waiting.append(call)
            if not self._under_way:
                self._begin(call)
        if not call.together and not call.woken.wait(self._patience):
            with self._lock:
                if call in self.waiting:
                    self._begin(call)
        if not call.together:
            call.woken.wait()
        if call.together:
            self._lead(call.together)
        if call.fault is not None:
            raise call.fault
        return call.answers[0]

    def _begin(self, call: _Call[Request, Answer]) -> None:
        """Have its thread make one for all that wait."""
        self.waiting.remove(call)
        call.together = [call, *self._next(self._most - 1)]
        self._under_way += 1

    def _next(self, most: int) -> Sequence[_Call[Request, Answer]]:
        return [self.waiting.popleft() for _ in range(min(len(self.waiting), most))]

    def _lead(self, together: Sequence[_Call[Request, Answer]]) -> None:
        """Make the call for these; then the first of those that wait makes the next one."""
        try:
            answers = self._make([call.request for call in together])
            for call, answer in zip(together, answers, strict=True):
                call.answers = [answer]
        except BaseException as fault:
            for call in together:
                call.fault = fault
        finally:
            with self._lock:
                following = self._next(self._most)
                self._under_way -= not following
            if following:
                following[0].together = following
                following[0].woken.set()
            for call in together[1:]:
                call.woken.set()


class _Call(Generic[Request, Answer]):
    def __init__(self, request: Request) -> None:
        self.request = request
        self.together: Sequence[_Call[Request, Answer]] = ()  #: which this one's thread makes
        self.answers: Sequence[Answer] = ()  #: one, once there is one
        self.fault: BaseException | None = None
        self.woken = threading.Event()
