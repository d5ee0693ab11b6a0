"""Flow documents as clients send them: React Flow nodes and edges, visual settings, whole flows."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, ConfigDict, Field, JsonValue
from pydantic_core import PydanticCustomError

from shared.contracts.common import Request, Time

MAX_NODES = 20_000
MAX_EDGES = 50_000


def _at_most(most: int, what: str) -> BeforeValidator:
    """Check the count before any element: validating a million of them would take long."""

    def check(value: object) -> object:
        if isinstance(value, list) and len(value) > most:
            raise PydanticCustomError(
                "flow_too_large", "a flow holds at most {most} {what}", {"most": most, "what": what}
            )
        return value

    return BeforeValidator(check)


ElementId = Annotated[str, Field(min_length=1, max_length=256)]
MAX_LABEL = 10_000  #: characters
Text = Annotated[str, Field(max_length=MAX_LABEL)]


Coordinate = Annotated[float, Field(ge=-1e15, le=1e15)]


class Position(Request):
    """Position of a node."""

    x: Coordinate
    """Pixels from the left"""
    y: Coordinate
    """Pixels from the top"""

    model_config = ConfigDict(extra="allow")


class NodeData(Request):
    """Content of a node; further members are stored unchanged."""

    label: Text = ""
    """Text that the node shows"""
    description: Annotated[str, Field(max_length=50_000)] | None = None
    """Longer description of the node"""

    model_config = ConfigDict(extra="allow")


class Node(Request):
    """A React Flow node; further members are stored unchanged."""

    id: ElementId
    """Node id, unique within the flow"""
    type: Annotated[str, Field(max_length=100)] = "default"
    """React Flow node type"""
    position: Position = Position(x=0, y=0)
    """Where the node is"""
    data: NodeData = NodeData()
    """Content of the node"""
    parentGroupId: str | None = None  # noqa: N815
    """Id of the group that contains the node; null if none does"""
    hidden: bool | None = None
    """Whether the node is hidden"""
    isCollapsed: bool | None = None  # noqa: N815
    """Whether the members of the group are hidden; for groups"""

    model_config = ConfigDict(extra="allow")


class EdgeData(Request):
    """Content of an edge; further members are stored unchanged."""

    label: Text | None = None
    """Text that the edge shows"""

    model_config = ConfigDict(extra="allow")


class Edge(Request):
    """A React Flow edge; further members are stored unchanged."""

    id: ElementId
    """Edge id, unique within the flow"""
    source: ElementId
    """Id of the node that the edge starts at"""
    target: ElementId
    """Id of the node that the edge ends at"""
    data: EdgeData | None = None
    """Content of the edge"""

    model_config = ConfigDict(extra="allow")


CssText = Annotated[str, Field(min_length=1, max_length=1000)]


class ElementColors(Request):
    """Colors of nodes."""

    background: CssText | None = None
    """Background color, as in CSS"""
    border: CssText | None = None
    """Border color, as in CSS"""
    text: CssText | None = None
    """Text color, as in CSS"""


class Colors(Request):
    """Colors of a flow."""

    background: CssText | None = None
    """Background color of the canvas, as in CSS"""
    allNodes: ElementColors | None = None  # noqa: N815
    """Colors of every node without its own"""
    perNode: dict[ElementId, ElementColors] | None = None  # noqa: N815
    """Colors of single nodes, by node id"""


class Size(Request):
    """Size of a node; null keeps the default."""

    width: Annotated[float, Field(ge=60, le=600)] | None = None
    """Width in pixels"""
    height: Annotated[float, Field(ge=24, le=320)] | None = None
    """Height in pixels"""
    borderRadius: Annotated[float, Field(ge=0, le=300)] | None = None  # noqa: N815
    """Corner radius in pixels"""


class NodeSizes(Request):
    """Sizes of nodes."""

    default: Size | None = None
    """Size of every node without its own"""
    overrides: dict[ElementId, Size] | None = None
    """Sizes of single nodes, by node id"""


Spacing = Annotated[float, Field(ge=10, le=400)]


class Gaps(Request):
    """Distances of the automatic layout."""

    horizontal: Spacing | None = None
    """Horizontal distance between nodes in pixels; null means 50"""
    vertical: Spacing | None = None
    """Vertical distance between nodes in pixels; null means 50"""


class Dimensions(Request):
    """Sizes and distances of a flow."""

    node: NodeSizes | None = None
    """Sizes of nodes"""
    dagre: Gaps | None = None
    """Distances of the automatic layout"""
    fitViewPadding: Annotated[float, Field(ge=0, le=10)] | None = None  # noqa: N815
    """Padding around the fitted flow, as a share of the view; null means 0.25"""
    zoom: Annotated[float, Field(ge=0.2, le=2.5)] | None = None
    """Zoom factor; 1 is actual size"""


class VisualSettings(Request):
    """Visual settings of a flow; parts that are left out keep their default."""

    colors: Colors | None = None
    """Colors of the flow"""
    dimensions: Dimensions | None = None
    """Sizes and distances of the flow"""


FlowName = Annotated[str, Field(min_length=1, max_length=200)]


Nodes = Annotated[list[Node], _at_most(MAX_NODES, "nodes")]
Edges = Annotated[list[Edge], _at_most(MAX_EDGES, "edges")]


class Viewport(Request):
    """Viewport of a React Flow page, as its `toObject()` includes it."""

    x: float
    """Horizontal offset in pixels"""
    y: float
    """Vertical offset in pixels"""
    zoom: float
    """Zoom factor of the page"""


class FlowCreate(Request):
    """A flow to create."""

    name: FlowName = "Untitled"
    """Name of the flow"""
    nodes: Nodes = []
    """Nodes of the flow, at most 20,000"""
    edges: Edges = []
    """Edges of the flow, at most 50,000"""
    settings: VisualSettings = VisualSettings()
    """Visual settings of the flow"""
    viewport: Viewport | None = None
    """Accepted and ignored: every page has its own viewport"""


class FlowSave(Request):
    """A whole flow to save; name and settings are kept if left out. Other members of a flow are ignored."""

    name: FlowName | None = None
    """New name of the flow; null keeps the name"""
    nodes: Nodes
    """All nodes of the flow, at most 20,000"""
    edges: Edges
    """All edges of the flow, at most 50,000"""
    settings: VisualSettings | None = None
    """Visual settings; null keeps the current ones"""
    id: str | None = None
    """Accepted and ignored: the path names the flow"""
    version: int | None = None
    """Version that the document was made from; 412 if the flow has another one by now, unless `If-Match` is sent"""
    created_at: Time | None = None
    """Accepted and ignored: the server sets the creation time"""
    updated_at: Time | None = None
    """Accepted and ignored: the server sets the time of the change"""
    warnings: list[JsonValue] | None = None
    """Accepted and ignored: warnings of an earlier import"""
    viewport: Viewport | None = None
    """Accepted and ignored: every page has its own viewport"""
