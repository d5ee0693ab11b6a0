"""The table of tools: their functions, and their descriptions for a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from shared.flows.document import Json
from shared.flows.draft import Draft
from shared.flows.tools.arguments import Arguments, ToolResult
from shared.flows.tools.edges import add_edge, delete_edge, update_edge
from shared.flows.tools.groups import create_group, toggle_group_expansion, toggle_subtree_collapse, ungroup
from shared.flows.tools.nodes import add_node, delete_node, update_node
from shared.flows.tools.visuals import auto_layout, change_dimensions, change_visuals

Run = Callable[[Draft, Arguments], ToolResult]


@dataclass(frozen=True)
class ToolSpec:
    name: str
    description: str
    parameters: Json  #: JSON schema
    run: Run | None  #: None for undo and redo: the batch does them, because they concern more than the draft
    offered: bool = True  #: to models
    once: bool = False  #: a second equal call would duplicate or fail, so a retry does not run it again


def _text(description: str) -> Json:
    return {"type": "string", "description": description}


def _choice(description: str, *values: str) -> Json:
    return {"type": "string", "enum": list(values), "description": description}


_POSITION: Json = {
    "type": "object",
    "properties": {"x": {"type": "number"}, "y": {"type": "number"}},
    "required": ["x", "y"],
}


def _tool(
    name: str,
    run: Run | None,
    description: str,
    properties: Mapping[str, Json],
    required: Sequence[str] = (),
    *,
    offered: bool = True,
    once: bool = False,
) -> ToolSpec:
    parameters: Json = {"type": "object", "properties": {**properties}, "required": [*required]}
    return ToolSpec(name, description, parameters, run, offered, once)


_TOOLS: tuple[ToolSpec, ...] = (
    _tool(
        "addNode",
        add_node,
        "Creates a new node. Its id is made from the label (`My Node` becomes `my_node`) unless `id` is given. If "
        "parentNodeId is provided, the node is placed next to that parent, with an edge from the parent.",
        {
            "label": _text("Text shown in the node"),
            "id": _text("Id of the new node; leave out to have it made from the label"),
            "description": _text("Longer text"),
            "parentNodeId": _text("Id or exact label of the node to connect from"),
            "edgeLabel": _text("Label of the edge from the parent"),
            "onConflict": _choice("What to do when the id is taken", "error", "suffix", "reuse"),
        },
        ["label"],
        once=True,
    ),
    _tool(
        "updateNode",
        update_node,
        "Changes a node's label, description or position; its id stays.",
        {
            "nodeId": _text("Id of the node"),
            "label": _text("New label"),
            "description": _text("New description"),
            "position": _POSITION,
        },
        ["nodeId"],
    ),
    _tool(
        "deleteNode",
        delete_node,
        "Deletes a node and the edges at it; its children stay.",
        {"nodeId": _text("Id of the node")},
        ["nodeId"],
        once=True,
    ),
    _tool(
        "addEdge",
        add_edge,
        "Connects two existing nodes.",
        {
            "sourceNodeId": _text("Id of the node where the edge starts"),
            "targetNodeId": _text("Id of the node where it ends"),
            "label": _text("Label of the edge"),
        },
        ["sourceNodeId", "targetNodeId"],
        once=True,
    ),
    _tool(
        "updateEdge",
        update_edge,
        "Changes an edge's label; an empty label clears it.",
        {"edgeId": _text("Id of the edge"), "label": _text("New label")},
        ["edgeId", "label"],
    ),
    _tool("deleteEdge", delete_edge, "Removes an edge.", {"edgeId": _text("Id of the edge")}, ["edgeId"], once=True),
    _tool("undo", None, "Reverts the last change.", {}),
    _tool("redo", None, "Applies the last undone change again.", {}),
    _tool(
        "changeVisuals",
        change_visuals,
        "Changes the colour of the background, of all nodes, or of one node. Any CSS colour; the background takes "
        "gradients too.",
        {
            "target": _choice("What to colour", "background", "all_nodes", "node"),
            "color": _text("CSS colour"),
            "nodeId": _text("Id of the node, when the target is node"),
            "property": _choice("Which part of the node; background by default", "background", "border", "text"),
        },
        ["target", "color"],
    ),
    _tool(
        "changeDimensions",
        change_dimensions,
        "Makes one node, all nodes, the zoom or the layout spacing ten percent larger or smaller.",
        {
            "target": _choice("What to scale", "node", "all_nodes", "zoom", "layout_spacing"),
            "direction": _choice("Which way", "increase", "decrease"),
            "nodeId": _text("Id of the node, when the target is node"),
            "axis": _choice("Which axis; both by default", "horizontal", "vertical", "both"),
        },
        ["target", "direction"],
        once=True,
    ),
    _tool(
        "createGroup",
        create_group,
        "Puts at least two nodes into a new, collapsed group.",
        {
            "memberIds": {
                "type": "array",
                "items": {"type": "string"},
                "minItems": 2,
                "description": "Ids of the nodes",
            },
            "label": _text("Label of the group"),
            "position": _POSITION,
        },
        ["memberIds"],
        once=True,
    ),
    _tool(
        "ungroup",
        ungroup,
        "Dissolves a group; its members stay.",
        {"groupId": _text("Id of the group")},
        ["groupId"],
        once=True,
    ),
    _tool(
        "toggleGroupExpansion",
        toggle_group_expansion,
        "Expands or collapses a group.",
        {"groupId": _text("Id of the group"), "expand": {"type": "boolean", "description": "true shows the members"}},
        ["groupId", "expand"],
    ),
    _tool("autoLayout", auto_layout, "Arranges all visible nodes from left to right.", {}),
    _tool(
        "toggleSubtreeCollapse",
        toggle_subtree_collapse,
        "Hides or shows what can be reached from a node.",
        {},
        offered=False,
    ),
)

TOOLS: Mapping[str, ToolSpec] = MappingProxyType({tool.name: tool for tool in _TOOLS})
#: The tools that are described to a model.
OFFERED = tuple(tool for tool in _TOOLS if tool.offered)
