"""The tools as a model is told about them: name, description, JSON schema of the parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shared.flows.document import Json


@dataclass(frozen=True)
class Definition:
    name: str
    description: str
    parameters: Json


def _text(description: str) -> Json:
    return {"type": "string", "description": description}


def _choice(description: str, *values: str) -> Json:
    return {"type": "string", "enum": list(values), "description": description}


_POSITION: Json = {
    "type": "object",
    "properties": {"x": {"type": "number"}, "y": {"type": "number"}},
    "required": ["x", "y"],
}


def _define(name: str, description: str, properties: Mapping[str, Json], required: Sequence[str] = ()) -> Definition:
    return Definition(name, description, {"type": "object", "properties": {**properties}, "required": [*required]})


DEFINITIONS: tuple[Definition, ...] = (
    _define(
        "addNode",
        "Creates a new node. Its id is made from the label (`My Node` becomes `my_node`) unless `id` is given. If "
        "parentNodeId is provided, the node is placed to the right of that parent, with an edge from the parent.",
        {
            "label": _text("Text shown in the node"),
            "id": _text("Id of the new node; leave out to have it made from the label"),
            "description": _text("Longer text"),
            "parentNodeId": _text("Id or exact label of the node to connect from"),
            "edgeLabel": _text("Label of the edge from the parent"),
            "onConflict": _choice("What to do when the id is taken", "error", "suffix", "reuse"),
        },
        ["label"],
    ),
    _define(
        "updateNode",
        "Changes a node's label, description or position; its id stays.",
        {
            "nodeId": _text("Id of the node"),
            "label": _text("New label"),
            "description": _text("New description"),
            "position": _POSITION,
        },
        ["nodeId"],
    ),
    _define(
        "deleteNode",
        "Deletes a node and the edges at it; its children stay.",
        {"nodeId": _text("Id of the node")},
        ["nodeId"],
    ),
    _define(
        "addEdge",
        "Connects two existing nodes.",
        {
            "sourceNodeId": _text("Id of the node where the edge starts"),
            "targetNodeId": _text("Id of the node where it ends"),
            "label": _text("Label of the edge"),
        },
        ["sourceNodeId", "targetNodeId"],
    ),
    _define(
        "updateEdge",
        "Changes an edge's label; an empty label clears it.",
        {"edgeId": _text("Id of the edge"), "label": _text("New label")},
        ["edgeId", "label"],
    ),
    _define("deleteEdge", "Removes an edge.", {"edgeId": _text("Id of the edge")}, ["edgeId"]),
    _define("undo", "Reverts the last change.", {}),
    _define("redo", "Applies the last undone change again.", {}),
    _define(
        "changeVisuals",
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
    _define(
        "changeDimensions",
        "Makes one node, all nodes, the zoom or the layout spacing ten percent larger or smaller.",
        {
            "target": _choice("What to scale", "node", "all_nodes", "zoom", "layout_spacing"),
            "direction": _choice("Which way", "increase", "decrease"),
            "nodeId": _text("Id of the node, when the target is node"),
            "axis": _choice("Which axis; both by default", "horizontal", "vertical", "both"),
        },
        ["target", "direction"],
    ),
    _define(
        "createGroup",
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
    ),
    _define("ungroup", "Dissolves a group; its members stay.", {"groupId": _text("Id of the group")}, ["groupId"]),
    _define(
        "toggleGroupExpansion",
        "Expands or collapses a group.",
        {"groupId": _text("Id of the group"), "expand": {"type": "boolean", "description": "true shows the members"}},
        ["groupId", "expand"],
    ),
    _define("autoLayout", "Arranges all visible nodes from left to right.", {}),
)
