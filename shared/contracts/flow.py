"""``flow`` jobs and flow documents: React Flow diagrams edited by tools, one change set a turn."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from shared.contracts.common import Answer, Request

Json = dict[str, JsonValue]


class FlowInput(Request):
    flow_id: Annotated[str, Field(min_length=1, max_length=64)]
    message: Annotated[str, Field(min_length=1, max_length=50_000)]
    mode: Literal["apply", "propose"] = "apply"
    atomic: bool = False
    max_iterations: Annotated[int, Field(ge=1, le=10)] = 3


class ToolCall(Answer):
    id: str
    name: str
    params: Json


class Execution(Answer):
    success: bool
    node_id: str | None = None
    edge_id: str | None = None
    group_id: str | None = None
    error: str | None = None


class FlowResult(Answer):
    success: bool
    thinking: str
    response: str
    tool_calls: list[ToolCall]
    execution: list[Execution]
    flow: Json
    version: int
    iterations: int
    errors: list[str]
    proposal_id: str | None = None
    repaired: bool = False
    truncated: bool = False
