"""An endpoint's slots are shared by all workers: no call times out while it waits, and tenants come in turn."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from redis import Redis

from shared import db
from shared.contracts.models import EndpointInput
from shared.errors import JobCancelled
from shared.llm.chat import ChatRequest, ProviderAttempt
from shared.llm.layer import LlmLayer
from shared.llm.ledger import Owner
from shared.llm.settings import CallSettings, ProviderSettings
from shared.llm.slots import CallSlots, SharedCallSlots, SlotTaken, slot
from shared.loop import Budget
from tests.shared.llm.support import HELLO, ask
from tests.support.scripted import ScriptedLlm
from tests.support.wait import until


@pytest.fixture(params=["local", "shared"])
def slots(request: pytest.FixtureRequest, redis_url: str) -> Iterator[CallSlots]:
    made = CallSlots() if request.param == "local" else SharedCallSlots(redis_url)
    yield made
    made.close()


def key(request: pytest.FixtureRequest) -> str:
    return str(request.node.name)


def test_as_many_hold_a_slot_as_there_are(slots: CallSlots, request: pytest.FixtureRequest) -> None:
    assert [slots.take(key(request), str(n), "t", 2, 9) for n in range(4)] == [-1, -1, 0, 1]
    slots.free(key(request), "0")
    assert slots.take(key(request), "3", "t", 2, 9) == 1, "the other one came first"
    assert slots.take(key(request), "2", "t", 2, 9) == -1


def test_tenants_come_in_turn_whoever_asks_more(slots: CallSlots, request: pytest.FixtureRequest) -> None:
    name = key(request)
    assert slots.take(name, "held", "x", 1, 9) == -1
    waiting = [("busy", f"busy-{n}") for n in range(6)] + [("calm", f"calm-{n}") for n in range(2)]
    for tenant, id in waiting:
        slots.take(name, id, tenant, 1, 9)
    order, holder = [], "held"
    while waiting:
        slots.free(name, holder)
        holder = next(id for tenant, id in waiting if slots.take(name, id, tenant, 1, 9) == -1)
        order.append(holder)
        waiting = [each for each in waiting if each[1] != holder]
    places = [order.index("calm-0"), order.index("calm-1")]
    assert places[0] <= 1
    assert places[1] <= 3


def test_a_slot_that_is_waited_for_in_vain_is_given_up(slots: CallSlots, request: pytest.FixtureRequest) -> None:
    name = key(request)
    slots.take(name, "held", "x", 1, 9)
    with (
        pytest.raises(SlotTaken),
        slot(slots, name, "t", 1, held=9, until=time.monotonic() + 0.1, check=lambda: None),
    ):
        raise AssertionError("it was taken")
    slots.free(name, "held")
    assert slots.take(name, "next", "u", 1, 9) == -1, "the one that gave up stands before nobody"


def test_the_slot_of_a_worker_that_died_is_free_again(redis_url: str, request: pytest.FixtureRequest) -> None:
    slots = SharedCallSlots(redis_url)
    try:
        slots.take(key(request), "dead", "t", 1, -60)  # held until now, by a worker that is gone
        assert slots.take(key(request), "next", "u", 1, 9) == -1
    finally:
        slots.close()


@pytest.fixture
def one_slot(scripted_llm: ScriptedLlm, database_url: str, redis_url: str) -> Iterator[tuple[LlmLayer, LlmLayer]]:
    """Two processes' layers with an endpoint that answers one call at a time."""
    engines = [db.connect(database_url, 8) for _ in range(2)]
    calls = CallSettings(private_endpoints=True)
    layers = [LlmLayer(ProviderSettings({}), calls, engine, redis_url) for engine in engines]
    layers[0].endpoints.put("gpu1", EndpointInput(url=scripted_llm.base_url("openai"), concurrency=1, total=2), None)
    until(lambda: "gpu1" in layers[1].endpoints, "the other process")
    yield layers[0], layers[1]
    layers[0].endpoints.remove("gpu1")
    for layer, engine in zip(layers, engines, strict=True):
        layer.close()
        engine.dispose()


