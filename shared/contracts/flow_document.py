"""Flow documents as clients send them: React Flow nodes and edges, visual settings, whole flows."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, ConfigDict, Field, JsonValue
from pydantic_core import PydanticCustomError

from shared.contracts.common import Request, Time

MAX_NODES = 20_000
MAX_EDGES = 50_000


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


Coordinate = Annotated[float, Field(ge=-1e15, le=1e15)]


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


class Viewport(Request):
    """What a page of React Flow shows of a flow: its ``toObject()`` has it."""

    x: float
    y: float
    zoom: float


class FlowCreate(Request):
    name: FlowName = "Untitled"
    nodes: Nodes = []
    edges: Edges = []
    settings: VisualSettings = VisualSettings()
    viewport: Viewport | None = None  #: not kept: every page has its own


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
    warnings: list[JsonValue] | None = None
    viewport: Viewport | None = None  #: not kept: every page has its own
