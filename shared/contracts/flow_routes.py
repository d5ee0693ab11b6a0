"""What the routes on flows take and give."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from shared.contracts.common import Answer, Request, Time
from shared.contracts.flow import Execution, Finding, Json, Operation
from shared.contracts.flow_document import FlowName


class FlowSummary(Answer):
    id: str
    name: str
    version: int
    nodes_count: int
    edges_count: int
    created_at: Time
    updated_at: Time


class ImportWarning(Answer):
    line: int
    text: str


class FlowView(Answer):
    """A flow at one version."""

    id: str
    name: str
    nodes: list[JsonValue]
    edges: list[JsonValue]
    settings: Json
    version: int
    created_at: Time
    updated_at: Time
    warnings: list[ImportWarning] = []


class ToolCallInput(Request):
    id: Annotated[str, Field(max_length=200)] | None = None
    name: Annotated[str, Field(max_length=200)]
    params: Json = {}


class OperationsInput(Request):
    tool_calls: Annotated[list[ToolCallInput], Field(max_length=1000)]
    atomic: bool = False


class ScopeInput(Request):
    scope: Literal["all", "mine"] = "all"


class LayoutInput(Request):
    direction: Literal["LR", "TB"] = "LR"


class ImportInput(Request):
    format: Literal["mermaid", "json"]
    text: Annotated[str, Field(min_length=1, max_length=16_000_000)]
    name: FlowName | None = None


class AcceptInput(Request):
    """Which of a proposal's operations to take, by their place in its list; all when left out."""

    accept: list[Annotated[int, Field(ge=0)]] | None = None


class VersionName(Request):
    name: Annotated[str, Field(min_length=1, max_length=200)] | None


class ChangeSetView(Answer):
    """One entry of a flow's history."""

    version: int
    base_version: int
    actor: str
    actor_name: str | None = None
    origin: str
    summary: str
    time: Time
    undone: bool = False
    undone_version: int | None = None  #: that undid it
    job_id: str | None = None  #: that made it, or its proposal, while it is kept
    tokens: int | None = None  #: that the job's models took and gave


class BranchInput(Request):
    """What the new flow is called; else as the other, with the version."""

    name: FlowName | None = None


class BranchSource(Answer):
    """The version that a flow goes on from; ``name`` is that of its flow, null when the flow is gone."""

    flow_id: str
    version: int
    name: str | None


class FlowVersion(Answer):
    version: int
    kind: Literal["create", "change", "undo", "redo"]
    actor: str
    actor_name: str | None = None
    time: Time
    name: str | None = None
    branched_from: BranchSource | None = None  #: of the first version of a flow that began as a branch


class ProposalView(Answer):
    id: str
    flow_id: str
    base_version: int
    state: Literal["open", "applied", "discarded"]
    summary: str
    actor: str
    time: Time
    operations: list[Operation]
    lint: list[Finding]
    mermaid: str


class Operated(Answer):
    """What a batch did; ``execution`` has an entry for every call."""

    success: bool
    execution: list[Execution]
    flow: FlowView
    version: int


class Walked(Answer):
    """An undo, a redo, or another step along the history; without ``flow`` there was nothing left to do."""

    success: bool
    message: str | None = None
    summary: str | None = None  #: of the change set that was undone or redone
    flow: FlowView | None = None
    version: int


class LaidOut(Answer):
    success: bool
    did_change: bool
    flow: FlowView
    version: int


class FlowDiff(Answer):
    """The operations that lead from one version to the other, and a Mermaid chart of both."""

    from_: Annotated[int, Field(alias="from")]
    to: int
    operations: list[Operation]
    mermaid: str


class LintView(Answer):
    findings: list[Finding]
    version: int


class ProposalSummary(Answer):
    id: str
    flow_id: str
    base_version: int
    state: Literal["open", "applied", "discarded"]
    summary: str
    actor: str
    time: Time


class Discarded(Answer):
    success: bool
    id: str
    state: Literal["discarded"]
    version: int
