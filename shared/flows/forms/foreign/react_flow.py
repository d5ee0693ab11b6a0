"""React Flow documents of other programs (Langflow, Flowise, Dify ...): the nodes and edges may be inside members."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import orjson
from pydantic import JsonValue

from shared.flows.document import Json
from shared.flows.forms.foreign.found import ForeignFlow, objects, text_at

#: Where programs keep the nodes and edges, from the outside in.
_PATHS: Sequence[tuple[str, ...]] = (
    ("data",), ("graph",), ("workflow", "graph"), ("flow",), ("flowData",), ("flow", "data"), ("workflow",),
    ("definition",),
)  # fmt: skip
#: Lists of whole flows.
_LISTS = ("flows", "ChatFlow", "AgentFlow", "AgentFlowV2", "workflows")
_LABELS = (
    ("data", "label"), ("data", "node", "display_name"), ("data", "display_name"), ("data", "title"), ("data", "name"),
    ("data", "type"), ("label",), ("name",), ("text",),
)  # fmt: skip
#: What this server's own exports hold, of a flow that the imported one is not.
_OWN = frozenset({"id", "version", "created_at", "updated_at", "warnings"})


def inside(content: JsonValue) -> tuple[Json, list[str]] | None:
    """Return the object that holds the nodes and the members that lead there; None when there is none."""
    if not isinstance(content, dict):
        return None
    if isinstance(content.get("nodes"), list):
        return content, []
    if isinstance(content.get("elements"), list):  # React Flow 9
        listed = objects(content["elements"])
        edges = [each for each in listed if "source" in each and "target" in each]
        nodes: list[JsonValue] = [each for each in listed if each not in edges]
        return {"nodes": nodes, "edges": [*edges]}, ["elements"]
    for path in _PATHS:
        value: JsonValue = content
        for name in path:
            value = _object(value.get(name)) if isinstance(value, dict) else None
        if isinstance(value, dict) and isinstance(value.get("nodes"), list):
            return value, [path[0]]
    for name in _LISTS:
        flows = objects(content.get(name))
        if len(flows) == 1 and (within := inside(flows[0])):
            return within[0], [name]
    return None


def count_of_flows(content: JsonValue) -> int:
    """Return how many flows a file holds, when it holds several."""
    if isinstance(content, list):
        return sum(inside(each) is not None for each in content)
    return (
        sum(inside(each) is not None for name in _LISTS for each in objects(content.get(name)))
        if isinstance(content, dict)
        else 0
    )


def read(content: Json, holder: Json, path: list[str]) -> ForeignFlow:
    """Read the flow; every member of nodes and edges is kept unchanged."""
    flow = ForeignFlow("React Flow", text_at(content, "name") or text_at(holder, "name") or None)
    flow.nodes = [_labelled(node) for node in _listed(holder, "nodes")]
    flow.edges = [_completed(edge, number, flow) for number, edge in enumerate(_listed(holder, "edges"), 1)]
    if isinstance(settings := holder.get("settings"), dict):
        flow.settings = settings
    for outer, kept in ((content, ["name", *path]), (holder, ["name", "nodes", "edges", "settings"])):
        if outer is content is holder:
            kept = [*kept, "nodes", "edges", "settings", *_OWN]  # noqa: PLW2901
        for name, value in outer.items():
            if name not in kept and value not in (None, "", [], {}, False):
                flow.left_out[name] = f"`{name}` is not part of a flow and was left out"
        if holder is content:
            break
    return flow


def _listed(holder: Json, name: str) -> Iterator[JsonValue]:
    value = holder.get(name)
    yield from value if isinstance(value, list) else []


def _labelled(node: JsonValue) -> JsonValue:
    """Return the node with its label and position where ours are, when it has them under other names."""
    if not isinstance(node, dict):
        return node
    if "position" not in node and isinstance(node.get("x"), (int, float)) and isinstance(node.get("y"), (int, float)):
        node = {**node, "position": {"x": node["x"], "y": node["y"]}}
    data = node.get("data", {})
    if not isinstance(data, dict) or isinstance(data.get("label"), str):
        return node
    label = next((text for path in _LABELS if (text := text_at(node, *path))), "")
    return {**node, "data": {**data, "label": label}} if label else node


def _completed(edge: JsonValue, number: int, flow: ForeignFlow) -> JsonValue:
    """Return the edge with an id, and with its label where ours is; JSON Canvas has other names for its ends."""
    if not isinstance(edge, dict):
        return edge
    made: Json = {**edge}
    for ours, theirs in (("source", "fromNode"), ("target", "toNode")):
        if ours not in made and theirs in made:
            made[ours] = made.pop(theirs)
    if not isinstance(made.get("id"), str) or not made["id"]:
        made["id"] = flow.free(f"e{number}")
    label, data = made.get("label"), made.get("data")
    if isinstance(label, str) and label and data is None:
        made["data"] = {"label": label}
    elif isinstance(label, str) and label and isinstance(data, dict) and "label" not in data:
        made["data"] = {**data, "label": label}
    return made


def _object(value: JsonValue) -> JsonValue:
    """Return the value, out of JSON text when it is one: Flowise keeps its flow as text."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            parsed: JsonValue = orjson.loads(value)
        except orjson.JSONDecodeError:
            return None
        return parsed
    return value
