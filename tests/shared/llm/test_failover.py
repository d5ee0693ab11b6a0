"""Failover: every fault at every place of the chain gives the next provider's answer, or one clear error."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any, cast

import pytest

from shared.errors import JobCancelled, NoProviderConfigured, ProvidersFailed
from shared.llm.chat import ChatRequest
from shared.llm.faults import NoSuchModel
from shared.llm.layer import LlmLayer
from shared.llm.ledger import Owner
from shared.loop import Budget, BudgetSpent
from tests.shared.llm.support import HELLO, ask, layer
from tests.support.scripted import ScriptedLlm
from tests.support.wait import until

CHAIN = ("groq", "cerebras", "anthropic")
NEVER = 1000.0  #: seconds; the time limit of tests ends one that waits for so long
ANSWER = {"text": "the answer", "input_tokens": 100, "output_tokens": 10}
FAULTS: list[dict[str, Any]] = [
    {"kind": "rate_limit"},
    {"kind": "rate_limit", "headers": {"retry-after": "30"}},
    {"kind": "server_error"},
    {"kind": "overloaded"},
    {"kind": "status", "status": 400},
    {"kind": "status", "status": 401},
    {"kind": "status", "status": 403},
    {"kind": "status", "status": 404},
    {"kind": "status", "status": 422},
    {"kind": "disconnect"},
    {"kind": "hang"},
    {"kind": "stall"},
    {"kind": "slow", "token_ms": 2000},
    {"kind": "cut", "after": 0},
    {"kind": "cut", "after": 3},
    {"kind": "malformed"},
    {"kind": "error_event"},
    {"kind": "html"},
    {"kind": "empty"},
]


@pytest.fixture(scope="module", params=[True, pytest.param(False, marks=pytest.mark.slow)], ids=["streamed", "whole"])
def streamed(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(scope="module")
def llms(streamed: bool, scripted_llm: ScriptedLlm) -> Iterator[list[LlmLayer]]:
    """For each place of the chain a layer that soon gives up the provider there."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(layer(scripted_llm, stream=streamed, breaker_failures=1000, hasty=[name]))
            for name in CHAIN
        ]


@pytest.fixture(scope="module")
def llm(llms: list[LlmLayer]) -> LlmLayer:
    return llms[0]


@pytest.fixture
def names(request: pytest.FixtureRequest) -> list[str]:
    """The chain, with models of its own for every test."""
    return [f"{provider}/{request.node.name.replace('/', '-')}" for provider in CHAIN]


def _begins(fault: Mapping[str, Any]) -> bool:
    """Whether the answer has begun when the fault comes."""
    return fault["kind"] in ("stall", "malformed", "error_event") or fault.get("after", 0) > 0


@pytest.mark.parametrize("place", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: "-".join(map(str, fault.values())))
def test_the_fault_matrix(
    llms: list[LlmLayer],
    names: list[str],
    scripted_llm: ScriptedLlm,
    fault: dict[str, Any],
    place: int,
    streamed: bool,
) -> None:
    """Those before the place fail with 500, the one at the place with the fault; those after it answer."""
    failing = [{"when": {"provider": name}, "fault": "server_error"} for name in CHAIN[:place]]
    at_place = {"when": {"provider": CHAIN[place]}, "fault": fault, "reply": ANSWER}
    scripted_llm.play(*failing, at_place, {"reply": ANSWER})
    budget = Budget(seconds=60)
    last = place == len(CHAIN) - 1
    asked = ask(llms[place], *names, budget=budget, fails=ProvidersFailed if last else None)
    assert budget.seconds_left > 0, "within the deadline"
    if asked.reply is not None:
        assert (asked.reply.text, asked.reply.provider) == ("the answer", CHAIN[place + 1])
        assert (asked.usage.input_tokens, asked.usage.output_tokens, budget.tokens_spent) == (100, 10, 110)
    else:  # the last one, Anthropic, counts the prompt before it begins to answer
        counted = (100, 101) if streamed and _begins(fault) else (0, 0)
        assert (asked.usage.input_tokens, budget.tokens_spent) == counted
    attempts = asked.attempts("provider", "outcome", "reason")
    assert [provider for provider, _, reason in attempts if reason != "retry"] == list(CHAIN[: place + 2])
    assert [(type, data["cause"] is not None) for type, data in asked.events if type == "failover"] == [
        ("failover", True)
    ] * (len(CHAIN[: place + 2]) - 1)


