"""One suite for every provider: the same requests and answers over four wire formats, streamed or not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from shared.errors import ProvidersFailed
from shared.llm.chat import ChatMessage, Finish, ImagePart, JsonSchema, TokenUsage, Tool, ToolUse
from shared.llm.layer import LlmLayer
from tests.shared.llm.support import HELLO, PROVIDERS, ask, layer
from tests.support.scripted import ScriptedLlm

TOOL = Tool("addNode", "adds a node", {"type": "object", "properties": {"label": {"type": "string"}}})
CALL = {"name": "addNode", "params": {"label": "A"}, "id": "t1"}


@pytest.fixture(scope="module", params=[True, False], ids=["streamed", "whole"])
def streamed(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(scope="module")
def llm(streamed: bool, scripted_llm: ScriptedLlm) -> Iterator[LlmLayer]:
    with layer(scripted_llm, stream=streamed, breaker_failures=1000) as llm:
        yield llm


@pytest.fixture(scope="module")
def hasty(streamed: bool, scripted_llm: ScriptedLlm) -> Iterator[LlmLayer]:
    with layer(scripted_llm, stream=streamed, breaker_failures=1000, hasty=PROVIDERS) as llm:
        yield llm


@pytest.fixture(params=PROVIDERS)
def model(request: pytest.FixtureRequest) -> str:
    """A model of its own for every test, so that no park of another one is in the way."""
    name = request.node.name.replace("/", "-")
    return f"{request.param}/{name}"


def body(server: ScriptedLlm) -> dict[str, Any]:
    (request,) = server.requests()
    body: dict[str, Any] = request["body"]
    return body


@pytest.mark.slow
def test_text_and_usage_come_back(llm: LlmLayer, model: str, scripted_llm: ScriptedLlm) -> None:
    scripted_llm.play({"reply": {"text": "Hello, wörld\nand more ", "input_tokens": 12, "output_tokens": 5}})
    reply = ask(llm, model).reply
    assert reply is not None
    assert reply.text == "Hello, wörld\nand more "
    assert (reply.finish, reply.usage) == (Finish.STOP, TokenUsage(12, 5, reply.usage.cached))
    assert f"{reply.provider}/{reply.model}" == model
    assert reply.source == "scripted"


@pytest.mark.slow
def test_the_words_arrive_as_they_were_said(llm: LlmLayer, model: str, scripted_llm: ScriptedLlm) -> None:
    scripted_llm.play({"reply": "ok"})
    messages = (*HELLO, ChatMessage("assistant", "Hello"), ChatMessage("user", "Again"))
    ask(llm, model, messages=messages, turn=3, max_tokens=77)
    (request,) = scripted_llm.requests()
    assert request["messages"] == ["Be brief.", "Say hello", "Hello", "Again"]
    assert (request["role"], request["turn"], request["last_user"]) == ("flows.edit", 3, "Again")
    assert 77 in (request["body"].get("max_tokens"), request["body"].get("max_completion_tokens"))


def test_the_connection_is_kept(llm: LlmLayer, model: str, scripted_llm: ScriptedLlm) -> None:
    scripted_llm.play({"reply": "ok"})
    for _ in range(3):
        ask(llm, model)
    assert len({request["port"] for request in scripted_llm.requests()}) == 1


def test_unknown_usage_stays_unknown(llm: LlmLayer, model: str, scripted_llm: ScriptedLlm) -> None:
    if model.startswith("anthropic"):
        pytest.skip("this vendor always counts")
    scripted_llm.play({"reply": {"text": "ok", "usage": False}})
    asked = ask(llm, model)
    assert asked.reply is not None
    assert asked.reply.usage == TokenUsage()
    assert asked.usage.known_cost is None


def test_native_tool_calls_come_back(llm: LlmLayer, model: str, scripted_llm: ScriptedLlm) -> None:
    second = {"name": "addNode", "params": {"label": "B", "at": {"x": 1.5, "tags": ["ü"]}}, "id": "t2"}
    scripted_llm.play({"reply": {"text": "I add", "tool_calls": [CALL, second]}})
    reply = ask(llm, model, tools=(TOOL,)).reply
    assert reply is not None
    assert reply.text == "I add"
    assert reply.finish is Finish.TOOL_CALLS
    assert [(call.id, call.name, dict(call.params)) for call in reply.tool_calls] == [
        ("t1", "addNode", CALL["params"]),
        ("t2", "addNode", second["params"]),
    ]
    assert scripted_llm.requests()[0]["tools"] == ["addNode"]


def test_a_tools_answer_is_told(llm: LlmLayer, model: str, scripted_llm: ScriptedLlm) -> None:
    scripted_llm.play({"reply": "ok"})
    calls = (ToolUse("t1", "addNode", {"label": "A"}),)
    messages = (
        *HELLO,
        ChatMessage("assistant", "", tool_calls=calls),
        ChatMessage("tool", "added", tool_call_id="t1"),
    )
    ask(llm, model, messages=messages, tools=(TOOL,))
    assert "added" in str(body(scripted_llm)["messages"])
    assert "t1" in str(body(scripted_llm)["messages"])


def test_a_schema_is_sent(llm: LlmLayer, model: str, scripted_llm: ScriptedLlm) -> None:
    scripted_llm.play({"reply": {"json": {"table": "x"}}})
    schema = JsonSchema("plan", {"type": "object", "properties": {"table": {"type": "string"}}, "required": ["table"]})
    reply = ask(llm, model, schema=schema).reply
    assert reply is not None
    assert reply.text == '{"table": "x"}'
    sent = body(scripted_llm)
    form = sent["output_config"]["format"] if model.startswith("anthropic") else sent["response_format"]
    assert form["type"] == "json_schema"
    assert "additionalProperties" in str(form)


def test_a_model_without_schemas_is_asked_again_without(llm: LlmLayer, model: str, scripted_llm: ScriptedLlm) -> None:
    refused = {"kind": "status", "status": 400, "message": "response_format json_schema is not supported"}
    scripted_llm.play({"times": 1, "fault": refused}, {"reply": "{}"})
    asked = ask(llm, model, schema=JsonSchema("plan", {"type": "object"}))
    assert asked.attempts("outcome", "reason") == [("schema_unsupported", "primary"), ("ok", "retry")]
    assert "json_schema" not in str(scripted_llm.requests()[-1]["body"])
    ask(llm, model, schema=JsonSchema("plan", {"type": "object"}))
    assert len(scripted_llm.requests()) == 3, "it is remembered"


def test_an_image_is_sent(llm: LlmLayer, model: str, scripted_llm: ScriptedLlm) -> None:
    scripted_llm.play({"reply": "a dot"})
    ask(llm, model, messages=(ChatMessage("user", "What is it?", images=(ImagePart("image/png", b"\x89PNG"),)),))
    assert "iVBORw==" in str(body(scripted_llm)["messages"])


def test_parameters_go_to_those_who_take_them(llm: LlmLayer, model: str, scripted_llm: ScriptedLlm) -> None:
    scripted_llm.play({"reply": "ok"})
    ask(llm, model, parameters={"temperature": 0.5, "reasoning_effort": "low", "made_up": 1})
    sent = body(scripted_llm)
    assert sent["made_up"] == 1
    assert ("temperature" in sent) is (not model.startswith("anthropic"))


def test_a_refusal_and_a_length_cut_are_answers(llm: LlmLayer, model: str, scripted_llm: ScriptedLlm) -> None:
    scripted_llm.play({"reply": "I would rather not", "fault": "refusal"})
    refused = ask(llm, model).reply
    assert refused is not None
    assert (refused.finish, refused.text) == (Finish.REFUSAL, "I would rather not")
    scripted_llm.play({"reply": "0123456789", "fault": "length"})
    cut = ask(llm, model).reply
    assert cut is not None
    assert (cut.finish, cut.text) == (Finish.LENGTH, "01234")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ({"status": 400}, "request_refused"),
        ({"status": 401}, "invalid_key"),
        ({"status": 402}, "payment_required"),
        ({"status": 403}, "forbidden"),
        ({"status": 404, "code": "model_not_found"}, "unknown_model"),
        ({"status": 404, "message": "not found"}, "endpoint_not_found"),
        ({"status": 408}, "timed_out"),
        ({"status": 409}, "server_error"),
        ({"status": 413}, "request_refused"),
        ({"status": 422}, "request_refused"),
        ({"status": 429}, "rate_limited"),
        ({"status": 500}, "server_error"),
        ({"status": 502}, "server_error"),
        ({"status": 503}, "overloaded"),
        ({"status": 504}, "timed_out"),
        ({"status": 529}, "overloaded"),
        ({"kind": "disconnect"}, "stream_cut"),
        ({"kind": "cut"}, "stream_cut"),
        ({"kind": "malformed"}, "unreadable_answer"),
        ({"kind": "html"}, "unreadable_answer"),
        ({"kind": "empty"}, "empty_answer"),
        ({"kind": "error_event"}, "overloaded"),
        ({"kind": "error_event", "status": 429}, "rate_limited"),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(map(str, value.values())),
)
def test_every_fault_has_its_code(
    llm: LlmLayer, model: str, scripted_llm: ScriptedLlm, fault: dict[str, Any], code: str
) -> None:
    scripted_llm.play({"reply": "never all of this", "fault": {"kind": "status", **fault}})
    asked = ask(llm, model, fails=ProvidersFailed)
    assert {outcome for (outcome,) in asked.attempts("outcome")} <= {code, "stale_connection"}
    assert asked.attempts("outcome")[-1] == (code,)


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["hang", "stall"])
def test_a_silent_provider_is_given_up(hasty: LlmLayer, model: str, scripted_llm: ScriptedLlm, fault: str) -> None:
    scripted_llm.play({"reply": "never all of this", "fault": fault})
    assert ask(hasty, model, fails=ProvidersFailed).attempts("outcome")[-1] == ("timed_out",)
