"""What somebody goes on doing beside a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread


@contextmanager
def repeated(act: Callable[[], object], faults: type[Exception]) -> Iterator[list[Exception]]:
    """Do it in a thread, again and again, until the block ends; what it raises of ``faults`` is kept."""
    over, kept = Event(), list[Exception]()

    def go_on() -> None:
        while not over.is_set():
            try:
                act()
            except faults as fault:
                kept.append(fault)

    beside = Thread(target=go_on)
    beside.start()
    try:
        yield kept
    finally:
        over.set()
        beside.join(30)
