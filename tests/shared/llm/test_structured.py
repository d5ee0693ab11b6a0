"""Structured answers: the form is checked whatever the provider promised, in words that the model can act on."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict, Field

from shared import bounded_process
from shared.errors import Overloaded
from shared.llm.chat import ChatRequest, Tool
from shared.llm.faults import ToolUseFailed
from shared.llm.json_text import AnswerUnreadable, parse
from shared.llm.vendors.adapter import salvaged
from shared.llm.wires.wire import closed
from tests.support.wait import until


class Plan(BaseModel):
    model_config = ConfigDict(extra="forbid")

    table: str
    limit: int = Field(ge=1, le=100)


def test_schemas_are_closed_and_strict_only_where_strict_modes_can_hold_them() -> None:
    class Whole(BaseModel):
        table: str
        inner: list[Plan]

    schema, strict = closed(Plan.model_json_schema())
    assert (schema["additionalProperties"], strict) == (False, True)
    assert closed(Whole.model_json_schema())[1]
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


@pytest.mark.slow
def test_a_text_that_a_repair_would_take_hours_for_is_no_json() -> None:
    with pytest.raises(AnswerUnreadable, match="not JSON"):
        parse("Here: " + "&[a]{int}" * 5000 + " ```json\n")


def test_an_answer_whose_repair_was_ended_by_others_is_not_called_unreadable() -> None:
    """The process that repairs may be killed for what other texts took: nothing is known about this one."""
    assert parse("{'a': 1}").repaired
    server = bounded_process._SERVERS._process
    assert server is not None
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children")
    with ThreadPoolExecutor(1) as threads:
        parsed = threads.submit(parse, "Here: " + "&[a]{int}" * 5000 + " ```json\n")
        until(lambda: len(children.read_text().split()) == 2, "the repair has begun")
        server.kill()
        with pytest.raises(Overloaded, match="try again later"):
            parsed.result(30)
    assert parse("{'a': 2}").value == {"a": 2}
