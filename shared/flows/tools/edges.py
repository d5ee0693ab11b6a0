"""addEdge, updateEdge, deleteEdge; self-loops, duplicates and cycles are allowed."""

from __future__ import annotations

from shared.contracts.flow_document import MAX_EDGES
from shared.flows.document import Json, Kind
from shared.flows.draft import Draft
from shared.flows.tools.arguments import MAX_LABEL, Arguments, CallFailed, ToolResult, existing_edge, existing_node

_ENDS = "sourceNodeId and targetNodeId are required"
_LABEL = "edgeId and label are required"


def add_edge(draft: Draft, arguments: Arguments) -> ToolResult:
    source = arguments.needed("sourceNodeId", _ENDS)
    target = arguments.needed("targetNodeId", _ENDS)
    label = arguments.text("label", MAX_LABEL)
    arguments.no_more()
    existing_node(draft, source, "Source node {} not found")
    existing_node(draft, target, "Target node {} not found")
    return ToolResult(edge_id=connect(draft, source, target, label))


def update_edge(draft: Draft, arguments: Arguments) -> ToolResult:
    key = arguments.needed("edgeId", _LABEL)
    label = arguments.text("label", MAX_LABEL)
    if label is None:
        raise CallFailed(_LABEL)
    arguments.no_more()
    data = draft.edges[existing_edge(draft, key)].body.get("data")
    kept: Json = dict(data) if isinstance(data, dict) else {}
    kept.pop("label", None)
    if label:
        kept["label"] = label
    draft.change(Kind.EDGE, key, data=kept)
    return ToolResult(edge_id=key)


def delete_edge(draft: Draft, arguments: Arguments) -> ToolResult:
    key = arguments.needed("edgeId", "edgeId is required")
    arguments.no_more()
    existing_edge(draft, key)
    draft.remove(Kind.EDGE, key)
    return ToolResult(edge_id=key)


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
