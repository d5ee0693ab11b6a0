"""What a tenant may use of models: which ones, and how many tokens a day."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from sqlalchemy import Engine, text

from shared import db
from shared.errors import QuotaExceeded
from shared.llm.chat import ChainLink, TokenUsage
from shared.llm.faults import ModelNotAllowed
from shared.llm.ledger import Owner
from shared.llm.tenants import AllowedModels
from shared.loop import Budget
from tests.shared.llm.support import ask, layer
from tests.support.scripted import ScriptedLlm

LINKS = (ChainLink("groq", "openai/gpt-oss-120b"), ChainLink("anthropic", "claude-haiku-5-5"))


@pytest.fixture(scope="module")
def engine(database_url: str) -> Iterator[Engine]:
    engine = db.connect(database_url)
    yield engine
    engine.dispose()


@pytest.mark.parametrize(
    ("patterns", "left"),
    [
        (("*",), ["groq", "anthropic"]),
        (("groq/*",), ["groq"]),
        (("*/claude-*", "openai/*"), ["anthropic"]),
        (("groq/openai/gpt-oss-120b",), ["groq"]),
    ],
)
def test_patterns_say_which_models_a_tenant_may_use(patterns: tuple[str, ...], left: list[str]) -> None:
    assert [link.provider for link in AllowedModels(None, patterns).among(LINKS, "t")] == left


def test_a_tenant_that_may_use_none_of_the_models_is_told_what_it_may_use() -> None:
    with pytest.raises(ModelNotAllowed, match=r"cerebras/\*.*groq/openai/gpt-oss-120b"):
        AllowedModels(None, ("cerebras/*",)).among(LINKS, "t")


def test_a_list_holds_for_its_tenant_in_every_process_until_it_is_removed(engine: Engine) -> None:
    here, there = AllowedModels(engine), AllowedModels(engine)
    here.put("acme", ["groq/*"])
    assert (here.of("acme"), here.of("other"), there.of("acme")) == (("groq/*",), ("*",), ("groq/*",))
    here.put("acme", [])
    assert here.of("acme") == ()
    here.remove("acme")
    assert here.of("acme") == ("*",)


def test_neither_chains_nor_selectors_lead_to_a_model_that_is_not_allowed(
    engine: Engine, scripted_llm: ScriptedLlm
) -> None:
    with layer(scripted_llm, ("groq", "cerebras"), engine) as llm:
        scripted_llm.play({"reply": "ok"})
        llm.allowed.put("acme", ["cerebras/*"])
        acme = Owner("acme", "j")

        asked = ask(llm, owner=acme)
        ask(llm, "groq/openai/gpt-oss-120b", owner=acme, fails=ModelNotAllowed)
        ask(llm, "gpt-oss", owner=acme)

        assert asked.reply is not None
        assert asked.reply.provider == "cerebras"
        assert scripted_llm.requests("groq") == []
        assert llm.test("flows.edit", "acme").provider == "cerebras"
        assert llm.test("flows.edit", "other").provider == "groq"


def test_embeddings_are_held_to_the_same_lists_and_counted(engine: Engine, scripted_llm: ScriptedLlm) -> None:
    with layer(scripted_llm, ("openai",), engine) as llm:
        llm.allowed.put("acme", ["openai/small"])
        budget = Budget(tokens=100)
        job = llm.for_job(Owner("acme", "embeds"), budget)

        job.admit(ChainLink("openai", "small"))
        job.spend(ChainLink("openai", "small"), "search.embed", TokenUsage(70, 0), 0.1)
        with pytest.raises(ModelNotAllowed):
            job.admit(ChainLink("openai", "large"))

        assert (budget.tokens_spent, job.usage.input_tokens) == (70, 70)


def test_no_model_is_asked_for_a_tenant_that_has_spent_the_tokens_of_the_day(
    engine: Engine, scripted_llm: ScriptedLlm
) -> None:
    spender, other = Owner("spender", "j"), Owner("saver", "j")
    scripted_llm.play({"reply": {"text": "ok", "input_tokens": 60, "output_tokens": 40}})
    with layer(scripted_llm, ("groq",), engine, tenant_tokens_per_day=100) as llm:
        ask(llm, owner=spender)
    with layer(scripted_llm, ("groq",), engine, tenant_tokens_per_day=100) as llm:
        ask(llm, owner=spender, fails=QuotaExceeded)
        ask(llm, owner=other)
        with pytest.raises(QuotaExceeded):
            llm.for_job(spender, Budget()).admit(ChainLink("groq", "m"))

    assert len(scripted_llm.requests()) == 2


def test_a_tenants_own_limit_of_tokens_holds_where_models_are_asked(engine: Engine, scripted_llm: ScriptedLlm) -> None:
    with engine.begin() as connection:
        connection.execute(
            text("INSERT INTO tenant_limits (tenant_id, tokens_per_day) VALUES ('small', 5), ('any', 0)")
        )
    with layer(scripted_llm, ("groq",), engine, tenant_tokens_per_day=5) as llm:
        scripted_llm.play({"reply": {"text": "ok", "input_tokens": 3, "output_tokens": 3}})
        for tenant, calls in (("small", 1), ("any", 3)):
            for _ in range(calls):
                ask(llm, owner=Owner(tenant, "j"))
        ask(llm, owner=Owner("small", "j"), fails=QuotaExceeded)
        assert len(scripted_llm.requests()) == 4


def test_calls_at_the_same_moment_exceed_the_tokens_of_the_day_by_those_under_way_only(
    engine: Engine, scripted_llm: ScriptedLlm
) -> None:
    """The tokens of a call are known at its end; one that begins after the limit was reached is refused."""
    link, at_once = ChainLink("groq", "m"), 8
    with layer(scripted_llm, ("groq",), engine, tenant_tokens_per_day=1000) as llm:

        def calls_of(number: int) -> int:
            job, begun = llm.for_job(Owner("at-once", f"j{number}"), Budget()), 0
            with suppress(QuotaExceeded):
                while True:
                    job.admit(link)
                    begun += 1
                    job.spend(link, "flows.edit", TokenUsage(60, 40), 0.1)
            return begun

        with ThreadPoolExecutor(at_once) as threads:
            begun = sum(threads.map(calls_of, range(at_once)))
        assert 10 <= begun < 10 + at_once
