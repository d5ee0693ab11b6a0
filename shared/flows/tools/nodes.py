"""addNode, updateNode, deleteNode."""

from __future__ import annotations

from shared.contracts.flow_document import MAX_NODES
from shared.flows import visuals
from shared.flows.document import MAX_ID, Json, Kind, data_without, group_of, id_of_label, text_of
from shared.flows.draft import Draft
from shared.flows.tools.arguments import (
    MAX_DESCRIPTION,
    MAX_LABEL,
    MAX_REFERENCE,
    Arguments,
    CallFailed,
    ToolResult,
    existing_node,
    one_of,
)
from shared.flows.tools.edges import connect
from shared.flows.tools.placement import place_beside
from shared.flows.tools.visibility import inside_collapsed, release


def add_node(draft: Draft, arguments: Arguments) -> ToolResult:
    label = arguments.needed("label", "label is required", MAX_LABEL)
    given = arguments.text("id")
    description = arguments.text("description", MAX_DESCRIPTION)
    parent_name = arguments.text("parentNodeId", MAX_REFERENCE)
    edge_label = arguments.text("edgeLabel", MAX_LABEL)
    on_conflict = one_of(
        arguments.any("onConflict") or "error",
        ("error", "suffix", "reuse"),
        "onConflict must be one of: error, suffix, reuse",
    )
    position, size, shape = _looks(arguments)
    arguments.no_more()
    key = given or id_of_label(label) or draft.new_id()
    if key in draft.nodes:
        if on_conflict == "reuse":
            return ToolResult(node_id=key)
        if on_conflict == "error":
            raise CallFailed(f'Node ID "{key}" already exists. Please choose a different ID.')
        key = _free(draft, key)
    parent = parent_of(draft, parent_name) if parent_name else None
    check_node_limit(draft)
    if parent:
        connect(draft, parent, key, edge_label)
    draft.add(Kind.NODE, key, _body(draft, key, label, description, parent))
    _show_as(draft, key, size, shape)
    if position is None:
        place_beside(draft, key, parent)
    else:
        draft.change(Kind.NODE, key, position={"x": position[0], "y": position[1]})
    return ToolResult(node_id=key)


def update_node(draft: Draft, arguments: Arguments) -> ToolResult:
    key = arguments.needed("nodeId", "nodeId is required")
    label = arguments.text("label", MAX_LABEL)
    description = arguments.text("description", MAX_DESCRIPTION)
    position, size, shape = _looks(arguments)
    arguments.no_more()
    existing_node(draft, key)
    if all(each is None for each in (label, description, position, size, shape)):
        raise CallFailed("at least one of label, description and position is required")
    before = draft.nodes[key].body
    data = before.get("data")
    named: Json = {} if label is None else {"label": label}
    described: Json = {} if description is None else {"description": description}
    if named or described:
        draft.change(Kind.NODE, key, data={**(data if isinstance(data, dict) else {}), **named, **described})
    if position is not None:
        draft.change(Kind.NODE, key, position={"x": position[0], "y": position[1]})
    _show_as(draft, key, size, shape)
    return ToolResult(node_id=key)


def _looks(arguments: Arguments) -> tuple[tuple[float, float] | None, tuple[float, float] | None, str | None]:
    """Read position, size and shape."""
    return arguments.position(), arguments.size(), arguments.look("shape", visuals.SHAPES)


def _show_as(draft: Draft, key: str, size: tuple[float, float] | None, shape: str | None) -> None:
    """Give a node its own size and shape; the plain shape is no member of its data."""
    if size is not None:
        for part, value in zip(("width", "height"), size, strict=True):
            draft.set(visuals.node_size(key, part), value)
    if shape is not None:
        data = data_without(draft.nodes[key].body, "shape")
        draft.change(Kind.NODE, key, data=data if shape == visuals.SHAPES[0] else {**data, "shape": shape})


def delete_node(draft: Draft, arguments: Arguments) -> ToolResult:
    key = arguments.needed("nodeId", "nodeId is required")
    arguments.no_more()
    existing_node(draft, key)
    release(draft, key)
    for edge in draft.incident(key):
        draft.remove(Kind.EDGE, edge)
    draft.remove(Kind.NODE, key)
    for pointer in visuals.of_node(key):
        draft.remove(Kind.SETTING, pointer)
    return ToolResult(node_id=key)


def parent_of(draft: Draft, name: str) -> str:
    """Return the node that a model names by id, else by label, else by the id that the label would give."""
    if name in draft.nodes:
        return name
    labelled = draft.labelled(name)
    if len(labelled) > 1:
        raise CallFailed(f"Parent node {name} is ambiguous")
    if labelled:
        return labelled[0]
    sanitized = id_of_label(name)
    if sanitized in draft.nodes:
        return sanitized
    raise CallFailed(f"Parent node {name} not found", name)


def check_node_limit(draft: Draft) -> None:
    """Raise CallFailed when the flow holds the maximum number of nodes."""
    if len(draft.nodes) >= MAX_NODES:
        raise CallFailed(f"The flow is full: it holds at most {MAX_NODES} nodes")


def _body(draft: Draft, key: str, label: str, description: str | None, parent: str | None) -> Json:
    data: Json = {"label": label} if description is None else {"label": label, "description": description}
    body: Json = {"id": key, "type": "default", "position": {"x": 0, "y": 0}, "data": data}
    if parent is not None:
        above = draft.nodes[parent].body
        body |= {name: above[name] for name in ("parentGroupId", "parentId", "parentNode") if text_of(above, name)}
        if (group := group_of(above)) and inside_collapsed(draft, group):
            body["hidden"] = True
    return body


def _free(draft: Draft, key: str) -> str:
    number = 2
    while (candidate := f"{key[: MAX_ID - 8]}_{number}") in draft.nodes:
        number += 1
    return candidate
