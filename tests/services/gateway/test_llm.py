"""Models that are called outside of jobs: a few at once for each tenant, and counted like those of jobs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event
from typing import Any

import httpx2 as httpx
import pytest

from services.gateway.llm import LlmAccess
from shared.llm.settings import CallSettings, ProviderSettings
from tests.services.gateway import workers
from tests.services.gateway.conftest import Gateway, serving
from tests.services.gateway.http.test_problems import EXECUTE, assert_problem
from tests.support.scripted import ScriptedLlm
from tests.support.wait import until

TEST = "/v1/models/flows.edit/test"
TASK = {"kind": "transform", "input": {"task": "x", "data": [{"csv": "a\n1\n"}]}}


@pytest.fixture
def asking(gateway: Gateway, scripted_llm: ScriptedLlm) -> Iterator[str]:
    """The URL of a gateway that calls the scripted server; a tenant may use 100 tokens a day."""
    workers.advertise(gateway.engine)
    providers, calls = ProviderSettings(scripted_llm.environment(("groq",))), CallSettings(tenant_tokens_per_day=100)
    with serving(replace(gateway.settings, providers=providers, calls=calls)) as url:
        yield url


def headers(gateway: Gateway, tenant: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {gateway.key(tenant)}"}


@pytest.mark.slow
def test_a_tenant_that_tries_models_all_the_time_delays_nobody(
    gateway: Gateway, asking: str, scripted_llm: ScriptedLlm
) -> None:
    scripted_llm.play({"latency_ms": 4000, "reply": "ready"})
    eager, calm = headers(gateway, "eager"), headers(gateway, "calm")
    with ThreadPoolExecutor(24) as pool:
        tests = [pool.submit(httpx.post, asking + TEST, headers=eager, timeout=60) for _ in range(24)]
        until(lambda: len(scripted_llm.requests()) == 2, "two calls are under way")

        submitted = httpx.post(f"{asking}/v1/jobs", json=EXECUTE, headers=calm, timeout=60)
        tried = httpx.post(asking + TEST, headers=calm, timeout=60)
        answers = [test.result() for test in tests]

    assert (submitted.status_code, tried.json()["ok"]) == (202, True)
    assert sorted(answer.status_code for answer in answers) == [200] * 2 + [429] * 22
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert_problem(refused, 429, "rate_limited")
    assert int(refused.headers["retry-after"]) >= 1


@pytest.mark.slow
def test_tests_of_models_and_notes_use_the_tenants_tokens_and_end_with_them(
    gateway: Gateway, asking: str, scripted_llm: ScriptedLlm
) -> None:
    scripted_llm.play({"reply": {"text": "ready", "input_tokens": 90, "output_tokens": 20}})
    spender = headers(gateway, "tries-it-out")
    assert httpx.post(asking + TEST, headers=spender, timeout=60).json()["ok"]

    for path, body in ((TEST, None), ("/api/notes", {"message": "a note"}), ("/v1/jobs", TASK)):
        refused = httpx.post(asking + path, json=body, headers=spender, timeout=60)
        assert refused.status_code == 429, path

    assert len(scripted_llm.requests()) == 1


@pytest.mark.slow
def test_a_job_whose_models_the_tenant_may_not_use_is_refused_at_submit(
    gateway: Gateway, scripted_llm: ScriptedLlm
) -> None:
    workers.advertise(gateway.engine)
    providers, calls = ProviderSettings(scripted_llm.environment(("groq",))), CallSettings(tenant_models="anthropic/*")
    with serving(replace(gateway.settings, providers=providers, calls=calls)) as url:
        refused = httpx.post(f"{url}/v1/jobs", json=TASK, headers=headers(gateway, "acme"), timeout=60)
        assert_problem(refused, 403, "model_not_allowed")
        assert_problem(httpx.post(url + TEST, headers=headers(gateway, "acme")), 403, "model_not_allowed")


def test_work_that_outlives_the_gateway_leaves_no_connection(gateway: Gateway) -> None:
    llm, begun, closed = LlmAccess(gateway.settings), Event(), Event()
    opened: list[Any] = []

    def work() -> None:
        begun.set()
        closed.wait(60)
        with llm._engine.connect() as connection:
            opened.append(connection.connection.driver_connection)

    async def outlived() -> None:
        asking = asyncio.ensure_future(llm.ask(work))
        assert await asyncio.to_thread(begun.wait, 60)
        llm.close()
        closed.set()
        await asking

    asyncio.run(outlived())
    assert [connection.closed for connection in opened] == [True]
