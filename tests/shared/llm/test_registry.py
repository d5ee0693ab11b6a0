"""Who plays which role: defaults, changes that every replica follows, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from shared import db
from shared.errors import NotFound
from shared.llm.chat import ChainLink, ChatRequest
from shared.llm.faults import NoSuchModel, UnknownProvider
from shared.llm.registry import default_chain, model_roles
from shared.llm.vendors.table import VENDORS
from tests.shared.llm.support import ask, layer
from tests.support.scripted import ScriptedLlm
from tests.support.wait import until


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    engine = db.connect(database_url)
    yield engine
    engine.dispose()


def test_the_defaults_are_groq_then_cerebras_and_claude_first_for_search(scripted_llm: ScriptedLlm) -> None:
    with layer(scripted_llm) as llm:
        named = {role: [(link.provider, link.model) for link in chain] for role, chain in llm.models.chains().items()}
    fast = [("groq", "openai/gpt-oss-120b"), ("cerebras", "gpt-oss-120b")]
    assert named["flows.edit"] == named["execution.transform"] == named["stacks.identify"] == fast
    assert named["search.reflect"] == [("anthropic", "claude-haiku-5-5"), *fast]
    assert set(named) == set(model_roles())


@pytest.mark.slow
def test_a_changed_chain_is_followed_by_every_replica(scripted_llm: ScriptedLlm, engine: Engine) -> None:
    with layer(scripted_llm, engine=engine) as here, layer(scripted_llm, engine=engine) as there:
        scripted_llm.play({"reply": "ok"})
        assert ask(there).attempts("provider") == [("groq",)]
        changed = (ChainLink("anthropic", "claude-opus-5-5"), ChainLink("openai", "local", {"temperature": 0}))
        assert here.models.set_chain("flows.edit", changed, "someone") == []
        assert here.models.chain("flows.edit") == changed
        changed_to = [("anthropic", "claude-opus-5-5")]
        until(lambda: ask(there).attempts("provider", "model") == changed_to, "the other replica follows")
        assert there.models.chain("search.plan") == default_chain("search.plan")
        here.models.reset()
        assert here.models.chain("flows.edit") == default_chain("flows.edit")
        until(lambda: ask(there).attempts("provider") == [("groq",)], "the other replica follows")


@pytest.mark.parametrize("provider", VENDORS)
def test_a_model_that_its_provider_does_not_list_is_warned_of(scripted_llm: ScriptedLlm, provider: str) -> None:
    served = {"kind": "vllm", "version": "1", "models": ["family/one", "two:latest"], "window": 2048}
    scripted_llm.play({"reply": "ok"}, server=served)
    with layer(scripted_llm) as llm:
        assert llm.unlisted([ChainLink(provider, "family/one"), ChainLink(provider, "two")]) == []
        [warning] = llm.unlisted([ChainLink(provider, "family/on"), ChainLink(provider, "family/one")])
        assert warning == (
            f"{provider} does not list a model 'family/on'; it is called all the same. Did you mean family/one?"
        )


def test_the_parameters_of_a_link_are_sent(scripted_llm: ScriptedLlm, engine: Engine) -> None:
    with layer(scripted_llm, engine=engine) as llm:
        scripted_llm.play({"reply": "ok"})
        llm.models.set_chain(
            "search.plan", [ChainLink("groq", "m", {"temperature": 0.25, "max_completion_tokens": 100})]
        )
        ask(llm, role="search.plan")
        sent = scripted_llm.requests()[0]["body"]
        assert (sent["temperature"], sent["max_completion_tokens"]) == (0.25, 100)


def test_unknown_roles_and_providers_are_refused(scripted_llm: ScriptedLlm, engine: Engine) -> None:
    with layer(scripted_llm, engine=engine) as llm:
        with pytest.raises(NotFound):
            llm.models.set_chain("flows.unknown", [ChainLink("groq", "m")])
        with pytest.raises(UnknownProvider) as refused:
            llm.models.set_chain("flows.edit", [ChainLink("groq", "m"), ChainLink("bedrock", "m")])
        assert (refused.value.code, refused.value.status) == ("unknown_provider", 422)
        assert llm.models.chain("flows.edit") == default_chain("flows.edit")


def test_a_retired_model_is_allowed_with_a_warning(scripted_llm: ScriptedLlm, engine: Engine) -> None:
    with layer(scripted_llm, engine=engine) as llm:
        (warning,) = llm.models.set_chain("search.answer", [ChainLink("anthropic", "claude-sonnet-4-20250514")])
        assert "2026-06-15" in warning
        assert llm.models.warnings() == [warning]
        llm.models.reset()


def test_the_available_models_say_whether_their_provider_has_a_key(scripted_llm: ScriptedLlm) -> None:
    with layer(scripted_llm, ("groq",)) as llm:
        known = {(model["provider"], model["model"]): model["configured"] for model in llm.models.available()}
    assert known["groq", "openai/gpt-oss-120b"] is True
    assert known["cerebras", "gpt-oss-120b"] is False


def test_every_available_model_has_its_price_and_its_day_or_none(scripted_llm: ScriptedLlm) -> None:
    with layer(scripted_llm, ("groq",)) as llm:
        prices = {(each.provider, each.model): each for each in llm.models.prices()}
        known = {(model["provider"], model["model"]) for model in llm.models.available()}
    assert set(prices) == known
    dear = prices["anthropic", "claude-haiku-5-5"]
    assert (dear.currency, dear.above is not None, bool(dear.as_of and dear.source)) == ("USD", True, True)
    assert all(each.input and each.output for each in prices.values() if each.as_of)
    unknown = [each for each in prices.values() if each.as_of is None]
    assert unknown
    assert {(each.input, each.output, each.source) for each in unknown} == {(None, None, None)}


def test_a_test_of_a_role_is_a_real_call_whatever_its_breaker_says(scripted_llm: ScriptedLlm) -> None:
    with layer(scripted_llm, ("groq", "cerebras"), breaker_failures=1) as llm:
        scripted_llm.play({"when": {"provider": "groq"}, "fault": "server_error"}, {"reply": "ok"})
        ask(llm)
        failed = llm.test("flows.edit", "tenant")
        assert (failed.ok, failed.provider) == (False, "groq")
        assert "server_error" in (failed.error or "")
        scripted_llm.play({"reply": "ready"})
        passed = llm.test("flows.edit", "tenant")
        assert (passed.ok, passed.provider, passed.model, passed.error) == (True, "groq", "openai/gpt-oss-120b", None)
        with pytest.raises(NotFound):
            llm.test("no.role", "tenant")


def test_a_model_that_does_not_exist_names_those_that_do(scripted_llm: ScriptedLlm) -> None:
    with layer(scripted_llm) as llm:
        with pytest.raises(NoSuchModel, match=r"There are \w+/.*: `assay models ls --all`\.") as missing:
            llm.models.for_request(ChatRequest("flows.edit", (), selector=("no-such-model",)))
        assert "a model called no-such-model" in missing.value.detail


@pytest.mark.parametrize(
    ("selector", "doubted"),
    [("groq/nope", True), ("groq/openai/gpt-oss-120b", False), ("gpt-oss-120b", False), ("nope/x", False)],
)
def test_a_model_that_its_provider_is_not_known_to_have_is_doubted(
    scripted_llm: ScriptedLlm, selector: str, doubted: bool
) -> None:
    with layer(scripted_llm) as llm:
        link = llm.models.named_by(selector)
        warning = None if link is None else llm.models.doubt(link)
    assert (warning is not None) == doubted
    if warning is not None:
        assert warning.startswith("groq is not known to have a model 'nope'; it is called all the same. ")
        assert "openai/gpt-oss-120b" in warning
