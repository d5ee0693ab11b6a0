"""n8n workflows: nodes by name, connections by the names of their ends."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from shared.flows.document import Json
from shared.flows.forms.foreign.found import ForeignFlow, number_at, objects, text_at

_BRANCHES = {"if": ("true", "false"), "splitInBatches": ("done", "loop")}


def reads(content: JsonValue) -> bool:
    if not isinstance(content, dict) or not isinstance(content.get("connections"), dict):
        return False
    nodes = objects(content.get("nodes"))
    return all("name" in node and "type" in node for node in nodes)


def read(content: Json) -> ForeignFlow:
    flow = ForeignFlow("n8n", text_at(content, "name") or None)
    flow.drop("workflows", content, ("name", "nodes", "connections"))
    keys: dict[str, str] = {}
    types: dict[str, str] = {}
    for node in objects(content.get("nodes")):
        name, kind = text_at(node, "name"), text_at(node, "type").rpartition(".")[2]
        keys[name] = flow.free(text_at(node, "id") or name or "node")
        types[name] = kind
        x, y = _position(node.get("position"))
        note = text_at(node, "parameters", "content") if kind == "stickyNote" else ""
        made = flow.add_node(keys[name], note or name, x, y)
        if (x, y) == (0, 0) and not node.get("position"):
            del made["position"]  # it gets a free place
        if description := text_at(node, "notes") or (kind if kind != "stickyNote" else ""):
            made["data"] = {"label": note or name, "description": description}
        flow.drop("nodes", node, ("id", "name", "type", "typeVersion", "position", "notes"))
    connections = content["connections"]
    assert isinstance(connections, dict)
    for source, outputs in connections.items():
        for kind, port, several, target in _targets(outputs):
            if source not in keys or target not in keys:
                flow.left_out["connections"] = (
                    f"a connection from {source} to {target or 'nothing'}, which is not there"
                )
                continue
            branches = _BRANCHES.get(types[source], ())
            label = branches[port] if port < len(branches) else f"output {port + 1}" if several else ""
            flow.add_edge(keys[source], keys[target], label if kind == "main" else kind)
    return flow


def _targets(outputs: JsonValue) -> Iterator[tuple[str, int, bool, str]]:
    """Yield ``kind, port, several, target`` of every connection of one node."""
    for kind, ports in outputs.items() if isinstance(outputs, dict) else ():
        listed = ports if isinstance(ports, list) else []
        several = sum(bool(port) for port in listed) > 1
        for number, port in enumerate(listed):
            for target in objects(port):
                yield kind, number, several, text_at(target, "node")


def _position(value: JsonValue) -> tuple[float, float]:
    if isinstance(value, dict):
        return number_at(value, "x"), number_at(value, "y")
    numbers = [each for each in value if isinstance(each, (int, float))] if isinstance(value, list) else []
    return (numbers[0], numbers[1]) if len(numbers) == 2 else (0, 0)