def test_all_failing_is_one_error_that_names_each(llm: LlmLayer, names: list[str], scripted_llm: ScriptedLlm) -> None:
    scripted_llm.play({"when": {"provider": "groq"}, "fault": "overloaded"}, {"fault": "html"})
    job = llm.for_job(Owner("t", "j"), Budget(seconds=10), selector=names)
    with pytest.raises(ProvidersFailed) as failed:
        job.complete(ChatRequest("flows.edit", HELLO))
    attempts = failed.value.extra["attempts"]
    assert isinstance(attempts, list)
    outcomes = [(each["provider"], each["outcome"]) for each in attempts if isinstance(each, dict)]
    assert outcomes == [("groq", "overloaded"), ("cerebras", "unreadable_answer"), ("anthropic", "unreadable_answer")]
    assert all(name.partition("/")[0] in failed.value.detail for name in names)
    assert "key-of" not in str(failed.value.problem())


def test_a_failed_generation_of_tools_is_salvaged_and_the_breaker_untouched(
    scripted_llm: ScriptedLlm,
) -> None:
    with layer(scripted_llm, ("groq", "cerebras"), breaker_failures=1) as llm:
        text = "<thinking>t</thinking><response>[]</response>"
        scripted_llm.play({"when": {"provider": "groq"}, "fault": "tool_use_failed", "reply": text}, {"reply": "no"})
        asked = ask(llm)
        assert asked.reply is not None
        assert (asked.reply.text, asked.reply.provider) == (text, "groq")
        scripted_llm.play({"when": {"provider": "groq"}, "fault": "tool_use_failed", "reply": ""}, {"reply": "other"})
        for _ in range(3):
            asked = ask(llm)
            assert asked.attempts("provider", "outcome") == [("groq", "tool_use_failed"), ("cerebras", "ok")]


@pytest.mark.slow
def test_a_rate_limit_parks_until_its_reset(scripted_llm: ScriptedLlm) -> None:
    with layer(scripted_llm, ("groq", "cerebras")) as llm:
        limit = {"kind": "rate_limit", "headers": {"retry-after": "0.7"}}
        scripted_llm.play({"when": {"provider": "groq"}, "times": 1, "fault": limit}, {"reply": "ok"})
        assert ask(llm).attempts("provider", "outcome") == [("groq", "rate_limited"), ("cerebras", "ok")]
        until(lambda: ask(llm).attempts("provider", "reason") == [("groq", "primary")], "it is asked again")
        refused, answered = scripted_llm.requests("groq")
        assert answered["at"] - refused["at"] >= 0.7


