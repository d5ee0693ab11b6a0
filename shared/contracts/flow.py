"""``flow`` jobs: a message becomes tool calls on a diagram, one change set a turn."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, JsonValue

from shared.contracts.common import Answer, Reference, Request

Json = dict[str, JsonValue]


class FlowInput(Request):
    flow_id: Annotated[str, Reference("flow"), Field(min_length=1, max_length=64)]
    message: Annotated[str, Field(min_length=1, max_length=50_000, pattern=r"\S")]
    mode: Literal["apply", "propose"] = "apply"
    atomic: bool = False
    max_iterations: Annotated[int, Field(ge=1, le=10)] = 3
    retry_parse_errors: bool = False  #: ask again after an answer that cannot be read; each such answer is an iteration


class ToolCall(Answer):
    id: str
    name: str
    params: Json


class Execution(Answer):
    """What one call did, as the engine saw it."""

    success: bool
    node_id: str | None = None
    edge_id: str | None = None
    group_id: str | None = None
    error: str | None = None
    suggestions: list[str] = []  #: ids or labels that were perhaps meant
    did_change: bool | None = None  #: autoLayout: false when nothing moved
    rolled_back: bool = False  #: it worked, but another call of its atomic batch did not


class Operation(Answer):
    """One element's change: ``add`` has ``value``, ``update`` has ``set`` and ``unset``."""

    op: Literal["add", "remove", "update"]
    kind: Literal["node", "edge", "setting"]
    id: str

    model_config = ConfigDict(extra="allow")


class Finding(Answer):
    """Something about a document that is legal and probably not meant."""

    code: Literal["dangling_edge", "orphan", "cycle", "duplicate_label", "unknown_group", "duplicate_edge"]
    message: str
    ids: list[str]


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
    parse_error: str | None = None  #: the model's last answer could not be read, and was not tried again
    proposal_id: str | None = None
    operations: list[Operation] | None = None  #: what the turn changes altogether, when it is a proposal
    lint: list[Finding] | None = None  #: what to look at before applying the proposal
    repaired: bool = False
    truncated: bool = False
