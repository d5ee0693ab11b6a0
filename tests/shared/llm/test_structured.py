"""Structured answers: the form is checked whatever the provider promised, in words that the model can act on."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, ConfigDict, Field

from shared.llm.chat import ChatReply, ChatRequest, Finish, Tool
from shared.llm.faults import ToolUseFailed
from shared.llm.json_text import AnswerUnreadable
from shared.llm.salvage import salvaged
from shared.llm.structured import json_answer, schema_of
from shared.llm.wires.schemas import closed


class Plan(BaseModel):
    model_config = ConfigDict(extra="forbid")

    table: str
    limit: int = Field(ge=1, le=100)


def reply(text: str, finish: Finish = Finish.STOP) -> ChatReply:
    return ChatReply(text, "groq", "m", finish)


@pytest.mark.parametrize(
    "text",
    [
        '{"table": "sessions", "limit": 10}',
        '```json\n{"table": "sessions", "limit": 10}\n```',
        'Sure!\n{"table": "sessions", "limit": 10}',
        '{"table": "sessions", "limit": 10,} // done',
    ],
)
def test_an_answer_of_the_form_is_read(text: str) -> None:
    assert json_answer(reply(text), Plan) == Plan(table="sessions", limit=10)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (reply('{"table": "s", "limit": 0}'), "limit"),
        (reply('{"table": "s"}'), "limit: Field required"),
        (reply('{"table": "s", "limit": 1, "drop": true}'), "drop"),
        (reply('{"table": "s", "limit": NaN}'), "NaN"),
        (reply('{"table": "s", "limi'), "middle"),
        (reply("I cannot do that"), "no JSON"),
        (reply(""), "empty"),
        (reply('{"table": "s", "limit": 1}', Finish.REFUSAL), "refused"),
        (reply('{"table": "s", "limit": 1', Finish.LENGTH), "cut off"),
    ],
)
def test_anything_else_is_explained(given: ChatReply, words: str) -> None:
    with pytest.raises(AnswerUnreadable, match=words):
        json_answer(given, Plan)


def test_the_explanation_never_repeats_the_whole_answer() -> None:
    with pytest.raises(AnswerUnreadable) as attempts:
        json_answer(reply('{"table": "' + "s" * 5000 + '", "limit": "many"}'), Plan)
    assert len(str(attempts.value)) < 500


def test_schemas_are_closed_and_strict_only_where_strict_modes_can_hold_them() -> None:
    class Whole(BaseModel):
        table: str
        inner: list[Plan]

    schema, strict = closed(schema_of(Plan).schema)
    assert (schema["additionalProperties"], strict) == (False, True)
    assert closed(schema_of(Whole).schema)[1]
    assert not closed({"type": "object", "properties": {"a": {"type": "string"}}, "required": []})[1]
    assert not closed({"type": "object"})[1]


TOOLS = (Tool("addNode", "adds", {"type": "object"}),)


@pytest.mark.parametrize(
    "generation",
    [
        '{"name": "addNode", "arguments": {"label": "A"}}',
        '[{"name": "addNode", "parameters": {"label": "A"}}]',
        '{"function": {"name": "addNode", "arguments": "{\\"label\\": \\"A\\"}"}}',
        '<function=addNode{"label": "A"}</function>',
        '<function=addNode>{"label": "A"}</function>',
        '```json\n{"name": "addNode", "arguments": {"label": "A"}}\n```',
    ],
)
def test_a_refused_generation_is_read_as_the_calls_it_was_meant_to_be(generation: str) -> None:
    request = ChatRequest("flows.edit", (), tools=TOOLS)
    reply_of_calls = salvaged(ToolUseFailed("no", generation), request, "groq")
    assert [(call.name, dict(call.params)) for call in reply_of_calls.tool_calls] == [("addNode", {"label": "A"})]


@pytest.mark.parametrize(
    "generation", ["", "words", '{"name": "dropTable", "arguments": {}}', '{"name": "addNode", "arg']
)
def test_a_generation_without_a_known_call_stays_a_fault(generation: str) -> None:
    with pytest.raises(ToolUseFailed):
        salvaged(ToolUseFailed("no", generation), ChatRequest("flows.edit", (), tools=TOOLS), "groq")
