"""``flow`` jobs: a message becomes tool calls on a diagram, one change set a turn."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, JsonValue
from typing_extensions import TypeAliasType

from shared.contracts.common import Answer, Reference, Request
from shared.faults import form

Json = dict[str, JsonValue]


FlowMode = TypeAliasType(
    "FlowMode", Annotated[Literal["apply", "propose"], Field(description="Whether to save or only propose changes")]
)
ChangeKind = TypeAliasType(
    "ChangeKind", Annotated[Literal["add", "remove", "update"], Field(description="How an element changed")]
)
ElementKind = TypeAliasType(
    "ElementKind", Annotated[Literal["node", "edge", "setting"], Field(description="Kind of element of a flow")]
)
FlowFindingCode = TypeAliasType(
    "FlowFindingCode",
    Annotated[
        Literal["dangling_edge", "orphan", "cycle", "duplicate_label", "unknown_group", "duplicate_edge", "hidden"],
        Field(description="Kind of finding about a flow"),
    ],
)


_WORDS = form(r"\S", "must not be empty or blank")


class FlowInput(Request):
    """Input of a `flow` job."""

    flow_id: Annotated[str, Reference("flow"), Field(min_length=1, max_length=64)]
    """Id of the flow to edit"""
    message: Annotated[str, Field(min_length=1, max_length=50_000, pattern=_WORDS)]
    """What to change, in the user's words"""
    mode: FlowMode = "apply"
    """`apply` saves the changes; `propose` only proposes them"""
    atomic: bool = False
    """Whether one failed tool call undoes the others of the same answer"""
    max_iterations: Annotated[int, Field(ge=1, le=10)] = 3
    """Maximum number of model answers, each with its tool calls"""
    retry_parse_errors: bool = False
    """Whether to call the model again after an unreadable answer; each such answer is an iteration"""


class ToolCall(Answer):
    """A tool call of the model."""

    id: str
    """Id of the call"""
    name: str
    """Name of the operation, such as `addNode`"""
    params: Json
    """Arguments of the operation, by name"""


class Execution(Answer):
    """Outcome of one tool call."""

    success: bool
    """Whether the call succeeded"""
    node_id: str | None = None
    """Id of the node that the call made or changed; null if none"""
    edge_id: str | None = None
    """Id of the edge that the call made or changed; null if none"""
    group_id: str | None = None
    """Id of the group that the call made or changed; null if none"""
    error: str | None = None
    """Why the call failed; null if it succeeded"""
    suggestions: list[str] = []
    """Ids or labels that the call may have meant"""
    did_change: bool | None = None
    """For `autoLayout`: whether any node moved; null for other operations"""
    rolled_back: bool = False
    """Whether the call was undone because another call of its atomic batch failed"""


class Operation(Answer):
    """Change of one element: `add` has `value`, `update` has `set` and `unset`."""

    op: ChangeKind
    """What happened to the element"""
    kind: ElementKind
    """Kind of element: `node`, `edge` or `setting`"""
    id: str
    """Id of the element; of a setting, its JSON Pointer"""

    model_config = ConfigDict(extra="allow")


class Finding(Answer):
    """A valid but probably unintended state of a flow."""

    code: FlowFindingCode
    """Kind of finding"""
    message: str
    """What was found, in one sentence"""
    ids: list[str]
    """Ids of the elements concerned"""


class FlowResult(Answer):
    """Result of a `flow` job."""

    success: bool
    """Whether everything that was requested was done"""
    thinking: str
    """Reasoning that the model gave with its answer"""
    response: str
    """Reply to the user"""
    tool_calls: list[ToolCall]
    """Tool calls that took effect or failed, in order"""
    execution: list[Execution]
    """Outcome of each tool call, in the order of `tool_calls`"""
    flow: Json
    """The flow with the changes, also if they are only proposed: nodes, edges and settings"""
    version: int
    """Version of the flow after the job"""
    iterations: int
    """Number of model answers used"""
    errors: list[str]
    """Why calls failed or the job stopped; empty on success"""
    parse_error: str | None = None
    """Why the model's last answer could not be read; null if it could"""
    proposal_id: str | None = None
    """Id of the proposal; null if the changes were applied"""
    operations: list[Operation] | None = None
    """All changes of the proposal; null if the changes were applied"""
    lint: list[Finding] | None = None
    """Findings to check before applying the proposal; null if the changes were applied"""
    repaired: bool = False
    """Whether syntax errors in the model's answer were corrected"""
    truncated: bool = False
    """Whether the model's answer was cut off"""
