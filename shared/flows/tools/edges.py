"""addEdge, updateEdge, deleteEdge; self-loops, duplicates and cycles are allowed."""

from __future__ import annotations

from shared.contracts.flow_document import MAX_EDGES
from shared.flows.document import Json, Kind, data_without
from shared.flows.draft import Draft
from shared.flows.tools.arguments import (
    MAX_LABEL,
    MAX_REFERENCE,
    Arguments,
    CallFailed,
    ToolResult,
    existing_edge,
    existing_node,
)
from shared.flows.visuals import LINES

_ENDS = "sourceNodeId and targetNodeId are required"
_LABEL = "edgeId and label are required"


def add_edge(draft: Draft, arguments: Arguments) -> ToolResult:
    source = arguments.needed("sourceNodeId", _ENDS)
    target = arguments.needed("targetNodeId", _ENDS)
    label = arguments.text("label", MAX_LABEL)
    line = arguments.look("line", LINES)
    arguments.no_more()
    existing_node(draft, source, "Source node {} not found")
    existing_node(draft, target, "Target node {} not found")
    key = connect(draft, source, target, label)
    _draw_as(draft, key, line)
    return ToolResult(edge_id=key)


def update_edge(draft: Draft, arguments: Arguments) -> ToolResult:
    key = arguments.needed("edgeId", _LABEL)
    label = arguments.text("label", MAX_LABEL)
    source = arguments.text("sourceNodeId", MAX_REFERENCE)
    target = arguments.text("targetNodeId", MAX_REFERENCE)
    line = arguments.look("line", LINES)
    if label is None and source is None and target is None and line is None:
        raise CallFailed(_LABEL)
    arguments.no_more()
    existing_edge(draft, key)
    if label is not None:
        data = data_without(draft.edges[key].body, "label")
        draft.change(Kind.EDGE, key, data={**data, "label": label} if label else data)
    if source is not None:
        draft.change(Kind.EDGE, key, source=existing_node(draft, source, "Source node {} not found"))
    if target is not None:
        draft.change(Kind.EDGE, key, target=existing_node(draft, target, "Target node {} not found"))
    _draw_as(draft, key, line)
    return ToolResult(edge_id=key)


def delete_edge(draft: Draft, arguments: Arguments) -> ToolResult:
    key = arguments.needed("edgeId", "edgeId is required")
    arguments.no_more()
    existing_edge(draft, key)
    draft.remove(Kind.EDGE, key)
    return ToolResult(edge_id=key)


def _draw_as(draft: Draft, key: str, line: str | None) -> None:
    """Give an edge its line; the plain arrow is no member of its data."""
    if line is None:
        return
    data = data_without(draft.edges[key].body, "line")
    draft.change(Kind.EDGE, key, data=data if line == LINES[0] else {**data, "line": line})


def connect(draft: Draft, source: str, target: str, label: str | None) -> str:
    """Add an edge between two nodes; return its id."""
    if len(draft.edges) >= MAX_EDGES:
        raise CallFailed(f"The flow is full: it holds at most {MAX_EDGES} edges")
    key = draft.new_id()
    body: Json = {"id": key, "source": source, "target": target}
    if label:
        body["data"] = {"label": label}
    draft.add(Kind.EDGE, key, body)
    return key