@pytest.mark.parametrize(
    "headers",
    [
        {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1m30s"},
        {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "2h"},
    ],
)
def test_the_reset_headers_say_how_long_when_retry_after_does_not(
    scripted_llm: ScriptedLlm, headers: dict[str, str]
) -> None:
    with layer(scripted_llm, ("groq", "cerebras")) as llm:
        limit = {"kind": "rate_limit", "headers": headers}
        scripted_llm.play({"when": {"provider": "groq"}, "fault": limit}, {"reply": "ok"})
        began = time.time()
        ask(llm)
        state = {each.name: each for each in llm.providers()}["groq"]
        assert (state.state, state.last_error) == ("parked", "rate_limited")
        assert state.until is not None
        assert state.until.timestamp() - began > 60


def test_a_provider_that_is_nearly_spent_is_asked_last(scripted_llm: ScriptedLlm) -> None:
    with layer(scripted_llm, ("groq", "cerebras")) as llm:
        spent = {"kind": "slow", "headers": {"x-ratelimit-remaining-tokens": "5", "x-ratelimit-reset-tokens": "30s"}}
        scripted_llm.play({"when": {"provider": "groq"}, "fault": spent, "reply": ANSWER}, {"reply": "ok"})
        assert ask(llm).attempts("provider") == [("groq",)]
        assert ask(llm).attempts("provider") == [("cerebras",)]
        scripted_llm.play({"when": {"provider": "groq"}, "reply": "still here"}, {"fault": "server_error"})
        assert ask(llm).attempts("provider", "outcome") == [("cerebras", "server_error"), ("groq", "ok")]


@pytest.mark.slow
def test_a_job_waits_for_a_short_rate_limit_when_no_other_provider_is_left(scripted_llm: ScriptedLlm) -> None:
    with layer(scripted_llm, ("groq",)) as llm:
        limit = {"kind": "rate_limit", "headers": {"retry-after": "0.3"}}
        scripted_llm.play({"times": 1, "fault": limit}, {"reply": "ok"})
        assert ask(llm).attempts("outcome", "reason") == [("rate_limited", "primary"), ("ok", "retry")]
        limit = {"kind": "rate_limit", "headers": {"retry-after": "600"}}
        scripted_llm.play({"fault": limit})
        assert ask(llm, fails=ProvidersFailed).attempts("outcome") == [("rate_limited",)]


def test_a_provider_with_an_open_breaker_is_not_asked(scripted_llm: ScriptedLlm) -> None:
    with layer(scripted_llm, ("groq", "cerebras"), breaker_failures=2, breaker_cooldown_seconds=600) as llm:
        scripted_llm.play({"when": {"provider": "groq"}, "fault": "server_error"}, {"reply": "ok"})
        for _ in range(6):
            ask(llm)
        assert len(scripted_llm.requests("groq")) == 2
        assert _state(llm) == "open"


@pytest.mark.slow
def test_after_its_cooldown_a_provider_is_asked_again_and_closes_when_it_answers(scripted_llm: ScriptedLlm) -> None:
    with layer(scripted_llm, ("groq", "cerebras"), breaker_failures=1, breaker_cooldown_seconds=0.3) as llm:
        scripted_llm.play({"when": {"provider": "groq"}, "fault": "server_error"}, {"reply": "ok"})
        ask(llm)
        until(lambda: ask(llm).attempts("provider", "outcome")[0] == ("groq", "server_error"), "a probe that fails")
        assert _state(llm) in ("open", "half_open")
        scripted_llm.play({"reply": "ok"})
        until(lambda: ask(llm).attempts("provider") == [("groq",)], "a probe that is answered")
        assert _state(llm) == "closed"


@pytest.mark.slow
def test_while_a_probe_is_under_way_no_other_call_asks(scripted_llm: ScriptedLlm) -> None:
    limits: dict[str, Any] = {"breaker_failures": 1, "breaker_cooldown_seconds": 0.2, "first_token_seconds": NEVER}
    with layer(scripted_llm, ("groq", "cerebras"), **limits) as llm:
        scripted_llm.play({"when": {"provider": "groq"}, "fault": "server_error"}, {"reply": "ok"})
        ask(llm)
        scripted_llm.play({"when": {"provider": "groq"}, "fault": "hang"}, {"reply": "ok"})
        until(lambda: _state(llm) == "half_open", "the end of the cooldown")
        enough = threading.Event()
        options: dict[str, Any] = {"cancelled": enough.is_set, "budget": Budget(), "fails": JobCancelled}
        probe = threading.Thread(target=ask, args=(llm,), kwargs=options)
        probe.start()
        try:
            until(lambda: scripted_llm.requests("groq"), "the probe")
            for _ in range(5):
                assert ask(llm).attempts("provider") == [("cerebras",)]
            assert len(scripted_llm.requests("groq")) == 1
        finally:
            enough.set()
            probe.join()


def test_a_connection_that_was_closed_while_it_was_kept_is_tried_again(
    scripted_llm: ScriptedLlm,
) -> None:
    with layer(scripted_llm, ("groq", "cerebras"), breaker_failures=1) as llm:
        scripted_llm.play({"reply": "ok"})
        ask(llm)
        scripted_llm.play({"when": {"provider": "groq"}, "times": 1, "fault": "disconnect"}, {"reply": "ok"})
        asked = ask(llm)
        assert asked.attempts("provider", "outcome", "reason") == [
            ("groq", "stale_connection", "primary"),
            ("groq", "ok", "retry"),
        ]


def test_no_provider_with_a_key_is_an_error_of_its_own(scripted_llm: ScriptedLlm) -> None:
    with layer(scripted_llm, ()) as llm:
        ask(llm, fails=NoProviderConfigured)
        assert not llm.configured()
        assert {each.state for each in llm.providers()} == {"unconfigured"}
        assert llm.test("flows.edit", "tenant").ok is False


def test_providers_without_a_key_are_skipped_silently(scripted_llm: ScriptedLlm) -> None:
    with layer(scripted_llm, ("cerebras",)) as llm:
        scripted_llm.play({"reply": "ok"})
        assert ask(llm).attempts("provider", "reason") == [("cerebras", "primary")]


@pytest.mark.slow
@pytest.mark.parametrize(("only", "answers"), [("anthropic", "anthropic"), ("openai", "openai")])
def test_a_configured_provider_stands_in_for_a_chain_without_a_key(
    scripted_llm: ScriptedLlm, only: str, answers: str
) -> None:
    with layer(scripted_llm, (only,)) as llm:
        scripted_llm.play({"reply": "ok"})
        assert ask(llm).attempts("provider") == [(answers,)]


def test_an_endpoint_that_is_not_there_fails_over(scripted_llm: ScriptedLlm) -> None:
    with layer(scripted_llm, ("groq", "cerebras")) as llm:
        scripted_llm.play({"reply": "ok"})
    gone = ScriptedLlm("http://127.0.0.1:1")
    with layer(gone, ("groq",)) as llm:
        asked = ask(llm, fails=ProvidersFailed)
        assert asked.attempts("outcome") == [("connection_failed",)]
        assert asked.usage.llm_calls == 0
        assert {each.name: each.last_error for each in llm.providers()}["groq"] == "connection_failed"


def test_selectors_name_the_only_models_that_may_answer(scripted_llm: ScriptedLlm) -> None:
    with layer(scripted_llm, ("groq", "cerebras", "anthropic")) as llm:
        scripted_llm.play({"when": {"provider": "groq"}, "fault": "server_error"}, {"reply": "ok"})
        assert ask(llm, "groq/openai/gpt-oss-120b", fails=ProvidersFailed).attempts("provider") == [("groq",)]
        assert ask(llm, "haiku").attempts("model") == [("claude-haiku-5-5",)]
        assert ask(llm, "GPT-OSS-120B").attempts("provider") == [("groq",), ("cerebras",)], "both are called that"
        assert ask(llm, "openai/gpt-oss-120b", fails=ProvidersFailed).attempts("provider") == [("groq",)], (
            "a part of an id"
        )
        assert ask(llm, "claude-haiku", "cerebras/x").attempts("provider", "model") == [
            ("anthropic", "claude-haiku-5-5")
        ]
        ask(llm, "no-such-model", fails=NoSuchModel)
        ask(llm, "openai/gpt-9", fails=NoSuchModel)


@pytest.mark.slow
def test_the_deadline_of_the_job_ends_a_hanging_call(scripted_llm: ScriptedLlm) -> None:
    with layer(scripted_llm, ("groq",), first_token_seconds=NEVER, total_seconds=NEVER) as llm:
        scripted_llm.play({"fault": "hang"})
        ask(llm, budget=Budget(seconds=0.5), fails=BudgetSpent)
        scripted_llm.play({"fault": {"kind": "slow", "token_ms": 1000}, "reply": "word " * 1000})
        ask(llm, budget=Budget(seconds=0.6), fails=BudgetSpent)
        assert len(scripted_llm.requests()) == 1  # since its answers were set


@pytest.mark.slow
def test_a_budget_that_providers_used_up_names_them_with_what_they_did(scripted_llm: ScriptedLlm) -> None:
    with layer(scripted_llm, ("groq", "cerebras"), first_token_seconds=NEVER, total_seconds=NEVER) as llm:
        scripted_llm.play({"when": {"provider": "groq"}, "fault": "server_error"}, {"fault": "hang"})
        models = llm.for_job(Owner("tenant", "job"), Budget(seconds=1.5))
        with pytest.raises(BudgetSpent) as spent:
            models.complete(ChatRequest("flows.edit", HELLO))
    attempts = cast("list[dict[str, Any]]", spent.value.attempts)
    told = [(attempt["provider"], attempt["outcome"]) for attempt in attempts]
    assert told == [("groq", "server_error"), ("cerebras", "timed_out")]
    assert attempts[1]["seconds"] > 0.5
    assert spent.value.why.startswith(" Called: groq (openai/gpt-oss-120b): server_error after ")
    assert "; cerebras (gpt-oss-120b): timed_out after " in spent.value.why


@pytest.mark.slow
def test_the_deadline_leaves_time_for_the_next_provider(scripted_llm: ScriptedLlm) -> None:
    with layer(scripted_llm, ("groq", "cerebras"), first_token_seconds=NEVER, total_seconds=NEVER) as llm:
        scripted_llm.play({"when": {"provider": "groq"}, "fault": "hang"}, {"reply": "ok"})
        asked = ask(llm, budget=Budget(seconds=5))
        assert asked.attempts("provider", "outcome") == [("groq", "timed_out"), ("cerebras", "ok")]


def test_spent_tokens_stop_the_next_call(scripted_llm: ScriptedLlm) -> None:
    with layer(scripted_llm, ("groq",)) as llm:
        scripted_llm.play({"reply": ANSWER})
        budget = Budget(tokens=100)
        ask(llm, budget=budget)
        ask(llm, budget=budget, fails=BudgetSpent)
        assert len(scripted_llm.requests()) == 1


@pytest.mark.parametrize("fault", ["hang", "stall"])
def test_a_cancelled_job_stops_waiting(scripted_llm: ScriptedLlm, fault: str) -> None:
    with layer(scripted_llm, ("groq", "cerebras"), first_token_seconds=NEVER, idle_seconds=NEVER) as llm:
        scripted_llm.play({"fault": fault, "reply": "some words of an answer"})
        ask(llm, cancelled=lambda: bool(scripted_llm.requests()), budget=Budget(), fails=JobCancelled)
        assert len(scripted_llm.requests()) == 1


def test_hedging_asks_the_next_one_when_the_first_is_silent(scripted_llm: ScriptedLlm) -> None:
    with layer(scripted_llm, ("groq", "cerebras"), hedge_seconds=0.2) as llm:
        scripted_llm.play({"when": {"provider": "groq"}, "fault": "hang"}, {"reply": "hedged"})
        asked = ask(llm)
        assert asked.reply is not None
        assert asked.reply.text == "hedged"
        assert asked.attempts("provider", "reason", "outcome")[0] == ("cerebras", "hedge", "ok")


def test_without_a_silence_nothing_is_hedged(scripted_llm: ScriptedLlm) -> None:
    with layer(scripted_llm, ("groq", "cerebras"), hedge_seconds=15) as llm:
        scripted_llm.play({"reply": "quick"})
        assert ask(llm).attempts("provider", "reason") == [("groq", "primary")]
        scripted_llm.play({"when": {"provider": "groq"}, "fault": "server_error"}, {"reply": "ok"})
        assert ask(llm).attempts("provider", "reason") == [("groq", "primary"), ("cerebras", "failover")]


def _state(llm: LlmLayer) -> str:
    return next(each.state for each in llm.providers() if each.name == "groq")
