"""The difference of two versions as a picture: what came in green, what changed in amber, what went in red."""

from __future__ import annotations

from collections.abc import Sequence

from shared.flows import settings
from shared.flows.changes import Add, Operation, Remove
from shared.flows.document import Document, Item, Json, Kind
from shared.flows.forms.mermaid import mermaid

_COLORS = {"added": "#2e7d32", "changed": "#f9a825", "removed": "#c62828"}


def drawn(before: Document, after: Document, operations: Sequence[Operation]) -> str:
    """A flowchart of both versions together; new edges are thick, edges that are gone dotted."""
    nodes, edges = dict(after.nodes), dict(after.edges)
    colors: dict[str, Item] = {}
    for operation in operations:
        fate = "added" if isinstance(operation, Add) else "removed" if isinstance(operation, Remove) else "changed"
        if operation.kind is Kind.NODE:
            if fate == "removed":
                nodes[operation.key] = before.nodes[operation.key]
            colors[settings.node_color(operation.key, "border")] = Item(0, {"value": _COLORS[fate]})
        elif operation.kind is Kind.EDGE and fate != "changed":
            item = before.edges[operation.key] if fate == "removed" else edges[operation.key]
            data = item.body.get("data")
            line: Json = {
                **(data if isinstance(data, dict) else {}),
                "line": "dotted" if fate == "removed" else "thick",
            }
            edges[operation.key] = Item(item.rank, {**item.body, "data": line})
    return mermaid(Document(nodes, edges, colors, after.top))
