"""What real model servers answer, in their own words on the wire, is taken as what it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from shared.errors import ContextTooLong, ProvidersFailed
from shared.llm.chat import ChatMessage, ChatRequest, Finish, ImagePart, JsonSchema
from shared.llm.layer import LlmLayer
from shared.llm.ledger import Owner
from shared.llm.reasoning import split_thoughts
from shared.llm.settings import CallSettings, ProviderSettings, endpoints
from shared.loop import Budget
from tests.shared.llm.support import HELLO, ask, layer
from tests.support.scripted import ScriptedLlm
from tests.support.wait import until

SCHEMA = JsonSchema("answer", {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]})
PICTURE = (ChatMessage("user", "What is on it?", images=(ImagePart("image/png", b"png"),)),)


def seen(name: str) -> dict[str, str]:
    return {"kind": "seen", "name": name}


@pytest.fixture
def llm(scripted_llm: ScriptedLlm) -> Iterator[LlmLayer]:
    with layer(scripted_llm, ("openai",)) as llm:
        yield llm


@pytest.mark.slow
@pytest.mark.parametrize("words", ["llama.cpp loading", "ollama loading"])
def test_a_server_that_loads_its_model_is_waited_for_and_has_not_failed(
    llm: LlmLayer, scripted_llm: ScriptedLlm, words: str
) -> None:
    scripted_llm.play({"times": 4, "fault": seen(words)}, {"reply": "ready"})
    asked = ask(llm)
    assert asked.reply is not None
    assert asked.reply.text == "ready"
    assert asked.attempts("outcome", "reason") == [
        ("starting", "primary"), *[("starting", "retry")] * 3, ("ok", "retry"),
    ]  # fmt: skip
    assert {each.name: each.state for each in llm.providers()}["openai"] == "closed"


def test_while_a_server_loads_the_next_one_answers_at_once(scripted_llm: ScriptedLlm) -> None:
    with layer(scripted_llm, ("groq", "cerebras")) as llm:
        scripted_llm.play({"when": {"provider": "groq"}, "fault": seen("llama.cpp loading")}, {"reply": "ok"})
        for _ in range(4):
            assert ask(llm).attempts("provider", "outcome") == [("groq", "starting"), ("cerebras", "ok")]


def test_the_only_server_is_asked_although_it_failed_often(scripted_llm: ScriptedLlm) -> None:
    with layer(scripted_llm, ("openai",), breaker_failures=1, breaker_cooldown_seconds=600, patience_seconds=0) as llm:
        scripted_llm.play({"times": 1, "fault": "server_error"}, {"reply": "back"})
        ask(llm, fails=ProvidersFailed)
        asked = ask(llm)
        assert asked.attempts("outcome", "reason") == [("ok", "retry")]
        assert {each.name: each.state for each in llm.providers()}["openai"] == "closed"


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["disconnect", {"kind": "status", "status": 503, "message": "slots are busy"}])
def test_the_only_server_is_waited_for_when_it_has_answered_before(
    llm: LlmLayer, scripted_llm: ScriptedLlm, fault: Any
) -> None:
    scripted_llm.play({"reply": "here"})
    ask(llm)
    scripted_llm.play({"times": 3, "fault": fault}, {"reply": "back"})
    asked = ask(llm)
    assert asked.reply is not None
    assert asked.reply.text == "back"


@pytest.mark.parametrize(
    "words", ["llama.cpp images", "vllm images", "vllm no images", "ollama images", "lm-studio images"]
)
def test_a_model_that_does_not_see_is_asked_without_the_images(
    llm: LlmLayer, scripted_llm: ScriptedLlm, words: str
) -> None:
    scripted_llm.play({"times": 1, "fault": seen(words)}, {"reply": "a name only"})
    asked = ask(llm, messages=PICTURE)
    assert asked.attempts("outcome") == [("images_unsupported",), ("ok",)]
    assert asked.reply is not None
    assert asked.reply.unseen == 1
    first, second = (str(each["body"]["messages"]) for each in scripted_llm.requests())
    assert ("image_url" in first, "image_url" in second) == (True, False)
    assert ask(llm, messages=PICTURE).attempts("outcome") == [("ok",)], "the next one goes without at once"
    assert {each.name: each.last_error for each in llm.providers()}["openai"] is None


@pytest.mark.parametrize(
    "words",
    ["llama.cpp samplers", "llama.cpp parser", "vllm schema", "ollama schema", "fastapi schema", "string error"],
)
def test_a_schema_that_is_refused_in_any_words_is_left_out(
    llm: LlmLayer, scripted_llm: ScriptedLlm, words: str
) -> None:
    scripted_llm.play({"times": 1, "fault": seen(words)}, {"reply": '{"a": "b"}'})
    assert ask(llm, schema=SCHEMA).attempts("outcome") == [("schema_unsupported",), ("ok",)]
    assert ["response_format" in each["body"] for each in scripted_llm.requests()] == [True, False]
    assert ask(llm, schema=SCHEMA).attempts("outcome") == [("ok",)], "the next one goes without at once"


def test_a_request_that_is_refused_for_another_reason_costs_one_more_and_is_not_remembered(
    llm: LlmLayer, scripted_llm: ScriptedLlm
) -> None:
    scripted_llm.play({"times": 2, "fault": seen("string error")}, {"reply": '{"a": "b"}'})
    ask(llm, schema=SCHEMA, fails=ProvidersFailed)
    assert ask(llm, schema=SCHEMA).attempts("outcome") == [("ok",)]
    assert "response_format" in scripted_llm.requests()[-1]["body"]


@pytest.mark.parametrize(
    "words",
    ["llama.cpp", "vllm", "ollama", "lm-studio", "openai", "groq", "cerebras", "anthropic"],
)
def test_an_overflow_has_a_code_of_its_own_in_every_servers_words(
    llm: LlmLayer, scripted_llm: ScriptedLlm, words: str
) -> None:
    scripted_llm.play({"fault": seen(f"{words} overflow")})
    job = llm.for_job(Owner("t", "j"), Budget(seconds=20))
    with pytest.raises(ContextTooLong) as failed:
        job.complete(_long())
    assert (failed.value.code, failed.value.status) == ("context_too_long", 422)
    told = words in ("llama.cpp", "vllm", "lm-studio", "openai", "cerebras", "anthropic")
    assert failed.value.extra["window"] == (2048 if told else None)
    first, second = (sum(map(len, each["messages"])) for each in scripted_llm.requests())
    assert second < first, "it was shortened, and asked once more"


def test_a_cap_that_does_not_fit_beside_the_prompt_is_lowered(llm: LlmLayer, scripted_llm: ScriptedLlm) -> None:
    scripted_llm.play({"times": 1, "fault": seen("vllm cap")}, {"reply": "short"})
    assert ask(llm).attempts("outcome") == [("context_too_long",), ("ok",)]
    first, second = (each["body"]["max_tokens"] for each in scripted_llm.requests())
    assert (first, second) == (8192, 2048 - 311 - 16)


@pytest.mark.parametrize("stream", [True, False])
def test_what_was_thought_is_no_part_of_the_answer(scripted_llm: ScriptedLlm, stream: bool) -> None:
    with layer(scripted_llm, ("openai",), stream=stream) as llm:
        for reply in (
            "<think>\nhm </answer>\n</think>\n\nFour.",
            "hm, two and two\n</think>\n\nFour.",
            {"text": "Four.", "reasoning": "two and two"},
        ):
            scripted_llm.play({"reply": reply})
            asked = ask(llm)
            assert asked.reply is not None
            assert (asked.reply.text, bool(asked.reply.reasoning)) == ("Four.", True)


@pytest.mark.parametrize(
    ("text", "thought", "answer"),
    [
        ("<think>a</think><think>b</think>c", "a\nb", "c"),
        ("<think>never ends", "never ends", ""),
        ("<THINK>a</THINK> b", "a", "b"),
        ("The tag <think>x</think> is HTML.", "", "The tag <think>x</think> is HTML."),
        ("Close it with </think> there.", "", "Close it with </think> there."),
        ("<thinking>ours</thinking><response>[]</response>", "", "<thinking>ours</thinking><response>[]</response>"),
        ("<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b", "a", "b"),
    ],
)
def test_thoughts_are_split_off_at_the_beginning_only(text: str, thought: str, answer: str) -> None:
    assert split_thoughts(text) == (thought, answer)


@pytest.mark.parametrize("reply", ["<think>so much to think", {"text": "", "reasoning": "so much to think"}])
def test_an_answer_that_was_only_thought_is_told_so_and_its_tokens_count(
    llm: LlmLayer, scripted_llm: ScriptedLlm, reply: Any
) -> None:
    said = {"text": reply} if isinstance(reply, str) else reply
    scripted_llm.play({"reply": {**said, "input_tokens": 7, "output_tokens": 90}})
    asked = ask(llm, fails=ProvidersFailed)
    assert asked.attempts("outcome", "input_tokens", "output_tokens") == [("only_thought", 7, 90)]
    assert (asked.usage.input_tokens, asked.usage.output_tokens) == (7, 90)


def test_an_empty_answer_keeps_its_usage(llm: LlmLayer, scripted_llm: ScriptedLlm) -> None:
    scripted_llm.play({"reply": {"text": " \n", "input_tokens": 40, "output_tokens": 2}})
    asked = ask(llm, fails=ProvidersFailed)
    assert asked.attempts("outcome", "input_tokens", "output_tokens") == [("empty_answer", 40, 2)]


def test_a_stream_that_says_done_without_a_finish_reason_has_ended(llm: LlmLayer, scripted_llm: ScriptedLlm) -> None:
    scripted_llm.play({"fault": "done_only", "reply": "all of it"})
    asked = ask(llm)
    assert asked.reply is not None
    assert (asked.reply.text, asked.reply.finish) == ("all of it", Finish.STOP)


@pytest.mark.parametrize("words", ["string error", "fastapi detail", "bare message", "no json"])
def test_an_error_in_any_form_keeps_its_words(llm: LlmLayer, scripted_llm: ScriptedLlm, words: str) -> None:
    scripted_llm.play({"fault": seen(words)})
    job = llm.for_job(Owner("t", "j"), Budget(seconds=20))
    with pytest.raises(ProvidersFailed, match="the template could not be applied"):
        job.complete(_long())


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": -1, "completion_tokens": 10**12},
        {"prompt_tokens": "many", "completion_tokens": 1.5},
        {"prompt_tokens": None},
    ],
)
def test_an_absurd_usage_is_as_good_as_none(llm: LlmLayer, scripted_llm: ScriptedLlm, usage: dict[str, Any]) -> None:
    scripted_llm.play({"reply": {"text": "ok", "usage": usage}})
    assert ask(llm).attempts("input_tokens", "output_tokens") == [(None, None)]


def test_an_address_of_ones_own_needs_no_key_and_may_take_all_its_time_for_the_first_token() -> None:
    settings = ProviderSettings({"OPENAI_BASE_URL": "http://host.docker.internal:11434/v1", "GROQ_API_KEY": "k"})
    given = {each.name: each for each in endpoints(settings, CallSettings(total_seconds=90))}
    assert given["openai"].configured
    assert (given["openai"].limits.first_token, given["groq"].limits.first_token) == (90, 30)
    assert (given["openai"].limits.idle, given["groq"].limits.idle) == (60, 15), "its processors may be busy"
    chosen = {each.name: each for each in endpoints(settings, CallSettings(first_token_seconds=7, idle_seconds=9))}
    assert (chosen["openai"].limits.first_token, chosen["openai"].limits.idle) == (7, 9)
    far = ProviderSettings({"OPENAI_BASE_URL": "https://models.example/v1"})
    assert {each.name: each.configured for each in endpoints(far, CallSettings())}["openai"]


def _long() -> ChatRequest:
    return ChatRequest("flows.edit", (*HELLO, ChatMessage("user", "word " * 4000)))


@pytest.mark.slow
def test_an_absent_server_that_answered_before_is_waited_for_within_patience(scripted_llm: ScriptedLlm) -> None:
    """The wait ends with patience, and says what was seen."""
    with layer(scripted_llm, ("openai",), patience_seconds=0.6) as llm:
        scripted_llm.play({"reply": "here"})
        ask(llm)
        scripted_llm.play({"fault": {"kind": "status", "status": 503, "message": "busy"}})
        asked = ask(llm, fails=ProvidersFailed)
        assert {outcome for (outcome,) in asked.attempts("outcome")} == {"overloaded"}
        assert len(asked.attempts("outcome")) >= 2
        scripted_llm.play({"reply": "here"})
        until(lambda: ask(llm).attempts("outcome") == [("ok",)], "it answers again")
