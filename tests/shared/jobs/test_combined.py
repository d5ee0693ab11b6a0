"""Calls that come while one is under way are made together, each with its own answer, and none waits for company."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event

import pytest

from shared.jobs.running.combined import CombinedCalls
from tests.support.wait import until


@dataclass
class Server:
    """Doubles numbers; the calls with a 0 among their requests last until they are let go."""

    calls: list[list[int]] = field(default_factory=list)
    go: Event = field(default_factory=Event)

    def double(self, numbers: Sequence[int]) -> Sequence[int]:
        self.calls.append(list(numbers))
        if 0 in numbers:
            assert self.go.wait(60)
        if 13 in numbers:
            raise ValueError("13")
        return [number * 2 for number in numbers]


def _asked(threads: ThreadPoolExecutor, combined: CombinedCalls[int, int], *numbers: int) -> list[Future[int]]:
    """Start each call in a thread of its own, in this order."""
    asked = []
    for number in numbers:
        waiting = len(combined.waiting)
        asked.append(threads.submit(combined, number))
        until(lambda waiting=waiting: len(combined.waiting) > waiting, "it waits")  # type: ignore[misc]
    return asked


def test_a_call_alone_is_made_at_once() -> None:
    server = Server()
    combined = CombinedCalls(server.double, 10)
    assert [combined(number) for number in (1, 2)] == [2, 4]
    assert server.calls == [[1], [2]]


def test_those_that_come_meanwhile_go_together_and_no_more_than_may() -> None:
    server = Server()
    combined = CombinedCalls(server.double, 3, 60)
    with ThreadPoolExecutor(8) as threads:
        first = threads.submit(combined, 0)
        until(lambda: server.calls == [[0]], "the first is under way")
        others = _asked(threads, combined, 1, 2, 3, 4, 5)
        server.go.set()
        assert [first.result(60), *(each.result(60) for each in others)] == [0, 2, 4, 6, 8, 10]
    assert server.calls == [[0], [1, 2, 3], [4, 5]]
    assert combined(6) == 12


def test_a_fault_is_of_those_that_went_together_and_of_no_other() -> None:
    server = Server()
    combined = CombinedCalls(server.double, 2, 60)
    with ThreadPoolExecutor(8) as threads:
        first = threads.submit(combined, 0)
        until(lambda: server.calls == [[0]], "the first is under way")
        others = _asked(threads, combined, 1, 13, 2)
        server.go.set()
        assert first.result(60) == 0
        for each in others[:2]:
            with pytest.raises(ValueError, match="13"):
                each.result(60)
        assert others[2].result(60) == 4


def test_a_call_that_lasts_holds_up_no_other() -> None:
    server = Server()
    combined = CombinedCalls(server.double, 10)
    with ThreadPoolExecutor(8) as threads:
        first = threads.submit(combined, 0)
        until(lambda: server.calls == [[0]], "the first is under way")
        assert [threads.submit(combined, number).result(60) for number in (1, 2)] == [2, 4]
        assert not first.done()
        server.go.set()
        assert first.result(60) == 0


def test_many_threads_get_each_its_own_answer() -> None:
    combined = CombinedCalls(Server().double, 4, 0.0001)
    with ThreadPoolExecutor(16) as threads:
        assert list(threads.map(combined, range(14, 4000))) == [number * 2 for number in range(14, 4000)]
