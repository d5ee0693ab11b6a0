"""Workers share what they know of providers through Redis, and get along without it."""

from __future__ import annotations

import threading
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from services.host.redis import Redis
from shared.llm.layer import LlmLayer
from shared.llm.ledger import Owner
from shared.loop import Budget
from tests.shared.llm.support import ask, layer
from tests.support.scripted import ScriptedLlm
from tests.support.wait import until

PACED = ("groq/paced", "cerebras/paced")
FALLING_OVER = ({"when": {"provider": "groq"}, "fault": "server_error"}, {"reply": "ok"})


def test_two_workers_share_a_tripped_breaker(scripted_llm: ScriptedLlm, redis_url: str) -> None:
    limits: dict[str, Any] = {"redis_url": redis_url, "breaker_failures": 2, "breaker_cooldown_seconds": 60}
    with (
        layer(scripted_llm, ("groq", "cerebras"), None, **limits) as one,
        layer(scripted_llm, ("groq", "cerebras"), None, **limits) as other,
    ):
        scripted_llm.play(*FALLING_OVER)
        ask(one)
        ask(one)
        assert len(scripted_llm.requests("groq")) == 2
        ask(other)
        assert len(scripted_llm.requests("groq")) == 2, "the other one knows"
        assert {each.name: each.state for each in other.providers()}["groq"] == "open"


@pytest.mark.slow
def test_two_workers_probe_once_in_each_cooldown_between_them(scripted_llm: ScriptedLlm, redis_url: str) -> None:
    limits: dict[str, Any] = {"redis_url": redis_url, "breaker_failures": 1, "breaker_cooldown_seconds": 0.5}
    with (
        layer(scripted_llm, ("groq", "cerebras"), None, **limits) as one,
        layer(scripted_llm, ("groq", "cerebras"), None, **limits) as other,
    ):
        scripted_llm.play(*FALLING_OVER)
        ask(one, *PACED)
        enough = threading.Event()
        threads = [threading.Thread(target=_ask_on, args=(llm, enough)) for llm in (one, other) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            until(lambda: len(scripted_llm.requests("groq")) > 3, "three probes")
        finally:
            enough.set()
            for thread in threads:
                thread.join()
        times = [request["at"] for request in scripted_llm.requests("groq")]
        assert all(later - earlier >= 0.5 for earlier, later in pairwise(times))


def test_a_rate_limit_that_one_worker_met_parks_the_provider_for_all(scripted_llm: ScriptedLlm, redis_url: str) -> None:
    with (
        layer(scripted_llm, ("groq", "cerebras"), redis_url=redis_url) as one,
        layer(scripted_llm, ("groq", "cerebras"), redis_url=redis_url) as other,
    ):
        limit = {"kind": "rate_limit", "headers": {"retry-after": "60"}}
        model = "groq/shared-park", "cerebras/shared-park"
        scripted_llm.play({"when": {"provider": "groq"}, "fault": limit}, {"reply": "ok"})
        ask(one, *model)
        ask(other, *model)
        assert len(scripted_llm.requests("groq")) == 1


def test_a_killed_redis_changes_nothing_but_the_sharing(scripted_llm: ScriptedLlm, tmp_path: Path) -> None:
    with Redis(tmp_path / "redis", durable=False) as redis:
        limits: dict[str, Any] = {"redis_url": redis.url, "breaker_failures": 2, "breaker_cooldown_seconds": 60}
        with layer(scripted_llm, ("groq", "cerebras"), None, **limits) as llm:
            scripted_llm.play(*FALLING_OVER)
            assert ask(llm).attempts("provider", "outcome") == [("groq", "server_error"), ("cerebras", "ok")]
            redis.kill()
            for _ in range(4):
                assert ask(llm).reply is not None
            assert len(scripted_llm.requests("groq")) == 2, "it still counts, by itself"
            assert {each.name: each.state for each in llm.providers()}["groq"] == "open"


def test_a_redis_that_was_never_there_is_done_without(scripted_llm: ScriptedLlm) -> None:
    with layer(scripted_llm, ("groq",), redis_url="redis://127.0.0.1:1/0") as llm:
        scripted_llm.play({"reply": "ok"})
        ask(llm)
        assert ask(llm).reply is not None


def test_a_new_key_or_address_starts_with_good_health(scripted_llm: ScriptedLlm, redis_url: str) -> None:
    with layer(scripted_llm, ("groq",), redis_url=redis_url) as llm:
        scripted_llm.play({"fault": {"kind": "status", "status": 401}})
        ask(llm, "groq/slate", fails=Exception)
    moved = ScriptedLlm(scripted_llm.url.replace("127.0.0.1", "localhost"))
    with layer(moved, ("groq",), redis_url=redis_url) as llm:
        scripted_llm.play({"reply": "ok"})
        assert ask(llm, "groq/slate").reply is not None


def _ask_on(llm: LlmLayer, enough: threading.Event) -> None:
    while not enough.is_set():
        ask(llm, *PACED)


HURRIED = ("groq/hurried", "cerebras/hurried")


@pytest.mark.slow
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
def test_a_tenant_in_a_hurry_closes_a_provider_for_itself_only(
    scripted_llm: ScriptedLlm, redis_url: str, stream: bool
) -> None:
    hurry, patience = Owner("in-a-hurry", "j"), Owner("patient", "j")
    names = [f"{name}-{stream}" for name in HURRIED]
    with layer(scripted_llm, ("groq", "cerebras"), None, redis_url=redis_url, stream=stream) as llm:
        scripted_llm.play({"when": {"provider": "groq"}, "fault": "hang"}, {"reply": "ok"})
        for _ in range(4):
            ask(llm, *names, owner=hurry, budget=Budget(seconds=4))
        asked = len(scripted_llm.requests("groq"))
        scripted_llm.play({"reply": "ok"})
        ask(llm, *names, owner=patience)
        assert asked == 3, "the fourth request of the tenant in a hurry goes to the next provider at once"
        assert len(scripted_llm.requests("groq")) == 1, "nobody else is kept from it"


@pytest.mark.slow
def test_a_provider_that_uses_up_its_own_time_is_closed_for_all(scripted_llm: ScriptedLlm, redis_url: str) -> None:
    limits: dict[str, Any] = {"redis_url": redis_url, "hasty": ["groq"]}
    with layer(scripted_llm, ("groq", "cerebras"), None, **limits) as llm:
        scripted_llm.play({"when": {"provider": "groq"}, "fault": "hang"}, {"reply": "ok"})
        for tenant in ("a", "b", "c", "d"):
            ask(llm, "groq/hanging", "cerebras/hanging", owner=Owner(tenant, "j"), budget=Budget(seconds=60))
        assert len(scripted_llm.requests("groq")) == 3