@pytest.mark.slow(seconds=4)
def test_two_hundred_calls_of_twenty_tenants_share_one_slot(
    one_slot: tuple[LlmLayer, LlmLayer], scripted_llm: ScriptedLlm
) -> None:
    """Each call may take two seconds on the server; the last of them waits for three before it is sent."""
    served = {"kind": "llama.cpp", "models": ["m"], "slots": 1}
    scripted_llm.play({"reply": "ok"}, latency_ms=15, server=served)
    started = threading.Barrier(40, timeout=60)

    def run(number: int) -> list[tuple[str, object]]:
        tenant = f"tenant-{number % 20}"
        outcomes: list[tuple[str, object]] = []
        started.wait()
        for count in range(5):
            owner = Owner(tenant, f"{tenant}-{number}-{count}")
            asked = ask(one_slot[number % 2], "gpu1/m", owner=owner, budget=Budget(seconds=300))
            outcomes += [(tenant, outcome) for (outcome,) in asked.attempts("outcome")]
        return outcomes

    with ThreadPoolExecutor(40) as pool:
        outcomes = [each for part in pool.map(run, range(40)) for each in part]
    assert Counter(outcome for _, outcome in outcomes) == {"ok": 200}, "nobody was timed out"
    assert set(Counter(tenant for tenant, _ in outcomes).values()) == {10}
    times = [each["at"] for each in scripted_llm.requests()]
    assert all(later - earlier >= 0.0135 for earlier, later in pairwise(times)), "one at a time, so none waited there"


@pytest.mark.slow
def test_cancelling_frees_the_slot_and_the_time_in_the_queue_is_told(
    one_slot: tuple[LlmLayer, LlmLayer], scripted_llm: ScriptedLlm
) -> None:
    scripted_llm.play({"times": 1, "fault": "hang"}, {"reply": "ok"}, server={"models": ["m"]})
    enough = threading.Event()
    attempts: list[float | None] = []

    def hold() -> None:
        ask(one_slot[0], "gpu1/m", cancelled=enough.is_set, budget=Budget(), fails=JobCancelled)

    holder = threading.Thread(target=hold)
    holder.start()
    until(scripted_llm.requests, "the first call")

    def kept(attempt: ProviderAttempt) -> None:
        attempts.append(attempt.queued)

    def follow() -> None:
        owner = Owner("other", "job")
        job = one_slot[1].for_job(owner, Budget(seconds=60), selector=("gpu1/m",), on_attempt=kept)
        job.complete(ChatRequest("flows.edit", HELLO))

    follower = threading.Thread(target=follow)
    follower.start()
    until(lambda: any(one_slot[1]._slots.waiting_here.calls.values()), "the second call waits")
    began = time.monotonic()
    assert len(scripted_llm.requests()) == 1  # while it waits nothing is sent
    waited = time.monotonic() - began
    enough.set()
    holder.join(20)
    follower.join(20)
    assert len(scripted_llm.requests()) == 2
    assert attempts[0] is not None
    assert attempts[0] >= waited


def test_nothing_is_left_in_redis_but_what_expires(
    one_slot: tuple[LlmLayer, LlmLayer], scripted_llm: ScriptedLlm, redis_url: str
) -> None:
    scripted_llm.play({"reply": "ok"}, server={"models": ["m"]})
    ask(one_slot[0], "gpu1/m")
    with Redis.from_url(redis_url) as redis:
        names = list(redis.scan_iter("assay:llm:slots:*"))
        assert all(0 < redis.ttl(name) <= 7200 for name in names)


def test_the_load_is_what_holds_and_what_waits(slots: CallSlots, request: pytest.FixtureRequest) -> None:
    busy, idle = f"{key(request)}-busy", f"{key(request)}-idle"
    for number in range(3):
        slots.take(busy, str(number), "t", 2, 9)
    assert slots.loads([busy, idle]) == [3, 0]
    slots.free(busy, "2")
    slots.free(busy, "0")
    assert slots.loads([idle, busy]) == [0, 1]


def test_the_dead_are_no_load(redis_url: str, request: pytest.FixtureRequest) -> None:
    slots = SharedCallSlots(redis_url)
    try:
        slots.take(key(request), "dead", "t", 1, -60)  # held until now, by a worker that is gone
        assert slots.loads([key(request)]) == [0]
    finally:
        slots.close()
