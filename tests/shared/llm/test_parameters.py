"""Parameters of calls: what a vendor does not take is left out and reported; caps mean the same under each name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Engine, select

from shared import db
from shared.llm.layer import LlmLayer
from shared.llm.ledger import Owner
from shared.llm.tables import llm_calls
from tests.shared.llm.support import ask, layer
from tests.support.scripted import ScriptedLlm

REPRODUCIBLE = {"temperature": 0, "seed": 1}
NO_TEMPERATURE = "Unsupported value: 'temperature' does not support 0 with this model."
NO_EFFORT = "output_config.effort: this model does not support the effort parameter."


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    engine = db.connect(database_url)
    yield engine
    engine.dispose()


@pytest.fixture
def llm(scripted_llm: ScriptedLlm) -> Iterator[LlmLayer]:
    with layer(scripted_llm) as built:
        yield built


def refused(words: str) -> dict[str, Any]:
    return {"fault": {"kind": "status", "status": 400, "message": words}, "times": 1}


def test_a_call_is_made_with_its_own_parameters_before_the_chains(llm: LlmLayer, scripted_llm: ScriptedLlm) -> None:
    scripted_llm.play({"reply": "ok"})
    asked = ask(llm, parameters=REPRODUCIBLE)
    body = scripted_llm.requests()[-1]["body"]
    assert (body["temperature"], body["seed"], body["reasoning_effort"]) == (0, 1, "low")
    assert asked.reply is not None
    assert asked.reply.ignored == ()


def test_parameters_that_a_wire_has_no_place_for_are_named(llm: LlmLayer, scripted_llm: ScriptedLlm) -> None:
    scripted_llm.play({"reply": "ok"})
    asked = ask(llm, "anthropic/claude-haiku-5-5", parameters=REPRODUCIBLE)
    assert {"temperature", "seed"}.isdisjoint(scripted_llm.requests()[-1]["body"])
    assert asked.reply is not None
    assert asked.reply.ignored == ("seed", "temperature")


def test_a_model_that_refuses_its_temperature_is_asked_without_it_and_remembered(
    llm: LlmLayer, scripted_llm: ScriptedLlm
) -> None:
    scripted_llm.play(refused(NO_TEMPERATURE), {"reply": "ok"})
    first = ask(llm, "openai/o9", parameters={**REPRODUCIBLE, "reasoning_effort": "low"})
    second = ask(llm, "openai/o9", parameters=REPRODUCIBLE)
    assert first.attempts("outcome") == [("sampling_unsupported",), ("ok",)]
    assert second.attempts("outcome") == [("ok",)]
    assert "temperature" not in scripted_llm.requests()[1]["body"]
    assert scripted_llm.requests()[1]["body"]["reasoning_effort"] == "low"
    assert second.reply is not None
    assert second.reply.ignored == ("seed", "temperature")


def test_effort_is_told_in_the_vendors_own_place_and_left_out_where_it_is_refused(
    llm: LlmLayer, scripted_llm: ScriptedLlm
) -> None:
    scripted_llm.play(refused(NO_EFFORT), {"reply": "ok"})
    asked = ask(llm, "anthropic/claude-haiku-5-5", parameters={"reasoning_effort": "none"})
    first, second = (request["body"].get("output_config") for request in scripted_llm.requests())
    assert (first, second) == ({"effort": "low"}, None)
    assert asked.attempts("outcome") == [("effort_unsupported",), ("ok",)]


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
@pytest.mark.parametrize("model", ["groq/openai/gpt-oss-120b", "anthropic/claude-haiku-5-5", "openai/m"])
def test_a_roles_cap_holds_under_either_name_and_only_makes_answers_shorter(
    llm: LlmLayer, scripted_llm: ScriptedLlm, model: str, name: str
) -> None:
    scripted_llm.play({"reply": "ok"})
    for cap in (500, 50_000):
        ask(llm, model, parameters={name: cap}, max_tokens=1000)
        body = scripted_llm.requests()[-1]["body"]
        assert [body[each] for each in ("max_tokens", "max_completion_tokens") if each in body] == [min(cap, 1000)]


def test_the_ledger_has_what_the_model_was_asked_with(scripted_llm: ScriptedLlm, engine: Engine) -> None:
    scripted_llm.play({"reply": "ok"})
    with layer(scripted_llm, engine=engine) as llm:
        for model in ("groq/openai/gpt-oss-120b", "anthropic/claude-haiku-5-5"):
            ask(llm, model, parameters={**REPRODUCIBLE, "stop": ["x"]}, owner=Owner("tenant", "parameters"))
    with engine.connect() as connection:
        rows = connection.scalars(select(llm_calls.c.parameters).where(llm_calls.c.job_id == "parameters"))
        assert [row and row.get("seed") for row in rows] == [1, None]
