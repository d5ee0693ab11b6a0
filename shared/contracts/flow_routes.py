"""What the routes on flows take and give."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue
from typing_extensions import TypeAliasType

from shared.contracts.common import Answer, Request, Time
from shared.contracts.flow import Execution, Finding, Json, Operation
from shared.contracts.flow_document import FlowName

ChangeScope = TypeAliasType("ChangeScope", Annotated[Literal["all", "mine"], Field(description="Whose changes")])
LayoutDirection = TypeAliasType(
    "LayoutDirection",
    Annotated[Literal["LR", "TB"], Field(description="Direction of a layout: left to right or top to bottom")],
)
ExportFormat = TypeAliasType(
    "ExportFormat",
    Annotated[Literal["mermaid", "dot", "json", "svg"], Field(description="Format of an exported flow")],
)
ChartDirection = TypeAliasType(
    "ChartDirection", Annotated[Literal["LR", "RL", "TD", "TB", "BT"], Field(description="Direction of a chart")]
)
ImportFormat = TypeAliasType(
    "ImportFormat", Annotated[Literal["mermaid", "json"], Field(description="Format of a flow to import")]
)
VersionKind = TypeAliasType(
    "VersionKind",
    Annotated[Literal["create", "change", "undo", "redo"], Field(description="How a version of a flow came about")],
)
ProposalState = TypeAliasType(
    "ProposalState", Annotated[Literal["open", "applied", "discarded"], Field(description="State of a proposed change")]
)


class FlowSummary(Answer):
    """A flow without its elements."""

    id: str
    """Flow id"""
    name: str
    """Name of the flow"""
    version: int
    """Current version number"""
    nodes_count: int
    """Number of nodes"""
    edges_count: int
    """Number of edges"""
    created_at: Time
    """Time at which the flow was created"""
    updated_at: Time
    """Time of the latest change"""
    actor_name: str | None = None
    """Name of the API key that made the latest change; null if unknown"""


class ImportWarning(Answer):
    """A line of an imported text that could not be used as written."""

    line: int
    """Line number, from 1"""
    text: str
    """What was lost or changed"""


class FlowView(Answer):
    """A flow at one version."""

    id: str
    """Flow id"""
    name: str
    """Name of the flow"""
    nodes: list[JsonValue]
    """React Flow nodes"""
    edges: list[JsonValue]
    """React Flow edges"""
    settings: Json
    """Visual settings, with defaults filled in"""
    version: int
    """Version number"""
    created_at: Time
    """Time at which the flow was created"""
    updated_at: Time
    """Time of the latest change"""
    warnings: list[ImportWarning] = []
    """What an import could not use as written; empty otherwise"""


class ToolCallInput(Request):
    """An operation to run on a flow."""

    id: Annotated[str, Field(max_length=200)] | None = None
    """Id that the caller gives the call; null if none is needed"""
    name: Annotated[str, Field(max_length=200)]
    """Name of the operation, such as `addNode`"""
    params: Json = {}
    """Arguments of the operation, by name"""


class OperationsInput(Request):
    """Operations to run on a flow as one change."""

    tool_calls: Annotated[list[ToolCallInput], Field(max_length=1000)]
    """Operations, in order, at most 1,000"""
    atomic: bool = False
    """Whether one failed operation undoes the others"""


class ScopeInput(Request):
    """Whose changes to undo or redo."""

    scope: ChangeScope = "all"
    """`all` changes, or only `mine`: those made with the caller's key"""


class LayoutInput(Request):
    """How to arrange the nodes."""

    direction: LayoutDirection = "LR"
    """Direction of the edges: left to right or top to bottom"""


class ImportInput(Request):
    """A flow to import."""

    format: ImportFormat
    """Format of the text"""
    text: Annotated[str, Field(min_length=1, max_length=16_000_000)]
    """The flow as text"""
    name: FlowName | None = None
    """Name of the new flow; null chooses one"""


class AcceptInput(Request):
    """Which operations of a proposal to apply."""

    accept: list[Annotated[int, Field(ge=0)]] | None = None
    """Positions of the operations to apply, from 0; null applies all"""


class VersionName(Request):
    """A name for a version."""

    name: Annotated[str, Field(min_length=1, max_length=200)] | None
    """Name of the version; null removes the name"""


