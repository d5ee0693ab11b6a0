"""A tenant holds only its share of a resource, whatever it sends; others find a slot free."""

from __future__ import annotations

import asyncio
from math import inf

import pytest

from services.gateway.admission.slots import MAX_WAITING, Slots
from shared.errors import DatabaseUnavailable, TooManyRequests


async def _hold(slots: Slots, tenant: str, until: asyncio.Event, holding: list[str]) -> None:
    async with slots.hold(tenant):
        holding.append(tenant)
        await until.wait()
        holding.remove(tenant)


def _fail(waited: float) -> None:
    assert waited > 0
    raise DatabaseUnavailable("Postgres does not answer.")


async def _settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_one_tenant_has_only_its_slots_and_others_have_theirs() -> None:
    async def held() -> tuple[list[str], list[str]]:
        slots, until, holding = Slots("x", 3, alone=9, patient=3, several_seconds=inf), asyncio.Event(), list[str]()
        async with asyncio.TaskGroup() as group:
            for tenant in ["few", *["many"] * 10]:
                group.create_task(_hold(slots, tenant, until, holding))
            await _settled()
            most = sorted(holding)
            until.set()
        return most, holding

    most, left = asyncio.run(held())
    assert most == sorted(["many"] * 3 + ["few"])
    assert left == []


def test_a_tenant_alone_has_more_slots() -> None:
    async def held() -> int:
        slots, until, holding = Slots("x", 3, alone=9, patient=3, several_seconds=0), asyncio.Event(), list[str]()
        requests = [asyncio.ensure_future(_hold(slots, "one", until, holding)) for _ in range(12)]
        await _settled()
        count = len(holding)
        until.set()
        await asyncio.gather(*requests)
        return count

    assert asyncio.run(held()) == 9


def test_a_request_that_gives_up_waiting_keeps_no_slot() -> None:
    async def held() -> int:
        slots, until, holding = Slots("x", 2, patient=2), asyncio.Event(), list[str]()
        first = [asyncio.ensure_future(_hold(slots, "one", until, holding)) for _ in range(8)]
        await _settled()
        for request in first[2:5]:
            request.cancel()
        until.set()
        for request in first[5:]:  # some at the moment at which a slot is given to them
            request.cancel()
        await asyncio.gather(*first, return_exceptions=True)
        await _settled()
        again = asyncio.Event()
        requests = [asyncio.ensure_future(_hold(slots, "one", again, holding)) for _ in range(5)]
        await _settled()
        count = len(holding)
        again.set()
        await asyncio.gather(*requests)
        return count

    assert asyncio.run(held()) == 2


def test_a_request_that_has_waited_continues_while_its_tenant_holds_less_than_its_patient_limit() -> None:
    async def held() -> int:
        slots, until, holding = Slots("x", 1, alone=9, patient=4, several_seconds=inf), asyncio.Event(), list[str]()
        tenants = ["other", *["one"] * 9]
        requests = [asyncio.ensure_future(_hold(slots, tenant, until, holding)) for tenant in tenants]
        async with asyncio.timeout(30):
            while holding.count("one") < 4:  # noqa: ASYNC110 - slots notify no one
                await asyncio.sleep(0.01)
        await asyncio.sleep(0)
        count = holding.count("one")
        until.set()
        await asyncio.gather(*requests)
        assert holding == []
        return count

    assert asyncio.run(held()) == 4


def test_a_check_ends_the_wait() -> None:
    async def held() -> None:
        slots, until = Slots("x", 1, check=_fail), asyncio.Event()
        holder = asyncio.ensure_future(_hold(slots, "one", until, []))
        await _settled()
        try:
            async with slots.hold("one"):
                pass
        finally:
            until.set()
            await holder

    with pytest.raises(DatabaseUnavailable):
        asyncio.run(held())


def test_a_request_waits_for_a_limited_time() -> None:
    async def held() -> None:
        slots, until = Slots("table writers", 1, seconds=0.1), asyncio.Event()
        holder = asyncio.ensure_future(_hold(slots, "one", until, []))
        await _settled()
        try:
            async with slots.hold("one"):
                pass
        finally:
            until.set()
            await holder

    with pytest.raises(TooManyRequests, match="has 1 requests at the table writers already"):
        asyncio.run(held())


def test_so_many_requests_of_a_tenant_wait_and_the_next_one_is_refused() -> None:
    async def held() -> tuple[int, int]:
        slots, until, holding = Slots("x", 1), asyncio.Event(), list[str]()
        requests = [asyncio.ensure_future(_hold(slots, "one", until, holding)) for _ in range(MAX_WAITING + 4)]
        await _settled()
        requests.append(asyncio.ensure_future(_hold(slots, "other", until, holding)))
        await _settled()
        assert holding == ["one", "other"]
        until.set()
        ended = await asyncio.gather(*requests, return_exceptions=True)
        return ended.count(None), sum(isinstance(each, TooManyRequests) for each in ended)

    assert asyncio.run(held()) == (MAX_WAITING + 2, 3)


def test_a_slot_is_taken_at_once_or_not_at_all() -> None:
    slots = Slots("streams", 0)
    mine, other = slots.of("one"), slots.of("other")
    assert [slots.take(mine, 2) for _ in range(3)] == [True, True, False]
    assert slots.take(other, 1)
    slots.free(mine)
    assert slots.take(mine, 2)
    assert not slots.take(slots.of("one"), 2), "another reference to the same share"


@pytest.mark.parametrize(("weight", "expected"), [(1, 2), (2, 4), (9, 6)])
def test_a_weight_gives_a_tenant_more_slots_while_others_are_served(weight: int, expected: int) -> None:
    async def held() -> int:
        slots = Slots("x", 2, alone=9, patient=6, several_seconds=inf)
        count, until = 0, asyncio.Event()

        async def hold() -> None:
            nonlocal count
            async with slots.hold("heavy", weight):
                count += 1
                await until.wait()

        requests = [asyncio.ensure_future(hold()) for _ in range(8)]
        await _settled()
        at_once = count
        until.set()
        await asyncio.gather(*requests)
        return at_once

    assert asyncio.run(held()) == expected
