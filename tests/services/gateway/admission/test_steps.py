"""While several tenants are served, none runs more than one step between two of another's."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Coroutine
from math import inf
from typing import Any

import pytest

from services.gateway.admission.steps import Steps


async def _steps(name: str, count: int, made: list[str]) -> str:
    for _ in range(count):
        made.append(name)
        await asyncio.sleep(0)
    return name


def _made(*requests: tuple[str, int]) -> list[str]:
    """Who made each step, of requests that begin together."""
    made: list[str] = []

    async def served() -> None:
        steps = Steps(inf)
        works = [steps.run(name, _steps(name, count, made)) for name, count in requests]
        assert await asyncio.gather(*works) == [name for name, _ in requests]

    asyncio.run(served())
    return made


def test_of_many_requests_of_one_caller_one_step_is_made_between_two_of_anothers() -> None:
    made = _made(("first", 1), *[("many", 20)] * 30, ("few", 20))
    numbers = [number for number, name in enumerate(made) if name == "few"]
    between = [after - before for before, after in itertools.pairwise(numbers)]
    assert max(between) <= 3  # 31 without slots
    assert made.count("many") == 600


def test_after_a_long_step_its_tenant_pauses_for_as_long_while_another_is_served() -> None:
    began: list[float] = []
    ended: list[float] = []

    async def computing() -> None:
        for _ in range(5):
            began.append(time.monotonic())
            until = time.thread_time() + 0.01
            while time.thread_time() < until:
                pass
            ended.append(time.monotonic())
            await asyncio.sleep(0)

    async def served() -> None:
        steps = Steps(inf)
        works: list[Coroutine[Any, Any, Any]] = [steps.run("few", _steps("few", 5, []))]
        await asyncio.gather(*works, *[steps.run("many", computing()) for _ in range(2)])

    asyncio.run(served())
    pauses = [after - before for before, after in zip(ended, began[1:], strict=False)]
    assert len(pauses) == 9
    assert min(pauses) > 0.009


def test_every_request_of_one_caller_alone_comes_to_its_end() -> None:
    assert _made(*[("alone", 5)] * 10) == ["alone"] * 50


def test_what_a_request_raises_is_raised_and_its_slot_is_freed() -> None:
    async def failing() -> None:
        await asyncio.sleep(0)
        raise LookupError("of the request")

    async def served() -> list[Any]:
        steps, made = Steps(inf), list[str]()
        works: list[Coroutine[Any, Any, Any]] = [steps.run("other", _steps("other", 9, made))]
        works += [steps.run("one", failing()) for _ in range(5)]
        works.append(steps.run("one", _steps("one", 9, made)))
        return await asyncio.gather(*works, return_exceptions=True)

    other, *failed, one = asyncio.run(served())
    assert (other, one) == ("other", "one")
    assert all(isinstance(error, LookupError) for error in failed)


def test_requests_that_are_cancelled_while_they_wait_keep_no_slot() -> None:
    async def served() -> str:
        steps, made = Steps(inf), list[str]()
        others = asyncio.ensure_future(steps.run("other", _steps("other", 1_000, made)))
        requests = [asyncio.ensure_future(steps.run("one", _steps("one", 1_000, made))) for _ in range(20)]
        for victim in requests:
            await asyncio.sleep(0)
            victim.cancel()
        ended = await asyncio.gather(*requests, return_exceptions=True)
        assert all(isinstance(error, asyncio.CancelledError) for error in ended)
        last = await steps.run("one", _steps("one", 3, made))
        others.cancel()
        return last

    assert asyncio.run(asyncio.wait_for(served(), 30)) == "one"


def test_a_request_learns_of_its_cancellation_and_may_clean_up() -> None:
    cleaned: list[str] = []

    async def cleaning() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleaned.append("yes")

    async def served() -> None:
        request = asyncio.ensure_future(Steps().run("one", cleaning()))
        await asyncio.sleep(0)
        request.cancel()
        with pytest.raises(asyncio.CancelledError):
            await request

    asyncio.run(served())
    assert cleaned == ["yes"]
