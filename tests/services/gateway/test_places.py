"""A tenant holds only so many connections to the record, whatever it sends; others find one free."""

from __future__ import annotations

import asyncio
from math import inf

import pytest

from services.gateway.places import EVERYONE, Places
from shared.errors import DatabaseUnavailable


async def _hold(places: Places, tenant: str, until: asyncio.Event, holding: list[str]) -> None:
    async with places.of(tenant):
        holding.append(tenant)
        await until.wait()
        holding.remove(tenant)


async def _settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_one_tenant_has_only_its_places_and_others_have_theirs() -> None:
    async def held() -> tuple[list[str], list[str]]:
        places, until, holding = Places(9, 3, 3, lambda waited: False, inf), asyncio.Event(), list[str]()
        async with asyncio.TaskGroup() as group:
            for tenant in ["few", *["many"] * 10, EVERYONE, *[EVERYONE] * 9]:
                group.create_task(_hold(places, tenant, until, holding))
            await _settled()
            most = sorted(holding)
            until.set()
        return most, holding

    most, left = asyncio.run(held())
    assert most == sorted(["many"] * 3 + ["few"] + [EVERYONE] * 10)
    assert left == []


def test_a_tenant_alone_has_more_places() -> None:
    async def held() -> int:
        places, until, holding = Places(9, 3, 3, lambda waited: False, 0), asyncio.Event(), list[str]()
        requests = [asyncio.ensure_future(_hold(places, "one", until, holding)) for _ in range(12)]
        await _settled()
        count = len(holding)
        until.set()
        await asyncio.gather(*requests)
        return count

    assert asyncio.run(held()) == 9


def test_who_gives_up_waiting_takes_no_place_along() -> None:
    async def held() -> int:
        places, until, holding = Places(2, 2, 2, lambda waited: False), asyncio.Event(), list[str]()
        first = [asyncio.ensure_future(_hold(places, "one", until, holding)) for _ in range(8)]
        await _settled()
        for request in first[2:5]:
            request.cancel()
        until.set()
        for request in first[5:]:  # some in the moment in which a place is given to them
            request.cancel()
        await asyncio.gather(*first, return_exceptions=True)
        await _settled()
        again = asyncio.Event()
        requests = [asyncio.ensure_future(_hold(places, "one", again, holding)) for _ in range(5)]
        await _settled()
        count = len(holding)
        again.set()
        await asyncio.gather(*requests)
        return count

    assert asyncio.run(held()) == 2


def test_who_has_waited_goes_on_while_it_holds_less_than_the_most() -> None:
    async def held() -> int:
        places, until, holding = Places(9, 1, 4, lambda waited: False, inf), asyncio.Event(), list[str]()
        tenants = ["other", *["one"] * 9]
        requests = [asyncio.ensure_future(_hold(places, tenant, until, holding)) for tenant in tenants]
        async with asyncio.timeout(30):
            while holding.count("one") < 4:  # noqa: ASYNC110 - nobody is told of places
                await asyncio.sleep(0.01)
        await asyncio.sleep(0)
        count = holding.count("one")
        until.set()
        await asyncio.gather(*requests)
        assert holding == []
        return count

    assert asyncio.run(held()) == 4


def test_while_postgres_answers_nobody_nobody_waits_for_a_place() -> None:
    async def held() -> None:
        places, until = Places(1, 1, 1, lambda waited: True), asyncio.Event()
        holder = asyncio.ensure_future(_hold(places, "one", until, []))
        await _settled()
        try:
            async with places.of("one"):
                pass
        finally:
            until.set()
            await holder

    with pytest.raises(DatabaseUnavailable):
        asyncio.run(held())
