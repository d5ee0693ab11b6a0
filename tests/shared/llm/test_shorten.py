"""A prompt that is longer than a model's window is shortened where it is longest, says so, and is sent once more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from shared.errors import ContextTooLong
from shared.llm.chat import ChatMessage, ChatRequest, ProviderAttempt
from shared.llm.layer import LlmLayer
from shared.llm.ledger import Owner
from shared.llm.settings import CallSettings, ProviderSettings
from shared.llm.shorten import shortened
from shared.llm.tokens import prompt_tokens
from shared.loop import Budget
from tests.shared.llm.support import ask
from tests.support.scripted import ScriptedLlm

DATA = "BEGIN " + "rows and columns " * 2000 + "What is the sum?"
LONG = (ChatMessage("system", "Be brief."), ChatMessage("user", "Hi"), ChatMessage("user", DATA))


@pytest.fixture(params=["llama.cpp", "vllm", "lm-studio", "ollama"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def llm(scripted_llm: ScriptedLlm) -> Iterator[LlmLayer]:
    named = {"OPENAI_BASE_URL": scripted_llm.base_url("openai"), "OPENAI_MODEL": "smollm2"}
    layer = LlmLayer(ProviderSettings(named), CallSettings(), None, None)
    try:
        yield layer
    finally:
        layer.close()


def test_an_overflow_that_a_server_reports_is_shortened_and_asked_once_more(
    llm: LlmLayer, scripted_llm: ScriptedLlm, kind: str
) -> None:
    fault = {"kind": "seen", "name": f"{kind} overflow"}
    scripted_llm.play({"times": 1, "fault": fault}, {"reply": "42"}, server={"kind": kind, "models": []})
    asked = ask(llm, messages=LONG)
    assert asked.attempts("outcome") == [("context_too_long",), ("ok",)]
    assert asked.warnings == [
        f"The model's window is too small for the prompt (flows.edit{'' if kind == 'ollama' else ', 2048 tokens'}). "
        "Left out: the middle of the longest messages."
    ]
    ((_, told),) = [event for event in asked.events if event[0] == "prompt_shortened"]
    sent = scripted_llm.requests()[-1]["body"]["messages"]
    assert [sent[0]["content"], sent[1]["content"]] == ["Be brief.", "Hi"]
    assert sent[2]["content"].startswith("BEGIN ")
    assert sent[2]["content"].endswith("What is the sum?")
    assert "characters are left out here" in sent[2]["content"]
    if kind != "ollama":  # which does not say how long its window is
        assert (told["window"], int(str(told["kept"])) <= 2048) == (2048, True)
        ask(llm, messages=LONG)
        assert len(scripted_llm.requests()) == 3, "the window is known now: nothing was sent that does not fit"


def test_a_known_window_is_respected_before_anything_is_sent(scripted_llm: ScriptedLlm, kind: str) -> None:
    served: Any = {"kind": kind, "models": ["smollm2"], "window": 2048}
    scripted_llm.play({"reply": "42"}, server=served)
    layer = LlmLayer(ProviderSettings({"OPENAI_BASE_URL": scripted_llm.base_url("openai")}), CallSettings(), None, None)
    try:
        asked = ask(layer, messages=LONG)
        assert asked.attempts("outcome") == [("ok",)], "no call was spent on what does not fit"
        (sent,) = scripted_llm.requests()
        size = prompt_tokens(ChatRequest("r", tuple(ChatMessage("user", each) for each in sent["messages"])))
        assert size + sent["body"]["max_tokens"] <= 2048 + 32
        assert sent["body"]["max_tokens"] >= 256
        ask(layer)
        assert scripted_llm.requests()[-1]["body"]["max_tokens"] < 2048
    finally:
        layer.close()


def test_a_prompt_that_cannot_be_shortened_is_an_error_of_its_own(llm: LlmLayer, scripted_llm: ScriptedLlm) -> None:
    scripted_llm.play({"fault": {"kind": "seen", "name": "llama.cpp overflow"}})
    asked = ask(llm, messages=LONG, fails=ContextTooLong)
    assert asked.attempts("outcome") == [("context_too_long",)] * 2, "asked once more, and not again"
    many = tuple(ChatMessage("user", "x" * 150) for _ in range(200))
    assert shortened(ChatRequest("r", many), 2048) is None


def test_a_model_whose_window_is_too_small_is_passed_over_once(scripted_llm: ScriptedLlm) -> None:
    scripted_llm.play({"reply": "42"}, server={"kind": "llama.cpp", "models": ["smollm2"], "window": 2048})
    layer = LlmLayer(ProviderSettings({"OPENAI_BASE_URL": scripted_llm.base_url("openai")}), CallSettings(), None, None)
    many = tuple(ChatMessage("user", "x" * 150) for _ in range(200))
    made: list[ProviderAttempt] = []
    try:
        with pytest.raises(ContextTooLong):
            layer.for_job(Owner("t", "j"), Budget(), on_attempt=made.append).complete(ChatRequest("flows.edit", many))
        assert [attempt.outcome for attempt in made] == ["skipped"]
        assert scripted_llm.requests() == []
    finally:
        layer.close()


def test_what_the_system_is_told_is_cut_last() -> None:
    rules = "A rule. " * 300
    request = ChatRequest("r", (ChatMessage("system", rules), ChatMessage("user", DATA)))
    made = shortened(request, 2048)
    assert made is not None
    kept = made.request
    assert kept.messages[0].content == rules
    assert prompt_tokens(kept) + kept.max_tokens <= 2048
    made = shortened(request, 700)
    assert made is not None
    tight = made.request
    assert "left out" in tight.messages[0].content
    assert prompt_tokens(tight) + tight.max_tokens <= 700
