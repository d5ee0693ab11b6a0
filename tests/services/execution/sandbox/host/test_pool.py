"""What a pool keeps ready: containers that a test makes, and a clock that it turns."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import cast

import pytest

from services.execution.sandbox.host import pool as module
from services.execution.sandbox.host.container import Container
from services.execution.sandbox.host.pool import Pool
from tests.support.wait import until

_MAX_AGE = 600.0


class Clock:
    """``time`` as the pool sees it."""

    ahead = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead


class MadeContainer:
    alive = prewarmed = True

    def __init__(self, language: str, clock: Clock) -> None:
        self.spec, self.created_at = SimpleNamespace(name=language), clock.monotonic()

    def close(self) -> None:
        self.alive = False


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


@pytest.fixture
def pool(clock: Clock) -> Iterator[Pool]:
    pool = Pool(
        lambda language: cast("Container", MadeContainer(language, clock)),
        {"python": 2, "r": 1},
        _MAX_AGE,
        on_demand=["r"],
    )
    upkeep = threading.Thread(target=pool.keep, args=[lambda: True])
    upkeep.start()
    yield pool
    pool.close()
    upkeep.join()


def test_a_language_on_demand_is_kept_from_its_first_use_until_nobody_asks(pool: Pool, clock: Clock) -> None:
    assert pool.wait_full(60)
    assert pool.fill.languages == {"python": (2, 2), "r": (0, 0)}

    assert pool.take("r").alive
    until(lambda: pool.fill.languages["r"] == (1, 1), "another is ready for the next", 60)

    clock.ahead = _MAX_AGE * 1.5
    pool.wake()
    until(lambda: pool.fill.languages == {"python": (2, 2), "r": (0, 0)}, "only Python is kept", 60)


def test_one_that_is_used_again_and_again_stays(pool: Pool, clock: Clock) -> None:
    for _ in range(3):
        clock.ahead += _MAX_AGE * 0.75
        assert pool.take("r").alive
        until(lambda: pool.fill.languages["r"] == (1, 1), "another is ready for the next", 60)
