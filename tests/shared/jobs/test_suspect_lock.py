"""A suspect runs alone: it waits for the jobs that run, and no new one begins meanwhile."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

from shared.jobs.running.suspect_lock import SuspectLock
from tests.support.wait import until


def test_a_suspect_waits_for_the_others_and_lets_none_begin() -> None:
    lock = SuspectLock()
    running, leave, alone, end, later = (Event() for _ in range(5))

    def ordinary(began: Event, until_set: Event) -> None:
        with lock.shared():
            began.set()
            assert until_set.wait(30)

    def suspect() -> bool:
        with lock.shared(), lock.exclusive(Event()) as free:
            alone.set()
            assert end.wait(30)
            return free

    with ThreadPoolExecutor(3) as threads:
        first = threads.submit(ordinary, running, leave)
        assert running.wait(30)
        suspected = threads.submit(suspect)
        until(lambda: lock.suspects, "the suspect that waits")
        second = threads.submit(ordinary, later, leave)
        assert not alone.is_set()
        leave.set()
        assert alone.wait(30)
        assert not later.is_set()
        end.set()
        assert suspected.result(30)
        second.result(30)
        first.result(30)


def test_a_suspect_that_is_cancelled_does_not_wait() -> None:
    lock = SuspectLock()
    running, leave, cancelled = Event(), Event(), Event()
    cancelled.set()

    def ordinary() -> None:
        with lock.shared():
            running.set()
            assert leave.wait(30)

    with ThreadPoolExecutor(1) as threads:
        beside = threads.submit(ordinary)
        assert running.wait(30)
        with lock.shared(), lock.exclusive(cancelled) as free:
            assert not free
        leave.set()
        beside.result(30)
    with lock.shared(), lock.exclusive(Event()) as free:
        assert free
