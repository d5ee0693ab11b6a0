"""``flow`` jobs and flow documents: React Flow diagrams edited by tools, one change set a turn."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, ConfigDict, Field, JsonValue
from pydantic_core import PydanticCustomError

from shared.contracts.common import Answer, Request, Time

MAX_NODES = 20_000
MAX_EDGES = 50_000

Json = dict[str, JsonValue]


def _at_most(most: int, what: str) -> BeforeValidator:
    """Count before looking at any element: a million of them would take long."""

    def check(value: object) -> object:
        if isinstance(value, list) and len(value) > most:
            raise PydanticCustomError(
                "flow_too_large", "a flow holds at most {most} {what}", {"most": most, "what": what}
            )
        return value

    return BeforeValidator(check)


ElementId = Annotated[str, Field(min_length=1, max_length=256)]
Text = Annotated[str, Field(max_length=10_000)]


class FlowInput(Request):
    flow_id: Annotated[str, Field(min_length=1, max_length=64)]
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


Coordinate = Annotated[float, Field(ge=-1e15, le=1e15, strict=True)]


class Position(Request):
    x: Coordinate
    y: Coordinate

    model_config = ConfigDict(extra="allow")


class NodeData(Request):
    label: Text = ""
    description: Annotated[str, Field(max_length=50_000)] | None = None

    model_config = ConfigDict(extra="allow")


class Node(Request):
    """A React Flow node; whatever else the front end keeps in it is kept."""

    id: ElementId
    type: Annotated[str, Field(max_length=100)] = "default"
    position: Position = Position(x=0, y=0)
    data: NodeData = NodeData()
    parentGroupId: str | None = None  # noqa: N815
    hidden: bool | None = None
    isCollapsed: bool | None = None  # noqa: N815

    model_config = ConfigDict(extra="allow")


class EdgeData(Request):
    label: Text | None = None

    model_config = ConfigDict(extra="allow")


class Edge(Request):
    id: ElementId
    source: ElementId
    target: ElementId
    data: EdgeData | None = None

    model_config = ConfigDict(extra="allow")


CssText = Annotated[str, Field(min_length=1, max_length=1000)]


class ElementColors(Request):
    background: CssText | None = None
    border: CssText | None = None
    text: CssText | None = None


class Colors(Request):
    background: CssText | None = None
    allNodes: ElementColors | None = None  # noqa: N815
    perNode: dict[ElementId, ElementColors] | None = None  # noqa: N815


class Size(Request):
    width: Annotated[float, Field(ge=60, le=600)] | None = None
    height: Annotated[float, Field(ge=24, le=320)] | None = None
    borderRadius: Annotated[float, Field(ge=0, le=300)] | None = None  # noqa: N815


class NodeSizes(Request):
    default: Size | None = None
    overrides: dict[ElementId, Size] | None = None


Spacing = Annotated[float, Field(ge=10, le=400)]


class Gaps(Request):
    horizontal: Spacing | None = None
    vertical: Spacing | None = None


class Dimensions(Request):
    node: NodeSizes | None = None
    dagre: Gaps | None = None
    fitViewPadding: Annotated[float, Field(ge=0, le=10)] | None = None  # noqa: N815
    zoom: Annotated[float, Field(ge=0.2, le=2.5)] | None = None


class VisualSettings(Request):
    """Any part of the settings; what is left out keeps its default."""

    colors: Colors | None = None
    dimensions: Dimensions | None = None


FlowName = Annotated[str, Field(min_length=1, max_length=200)]


Nodes = Annotated[list[Node], _at_most(MAX_NODES, "nodes")]
Edges = Annotated[list[Edge], _at_most(MAX_EDGES, "edges")]


class FlowCreate(Request):
    name: FlowName = "Untitled"
    nodes: Nodes = []
    edges: Edges = []
    settings: VisualSettings = VisualSettings()


class FlowSave(Request):
    """A whole document; without ``name`` or ``settings`` those stay. The rest of an answer may stand in it, unread."""

    name: FlowName | None = None
    nodes: Nodes
    edges: Edges
    settings: VisualSettings | None = None
    id: str | None = None
    version: int | None = None
    created_at: Time | None = None
    updated_at: Time | None = None


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
    origin: str
    summary: str
    time: Time
    undone: bool = False


class FlowVersion(Answer):
    version: int
    kind: Literal["create", "change", "undo", "redo"]
    actor: str
    time: Time
    name: str | None = None


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
