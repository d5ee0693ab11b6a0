"""The ledger: a row per attempt, failed and skipped ones too, with what it cost; no words of a prompt."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

import pytest
from sqlalchemy import Engine, select

from shared import db
from shared.contracts.models import LlmCall
from shared.errors import ProvidersFailed
from shared.llm.catalog import cost, retirement, table
from shared.llm.chat import ChainLink, ChatRequest, PromptVersion, ProviderAttempt, TokenUsage
from shared.llm.ledger import CallLedger, Owner, as_call, calls_of, tokens_since, totals
from shared.llm.tables import llm_calls
from shared.llm.vendors.spec import VendorSpec
from shared.llm.vendors.table import VENDORS
from tests.shared.llm.support import ask, layer
from tests.support.scripted import ScriptedLlm


@pytest.fixture(scope="module")
def engine(database_url: str) -> Iterator[Engine]:
    engine = db.connect(database_url)
    yield engine
    engine.dispose()


@pytest.fixture
def owner() -> Owner:
    return Owner(uuid.uuid4().hex, uuid.uuid4().hex)


def calls(engine: Engine, owner: Owner) -> list[LlmCall]:
    with engine.connect() as connection:
        rows = connection.execute(calls_of(owner.tenant_id, owner.job_id or "")).mappings().all()
    return [as_call(row) for row in rows]


def test_every_attempt_is_a_row(scripted_llm: ScriptedLlm, engine: Engine, owner: Owner) -> None:
    answer = {"text": "ok", "input_tokens": 1000, "output_tokens": 100}
    with layer(scripted_llm, ("groq", "cerebras"), engine) as llm:
        limit = {"kind": "rate_limit", "headers": {"retry-after": "60"}}
        scripted_llm.play({"when": {"provider": "groq"}, "fault": limit}, {"reply": answer})
        asked = ask(llm, owner=owner, prompt=PromptVersion("flows.edit", 3), turn=1)
        ask(llm, owner=owner, turn=2)
    first, second, skipped, last = calls(engine, owner)
    assert (first.turn, first.attempt, first.reason, first.outcome) == (1, 1, "primary", "rate_limited")
    assert (first.http_status, first.served, first.cost_usd, first.input_tokens) == (429, None, None, None)
    assert (second.turn, second.attempt, second.reason, second.outcome) == (1, 2, "failover", "ok")
    assert second.served is not None
    assert (second.served.provider, second.served.model) == ("cerebras", "gpt-oss-120b")
    assert (second.input_tokens, second.output_tokens, second.source) == (1000, 100, "scripted")
    assert second.cost_usd == pytest.approx((1000 * 0.35 + 100 * 0.75) / 1e6)
    assert second.prompt is not None
    assert (second.prompt.key, second.prompt.version) == ("flows.edit", 3)
    assert (skipped.turn, skipped.requested.provider, skipped.outcome) == (2, "groq", "skipped")
    assert (last.reason, last.outcome) == ("failover", "ok")
    assert first.request is not None
    assert (second.request, skipped.request == last.request) == (first.request, True)
    assert first.request != last.request, "attempts tell of which request they are"
    assert asked.usage.llm_calls == 2, "two calls reached a provider"
    with engine.connect() as connection:
        assert totals(connection, owner.tenant_id, owner.job_id or "") == {
            "llm_calls": 3,
            "input_tokens": 2000,
            "output_tokens": 200,
            "cost_usd": pytest.approx(2 * (second.cost_usd or 0)),
        }


def test_an_unknown_price_or_usage_is_null_and_makes_the_total_null(
    scripted_llm: ScriptedLlm, engine: Engine, owner: Owner
) -> None:
    with layer(scripted_llm, ("groq",), engine) as llm:
        scripted_llm.play({"reply": {"text": "ok", "input_tokens": 5, "output_tokens": 5}})
        ask(llm, owner=owner)
        ask(llm, "groq/a-model-of-tomorrow", owner=owner)
        scripted_llm.play({"reply": {"text": "ok", "usage": False}})
        ask(llm, owner=owner)
    assert [call.cost_usd is None for call in calls(engine, owner)] == [False, True, True]
    with engine.connect() as connection:
        assert totals(connection, owner.tenant_id, owner.job_id or "")["cost_usd"] is None


def test_a_job_that_asked_no_model_has_no_cost(engine: Engine) -> None:
    with engine.connect() as connection:
        assert totals(connection, "t", "none") == {
            "llm_calls": 0,
            "input_tokens": 0,
            "output_tokens": 0,
            "cost_usd": None,
        }


def test_no_words_of_the_prompt_or_the_answer_are_kept(scripted_llm: ScriptedLlm, engine: Engine, owner: Owner) -> None:
    with layer(scripted_llm, ("groq",), engine) as llm:
        scripted_llm.play({"reply": "a very private answer"})
        ask(llm, owner=owner)
        scripted_llm.play({"fault": {"kind": "status", "status": 401, "message": "bad key sk-abcdefghijklmnop"}})
        ask(llm, owner=owner, fails=ProvidersFailed)
    with engine.connect() as connection:
        rows = str(connection.execute(select(llm_calls).where(llm_calls.c.job_id == owner.job_id)).all())
    assert "private" not in rows
    assert "Say hello" not in rows
    assert "sk-abcdef" not in rows


def test_another_tenant_sees_no_calls(scripted_llm: ScriptedLlm, engine: Engine, owner: Owner) -> None:
    with layer(scripted_llm, ("groq",), engine) as llm:
        scripted_llm.play({"reply": "ok"})
        ask(llm, owner=owner)
    assert calls(engine, Owner("another", owner.job_id)) == []


def test_the_tokens_of_a_day_are_counted_by_tenant(scripted_llm: ScriptedLlm, engine: Engine, owner: Owner) -> None:
    with layer(scripted_llm, ("groq",), engine) as llm:
        scripted_llm.play({"reply": {"text": "ok", "input_tokens": 40, "output_tokens": 2}})
        ask(llm, owner=owner)
        ask(llm, owner=owner)
    now = datetime.now(UTC)
    with engine.connect() as connection:
        assert connection.scalar(tokens_since(owner.tenant_id, now - timedelta(hours=1))) == 84
        assert connection.scalar(tokens_since(owner.tenant_id, now + timedelta(hours=1))) == 0
        assert connection.scalar(tokens_since("nobody", now - timedelta(hours=1))) == 0


def test_a_database_that_is_away_does_not_stop_the_answers(scripted_llm: ScriptedLlm, owner: Owner) -> None:
    away = db.connect("postgresql://nobody@127.0.0.1:1/none")
    with layer(scripted_llm, ("groq",), away) as llm:
        scripted_llm.play({"reply": "ok"})
        assert ask(llm, owner=owner).reply is not None


def test_prices_know_cached_and_long_prompts_and_admit_what_they_do_not_know() -> None:
    assert cost("groq", "openai/gpt-oss-120b", TokenUsage(1_000_000, 1_000_000)) == pytest.approx(0.75)
    assert cost("anthropic", "claude-haiku-5-5", TokenUsage(200_000, 1000)) == pytest.approx(0.1025)
    assert cost("anthropic", "claude-haiku-4-5", TokenUsage(1000, 0, cached=1000)) == pytest.approx(0.0001)
    assert cost("groq", "unheard-of", TokenUsage(1, 1)) is None
    assert cost("groq", "openai/gpt-oss-120b", TokenUsage(None, 1)) is None
    written = cost("anthropic", "claude-haiku-4-5", TokenUsage(3000, 0, cached=1000, written=1000))
    assert written == pytest.approx(0.0001 + 0.00125 + 0.001)


def test_every_price_and_every_retirement_has_its_day_and_its_source() -> None:
    rows = [(row.as_of, row.source) for row in table().prices]
    rows += [(row.as_of, row.source) for row in table().retirements]
    assert all(datetime.fromisoformat(day).year >= 2026 and source.startswith("https://") for day, source in rows)


@pytest.mark.parametrize("vendor", [*VENDORS.values()], ids=[*VENDORS])
def test_no_default_model_is_past_its_retirement(vendor: VendorSpec) -> None:
    row = table().retirement(vendor.defaults.model)
    assert row is not None, f"look up when {vendor.name} ends {vendor.defaults.model}, and say so in prices.json"
    if row.date is not None:
        today = datetime.now(UTC).date()
        assert date.fromisoformat(row.date) > today, f"{row.model} is not served any more: {row.source}"


def test_retired_models_are_known() -> None:
    assert retirement("claude-sonnet-4-20250514") == "2026-06-15"
    assert retirement("openai/gpt-oss-120b") is None


def test_a_row_that_cannot_be_written_keeps_no_other_back(engine: Engine, owner: Owner) -> None:
    ledger = CallLedger(engine)
    request, link = ChatRequest("flows.edit", ()), ChainLink("groq", "m")

    def attempt(number: int, detail: str) -> ProviderAttempt:
        return ProviderAttempt(number, request, link, "primary", "server_error", detail=detail)

    for number, detail in enumerate(("before", "a\x00b", "a\ud800b", "after"), 1):
        ledger.write(owner, attempt(number, detail))
    assert [(call.attempt, call.detail) for call in calls(engine, owner)] == [
        (1, "before"), (2, None), (3, None), (4, "after"),
    ]  # fmt: skip