class ChangeSetView(Answer):
    """One entry of a flow's history."""

    version: int
    """Version that the change made"""
    base_version: int
    """Version that the change started from"""
    actor: str
    """Id of the API key that made the change"""
    actor_name: str | None = None
    """Name of that API key; null if unknown"""
    origin: str
    """What made the change, such as a user, a model, an undo or a redo"""
    summary: str
    """The change in one line"""
    time: Time
    """Time of the change"""
    undone: bool = False
    """Whether the change was undone"""
    undone_version: int | None = None
    """Version that undid the change; null if it was not undone"""
    job_id: str | None = None
    """Id of the job that made the change or its proposal; null if none did or the job is deleted"""
    tokens: int | None = None
    """Input and output tokens of the job's models; null if no job made the change"""


class BranchInput(Request):
    """How to name the new flow."""

    name: FlowName | None = None
    """Name of the new flow; null uses the original's name and version"""


class BranchSource(Answer):
    """The version that a branched flow started from."""

    flow_id: str
    """Id of the original flow"""
    version: int
    """Version of the original flow"""
    name: str | None
    """Name of the original flow; null if it was deleted"""


class FlowVersion(Answer):
    """One version of a flow, without its content."""

    version: int
    """Version number"""
    kind: VersionKind
    """How the version came about: `create`, `change`, `undo` or `redo`"""
    actor: str
    """Id of the API key that made the version"""
    actor_name: str | None = None
    """Name of that API key; null if unknown"""
    time: Time
    """Time at which the version was made"""
    name: str | None = None
    """Name of the version; null if it has none"""
    branched_from: BranchSource | None = None
    """Origin of a branched flow, at its first version; null otherwise"""


class ProposalView(Answer):
    """A proposed change of a flow, with its operations."""

    id: str
    """Proposal id"""
    flow_id: str
    """Id of the flow"""
    base_version: int
    """Version that the proposal would change"""
    state: ProposalState
    """Whether the proposal was decided"""
    summary: str
    """The proposed change in one line"""
    actor: str
    """Id of the API key that requested the proposal"""
    time: Time
    """Time at which the proposal was made"""
    operations: list[Operation]
    """Proposed changes, in order"""
    lint: list[Finding]
    """Findings to check before applying; empty once the base version is not kept"""
    mermaid: str
    """Mermaid chart of the proposed change; empty once the base version is not kept"""


class Operated(Answer):
    """Outcome of a batch of operations."""

    success: bool
    """Whether every operation succeeded"""
    execution: list[Execution]
    """Outcome of each operation, in order"""
    flow: FlowView
    """The flow after the batch"""
    version: int
    """Version of the flow after the batch"""


class Walked(Answer):
    """Outcome of an undo, a redo or another step in the history."""

    success: bool
    """Whether there was a change to undo or redo"""
    message: str | None = None
    """Why nothing was done; null otherwise"""
    summary: str | None = None
    """The change that was undone or redone, in one line; null if none was"""
    flow: FlowView | None = None
    """The flow after the step; null if nothing was done"""
    version: int
    """Version of the flow after the step"""


class LaidOut(Answer):
    """Outcome of an automatic layout."""

    success: bool
    """Whether the layout was computed"""
    did_change: bool
    """Whether any node moved"""
    flow: FlowView
    """The flow after the layout"""
    version: int
    """Version of the flow after the layout"""


class FlowDiff(Answer):
    """Difference of two versions of a flow."""

    from_: Annotated[int, Field(alias="from")]
    """Older version of the comparison"""
    to: int
    """Newer version of the comparison"""
    operations: list[Operation]
    """Changes that lead from the older to the newer version"""
    mermaid: str
    """Mermaid chart of both versions"""


class LintView(Answer):
    """Findings about a flow."""

    findings: list[Finding]
    """Valid but probably unintended states"""
    version: int
    """Version that was checked"""


class ProposalSummary(Answer):
    """A proposed change of a flow, without its operations."""

    id: str
    """Proposal id"""
    flow_id: str
    """Id of the flow"""
    base_version: int
    """Version that the proposal would change"""
    state: ProposalState
    """Whether the proposal was decided"""
    summary: str
    """The proposed change in one line"""
    actor: str
    """Id of the API key that requested the proposal"""
    time: Time
    """Time at which the proposal was made"""


class Discarded(Answer):
    """A discarded proposal."""

    success: bool
    """Whether the proposal was discarded"""
    id: str
    """Proposal id"""
    state: Literal["discarded"]
    """State of the proposal"""
    version: int
    """Version of the flow, which did not change"""
