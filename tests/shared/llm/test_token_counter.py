"""Tokens by the server's own tokenizer: where it has one, where they may be too many, and once for each text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from shared.llm.chat import ChatMessage, Compacted
from shared.llm.layer import LlmLayer
from shared.llm.settings import CallSettings, ProviderSettings
from shared.llm.token_counter import count_of
from tests.shared.llm.support import ask
from tests.support.scripted import ScriptedLlm

#: About 2,300 tokens by the estimate, 1,730 by the server.
NEAR = (ChatMessage("system", "Be brief."), ChatMessage("user", "word " * 1380))


@contextmanager
def layer(server: ScriptedLlm, kind: str, *, tokenizes: bool = True, window: int = 2048) -> Iterator[LlmLayer]:
    served = {"kind": kind, "models": ["smollm2"], "window": window, "tokenizes": tokenizes}
    server.play({"reply": "42"}, server=served)
    llm = LlmLayer(ProviderSettings({"OPENAI_BASE_URL": server.base_url("openai")}), CallSettings(), None, None)
    try:
        yield llm
    finally:
        llm.close()


@pytest.mark.parametrize("kind", ["llama.cpp", "vllm"])
def test_a_prompt_that_fits_by_the_servers_count_is_sent_whole(scripted_llm: ScriptedLlm, kind: str) -> None:
    with layer(scripted_llm, kind) as llm:
        asked = ask(llm, messages=NEAR)
        assert [type for type, _ in asked.events] == ["llm_call"]
        assert scripted_llm.requests()[-1]["messages"][-1] == NEAR[-1].content


def test_without_a_tokenizer_the_estimate_holds(scripted_llm: ScriptedLlm) -> None:
    with layer(scripted_llm, "llama.cpp", tokenizes=False) as llm:
        assert [type for type, _ in ask(llm, messages=NEAR).events] == ["prompt_shortened", "llm_call"]


def test_each_text_is_counted_once_and_only_near_the_window(scripted_llm: ScriptedLlm) -> None:
    with layer(scripted_llm, "llama.cpp") as llm:
        ask(llm)
        before = scripted_llm.tokenized()
        ask(llm, messages=(ChatMessage("user", "word " * 600),))
        assert scripted_llm.tokenized() == before, "1,000 tokens by the estimate fit, however they are counted"
        ask(llm, messages=NEAR)
        ask(llm, messages=(*NEAR, ChatMessage("assistant", "42"), ChatMessage("user", "And now?")))
        assert scripted_llm.tokenized() == before + 1, "the long text once, short ones never"


def test_a_tokenizer_that_fails_is_left_alone_and_the_estimate_holds(scripted_llm: ScriptedLlm) -> None:
    with layer(scripted_llm, "llama.cpp") as llm:
        ask(llm)
        scripted_llm.play({"reply": "42"}, server={"models": ["smollm2"], "window": 2048})
        asked = ask(llm, messages=NEAR)
        assert [type for type, _ in asked.events] == ["prompt_shortened", "llm_call"]


def test_what_is_kept_of_a_prompt_is_measured_by_the_servers_count(scripted_llm: ScriptedLlm) -> None:
    much = (ChatMessage("user", "word " * 4000),)
    with layer(scripted_llm, "llama.cpp") as llm:
        asked = ask(llm, messages=much)
    ((_, told),) = [event for event in asked.events if event[0] == "prompt_shortened"]
    assert told["tokens"] == pytest.approx(5009, abs=20)
    sent = len(scripted_llm.requests()[-1]["messages"][0]) // 4
    assert 1400 < sent <= 1536, "three quarters of the window, in the server's tokens"
    assert told["kept"] == pytest.approx(sent, abs=30)


def test_a_kind_says_itself_what_it_can_do_without(scripted_llm: ScriptedLlm) -> None:
    budgets: list[int] = []

    def compact(tokens: int) -> Compacted:
        budgets.append(tokens)
        return Compacted((ChatMessage("user", "the short form"),), ("the long form",))

    with layer(scripted_llm, "llama.cpp") as llm:
        asked = ask(llm, messages=(ChatMessage("user", "word " * 4000),), compact=compact)
    assert scripted_llm.requests()[-1]["messages"] == ["the short form"]
    assert [data["left_out"] for type, data in asked.events if type == "prompt_shortened"] == [["the long form"]]
    assert asked.warnings[0].endswith("(flows.edit, 2048 tokens). Left out: the long form.")
    assert len(budgets) == 1


@pytest.mark.parametrize(
    ("answer", "count"),
    [
        ({"tokens": [1, 2]}, 2),
        ({"count": 7, "tokens": [1]}, 7),
        ({"count": -1}, None),
        ({"tokens": "x"}, None),
        ([], None),
    ],
)
def test_answers_of_tokenizers_are_read_with_care(answer: object, count: int | None) -> None:
    assert count_of(answer) == count
