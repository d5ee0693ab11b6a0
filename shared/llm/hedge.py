"""Hedging: when the first provider is slow, the next one is called too; the first answer wins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, Queue
from threading import Event, Thread
from typing import Literal, Protocol, TypeVar

from shared.llm.chat import ChatReply

Candidate = TypeVar("Candidate")
Asked_contra = TypeVar("Asked_contra", contravariant=True)
Hedge = Literal["hedge"]


class Ask(Protocol[Asked_contra]):
    """Calls a candidate; None when it failed. The event is set when its answer is no longer needed."""

    def __call__(
        self, candidate: Asked_contra, abandoned: Event | None = None, reason: Hedge | None = None
    ) -> ChatReply | None: ...


@dataclass
class _Running:
    """The calls under way; setting a call's event makes it stop."""

    answers: Queue[ChatReply | Exception | None] = field(default_factory=Queue)
    abandoned: list[Event] = field(default_factory=list)
    failed: int = 0

    @property
    def idle(self) -> bool:
        return self.failed == len(self.abandoned)

    def start(self, ask: Callable[[Event], ChatReply | None]) -> None:
        event = Event()
        self.abandoned.append(event)

        def run() -> None:
            try:
                self.answers.put(ask(event))
            except Exception as error:
                self.answers.put(error)

        Thread(target=run, name="llm-hedge", daemon=True).start()

    def next_answer(self, timeout: float | None) -> ChatReply | None:
        """Return an answer, or None when a call failed. Raises: Empty; what a call raised."""
        answer = self.answers.get(timeout=timeout)
        if isinstance(answer, Exception):
            raise answer
        self.failed += answer is None
        return answer


def race(candidates: Iterator[Candidate], ask: Ask[Candidate], after: float) -> ChatReply | None:
    """Return the first answer; each further candidate starts ``after`` seconds later, or when all earlier ones have
    failed.
    """
    running, late, exhausted = _Running(), False, False
    try:
        while True:
            if not exhausted and (late or running.idle):
                following = next(candidates, None)
                exhausted = following is None
                if following is not None:
                    running.start(partial(ask, following, reason="hedge" if late else None))
            if exhausted and running.idle:
                return None
            try:
                answer = running.next_answer(None if exhausted else after)
            except Empty:
                late = True
            else:
                late = False
                if answer is not None:
                    return answer
    finally:
        for event in running.abandoned:
            event.set()
