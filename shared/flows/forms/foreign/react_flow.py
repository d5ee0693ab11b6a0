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
_IDS = frozenset(
    {"id", "source", "target", "from", "to", "fromNode", "toNode", "parentId", "parentNode", "parentGroupId"}
)
_LABELS = (
    ("data", "label"), ("data", "node", "display_name"), ("data", "node", "description"),
    ("data", "display_name"), ("data", "title"), ("data", "name"),
    ("data", "type"), ("label",), ("name",), ("text",),
)  # fmt: skip
#: What this server's own exports hold, of a flow that the imported one is not.
_OWN = frozenset({"id", "version", "created_at", "updated_at", "warnings"})


def inside(content: JsonValue) -> tuple[Json, list[str]] | None:
    """Return the object that holds the nodes and the members that lead there; None when there is none."""
    if isinstance(content, list) and content and len(objects(content)) == len(content):
        return (_sorted(content), []) if all(map(_is_element, objects(content))) else None
    if not isinstance(content, dict):
        return None
    return _own(content) or _deeper(content)


def _own(content: Json) -> tuple[Json, list[str]] | None:
    """Return the nodes and edges that the object itself holds, as lists."""
    nodes, edges, elements = content.get("nodes"), content.get("edges"), content.get("elements")
    if isinstance(nodes, list):
        return content, []
    if isinstance(nodes, dict) and len(objects([*nodes.values()])) == len(nodes) > 0:  # by their ids
        listed: list[JsonValue] = [{"id": key, **each} for key, each in nodes.items() if isinstance(each, dict)]
        lists: Json = {"nodes": listed, "edges": [*edges.values()] if isinstance(edges, dict) else edges}
        return {**content, **lists}, ["nodes", "edges", "settings"]
    if isinstance(elements, list):  # React Flow 9, Cytoscape
        return _sorted(elements), ["elements"]
    if isinstance(elements, dict):  # Cytoscape
        return _sorted([*objects(elements.get("nodes")), *objects(elements.get("edges"))]), ["elements"]
    return None


def _deeper(content: Json) -> tuple[Json, list[str]] | None:
    """Return the nodes and edges that a member holds."""
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


def _is_element(each: Json) -> bool:
    return "id" in each and ("position" in each or ("source" in each and "target" in each))


def _sorted(elements: Sequence[JsonValue]) -> Json:
    """Return nodes and edges out of one list; Cytoscape has their ids and ends in ``data``."""
    flat: list[Json] = []
    for each in objects([*elements]):
        data = each.get("data")
        moved: Json = (
            {key: data[key] for key in ("id", "source", "target") if key in data} if isinstance(data, dict) else {}
        )
        flat.append({**each, **moved} if each.get("id") is None else each)
    edges = [each for each in flat if "source" in each and "target" in each]
    return {"nodes": [each for each in flat if each not in edges], "edges": [*edges]}


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
    flow.nodes = [_labelled(_with_texts(node), flow) for node in _listed(holder, "nodes")]
    flow.edges = [
        _completed(_with_texts(edge), number, flow) for number, edge in enumerate(_listed(holder, "edges"), 1)
    ]
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


def _with_texts(element: JsonValue) -> JsonValue:
    """Return a node or an edge with its ids as texts: some programs count them."""
    if not isinstance(element, dict):
        return element
    return {key: str(value) if key in _IDS and type(value) is int else value for key, value in element.items()}


def _text_of_element(value: JsonValue) -> str:
    """Return the words of a React element, as which a label may have been saved."""
    if isinstance(value, list):
        return "".join(map(_text_of_element, value))
    if isinstance(value, dict):
        props = value.get("props")
        return _text_of_element(props.get("children")) if isinstance(props, dict) else ""
    return str(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else ""


def _labelled(node: JsonValue, flow: ForeignFlow) -> JsonValue:
    """Return the node with its label and position where ours are, when it has them under other names."""
    if not isinstance(node, dict):
        return node
    if "position" not in node and isinstance(node.get("x"), (int, float)) and isinstance(node.get("y"), (int, float)):
        node = {**node, "position": {"x": node["x"], "y": node["y"]}}
    data = node.get("data", {})
    if not isinstance(data, dict) or isinstance(data.get("label"), str):
        return node
    if isinstance(given := data.get("label"), (dict, list, int, float)) and not isinstance(given, bool):
        if not isinstance(given, (int, float)):
            flow.left_out["label"] = "`label` is a React element: only its words were kept"
        data = {**data, "label": _text_of_element(given)}
        node = {**node, "data": data}
        if data["label"]:
            return node
    label = next((text for path in _LABELS if (text := text_at(node, *path))), "")
    return {**node, "data": {**data, "label": label}} if label else node


def _completed(edge: JsonValue, number: int, flow: ForeignFlow) -> JsonValue:
    """Return the edge with an id, and with its label where ours is; JSON Canvas has other names for its ends."""
    if not isinstance(edge, dict):
        return edge
    made: Json = {**edge}
    for ours, theirs in (("source", "fromNode"), ("target", "toNode"), ("source", "from"), ("target", "to")):
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
