"""One model on several endpoints: the least loaded one is called first, and the others when it fails."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import redis

from shared.llm.layer import LlmLayer
from shared.llm.settings import CallSettings, ProviderSettings
from shared.llm.slots import SharedCallSlots
from tests.shared.llm.support import ask
from tests.support.scripted import ScriptedLlm, started
from tests.support.wait import until

BOTH = ("gpu1/m", "gpu2/m")


@pytest.fixture(scope="module")
def second() -> Iterator[ScriptedLlm]:
    """Another server in addition to ``scripted_llm``."""
    process, url = started()
    try:
        yield ScriptedLlm(url)
    finally:
        process.terminate()
        process.wait(20)
        if process.stdout is not None:
            process.stdout.close()


@pytest.fixture
def llm(scripted_llm: ScriptedLlm, second: ScriptedLlm, redis_url: str, tmp_path: Path) -> Iterator[LlmLayer]:
    for server, answer in ((scripted_llm, "first"), (second, "second")):
        server.play({"reply": answer}, server={"models": ["m"]})
    file = tmp_path / "endpoints.yaml"
    file.write_text(
        f"gpu1: {{url: '{scripted_llm.base_url('openai')}', model: m, concurrency: 2}}\n"
        f"gpu2: {{url: '{second.base_url('openai')}', model: m, concurrency: 4}}\n"
        f"uncounted: {{url: '{second.base_url('openai')}', model: m}}\n"
    )
    layer = LlmLayer(ProviderSettings({}), CallSettings(endpoints=file), None, redis_url)
    yield layer
    layer.close()


@contextmanager
def held(llm: LlmLayer, redis_url: str, endpoint: str, count: int) -> Iterator[None]:
    """Let another worker's calls hold that number of the endpoint's slots."""
    key = llm.endpoints[endpoint].key("m")
    with ExitStack() as stack:
        other = SharedCallSlots(redis_url)
        stack.callback(other.close)
        for number in range(count):
            assert other.take(key, f"held-{number}", "other", count, 60) == -1
            stack.callback(other.free, key, f"held-{number}")
        yield


def waits(llm: LlmLayer, redis_url: str) -> int:
    """Calls in the queues of both."""
    with redis.Redis.from_url(redis_url) as client:
        keys = [f"assay:llm:slots:{{{llm.endpoints[name].key('m')}}}:waiting" for name in ("gpu1", "gpu2")]
        return sum(int(client.zcard(key)) for key in keys)


def test_equal_ones_are_asked_in_the_order_of_the_chain(llm: LlmLayer) -> None:
    assert ask(llm, *BOTH).attempts("provider", "outcome") == [("gpu1", "ok")]
    assert ask(llm, *reversed(BOTH)).attempts("provider", "outcome") == [("gpu2", "ok")]


def test_the_least_loaded_one_is_asked_first_by_the_share_of_its_slots(llm: LlmLayer, redis_url: str) -> None:
    with held(llm, redis_url, "gpu1", 1):
        assert ask(llm, *BOTH).attempts("provider", "reason") == [("gpu2", "primary")]
        with held(llm, redis_url, "gpu2", 1):
            assert ask(llm, *BOTH).attempts("provider") == [("gpu2",)], "a quarter is less than a half"
        with held(llm, redis_url, "gpu2", 3):
            assert ask(llm, *BOTH).attempts("provider") == [("gpu1",)]


def test_the_others_are_asked_when_the_least_loaded_one_fails(
    llm: LlmLayer, redis_url: str, second: ScriptedLlm
) -> None:
    second.play({"fault": "server_error"}, server={"models": ["m"]})
    with held(llm, redis_url, "gpu1", 1):
        asked = ask(llm, *BOTH)
    assert asked.attempts("provider", "reason") == [("gpu2", "primary"), ("gpu1", "failover")]
    assert asked.reply is not None
    assert asked.reply.text == "first"


def test_another_model_and_one_that_counts_no_calls_keep_their_places(llm: LlmLayer, redis_url: str) -> None:
    with held(llm, redis_url, "gpu1", 1):
        assert ask(llm, "gpu1/m", "gpu2/other").attempts("provider") == [("gpu1",)]
        assert ask(llm, "gpu1/m", "uncounted/m", "gpu2/m").attempts("provider") == [("gpu1",)]


def test_who_waits_for_a_slot_goes_to_the_server_that_is_free_first(
    llm: LlmLayer, redis_url: str, second: ScriptedLlm
) -> None:
    """Both are taken; the one that it does not wait for becomes free, and the other never does."""
    second.play({"reply": "second"}, server={"models": ["m"]})
    with ExitStack() as stack:
        stack.enter_context(held(llm, redis_url, "gpu1", 2))
        free = stack.enter_context(ExitStack())
        free.enter_context(held(llm, redis_url, "gpu2", 4))
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(ask, llm, *BOTH)
            until(lambda: waits(llm, redis_url) == 1, "the call in a queue")
            free.close()
            assert asked.result(60).attempts("provider", "reason", "outcome") == [("gpu2", "primary", "ok")]
            assert waits(llm, redis_url) == 0, "it has left the other queue"


def test_a_free_server_that_rests_is_no_place_to_go_to(llm: LlmLayer, redis_url: str, second: ScriptedLlm) -> None:
    second.play({"fault": "rate_limit"}, server={"models": ["m"]})
    with held(llm, redis_url, "gpu1", 1):
        assert ask(llm, *BOTH).attempts("provider", "outcome") == [("gpu2", "rate_limited"), ("gpu1", "ok")]
    with ExitStack() as stack, ThreadPoolExecutor(1) as pool:
        stack.enter_context(held(llm, redis_url, "gpu1", 2))
        asked = pool.submit(ask, llm, *BOTH)
        until(lambda: waits(llm, redis_url) == 1, "the call in the queue of the server that does not rest")
        stack.close()
        assert asked.result(60).attempts("provider", "outcome") == [("gpu1", "ok")]
