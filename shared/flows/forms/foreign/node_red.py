"""Node-RED flows: one list of nodes, tabs, groups and configurations, with the wires at their source."""

from __future__ import annotations

from pydantic import JsonValue

from shared.flows.document import Json
from shared.flows.forms.foreign.found import ForeignFlow, number_at, objects, text_at

_GAP = 200.0
_WIDTH, _HEIGHT = 172.0, 76.0


def listed(content: JsonValue) -> list[JsonValue] | None:
    """Return the list of nodes of a file, of the answer of its API, or of one exported flow; None for other files."""
    if isinstance(content, dict) and isinstance(content.get("flows"), list):
        content = content["flows"]
    elif isinstance(content, dict) and any("wires" in node for node in objects(content.get("nodes"))):
        sheet: Json = {**content, "type": "tab"}
        nodes = [sheet.pop(name, None) for name in ("nodes", "configs", "subflows")]
        content = [sheet, *(node for some in nodes for node in objects(some))]
    return content if isinstance(content, list) and reads(content) else None


def reads(content: JsonValue) -> bool:
    items = objects(content)
    if not items or not isinstance(content, list) or len(items) < len(content):
        return False
    return all("type" in item and "id" in item for item in items) and any(
        "wires" in item or "z" in item for item in items
    )


def read(content: list[JsonValue]) -> ForeignFlow:
    flow = ForeignFlow("Node-RED")
    items = objects(content)
    sheets = {text_at(item, "id"): item for item in items if item.get("type") in ("tab", "subflow")}
    groups = {text_at(item, "id"): item for item in items if item.get("type") == "group"}
    drawn = [
        item for item in items if "x" in item and "y" in item and item.get("type") not in ("tab", "subflow", "group")
    ]
    used = [key for key in sheets if any(text_at(item, "z") == key for item in drawn)]
    if len(sheets) == 1:
        flow.name = text_at(next(iter(sheets.values())), "label") or None
    configured = [item for item in items if item not in drawn and item["type"] not in ("tab", "subflow", "group")]
    if configured:
        kinds = ", ".join(sorted({str(item["type"]) for item in configured})[:10])
        flow.left_out["type"] = f"{len(configured)} configuration nodes were left out ({kinds})"
    offsets = _offsets(used, drawn)
    several = len(used) > 1
    for key in used if several else []:
        sheet = sheets[key]
        label = text_at(sheet, "label") or text_at(sheet, "name") or key
        flow.add_node(flow.free(key), label, 0, offsets[key], isCollapsed=False)["type"] = "group"
    for key, group in groups.items():
        tab = text_at(group, "z")
        x, y = number_at(group, "x"), number_at(group, "y") + offsets.get(tab, 0)
        node = flow.add_node(flow.free(key), text_at(group, "name") or "Group", x, y, isCollapsed=False)
        node["type"] = "group"
        around = text_at(group, "g") or (tab if several else "")
        if around in groups or around in used:
            node["parentGroupId"] = around
        flow.drop("groups", group, ("id", "type", "z", "name", "x", "y", "w", "h", "nodes", "g"))
    for item in drawn:
        _read_node(flow, item, sheets, groups, offsets, several)
    keys = {text_at(item, "id") for item in drawn}
    for item in drawn:
        _read_wires(flow, item, keys)
    return flow


def _read_node(
    flow: ForeignFlow,
    item: Json,
    sheets: dict[str, Json],
    groups: dict[str, Json],
    offsets: dict[str, float],
    several: bool,
) -> None:
    kind, sheet = text_at(item, "type"), text_at(item, "z")
    inner = sheets.get(kind.removeprefix("subflow:"), {})
    label = text_at(item, "name") or text_at(item, "label") or text_at(inner, "name") or kind
    x, y = number_at(item, "x") - _WIDTH / 2, number_at(item, "y") - _HEIGHT / 2 + offsets.get(sheet, 0)
    node = flow.add_node(flow.free(text_at(item, "id")), label, x, y)
    description = text_at(item, "info") or (kind if kind != label else "")
    if description:
        node["data"] = {"label": label, "description": description}
    around = text_at(item, "g") or (sheet if several else "")
    if around in groups or (several and around in sheets):
        node["parentGroupId"] = around
    flow.drop("nodes", item, ("id", "type", "z", "g", "name", "label", "info", "x", "y", "wires", "links"))


def _read_wires(flow: ForeignFlow, item: Json, keys: set[str]) -> None:
    source, wires = text_at(item, "id"), item.get("wires")
    ports = [port for port in wires if isinstance(port, list)] if isinstance(wires, list) else []
    several = sum(bool(port) for port in ports) > 1
    for number, port in enumerate(ports, 1):
        for target in port:
            if isinstance(target, str) and target in keys:
                flow.add_edge(source, target, f"output {number}" if several else "")
            else:
                flow.left_out["wires"] = f"a wire from {source} to {target}, which is not there"
    links = item.get("links")
    if item.get("type") == "link out" and isinstance(links, list):
        for target in links:
            if isinstance(target, str) and target in keys:
                flow.add_edge(source, target, line="dotted")


def _offsets(sheets: list[str], drawn: list[Json]) -> dict[str, float]:
    """Return how far each tab is moved down, so that tabs are below each other."""
    offsets: dict[str, float] = {}
    edge = 0.0
    for sheet in sheets:
        heights = [number_at(item, "y") for item in drawn if text_at(item, "z") == sheet]
        offsets[sheet] = edge - min(heights) if len(sheets) > 1 else 0.0
        edge += max(heights) - min(heights) + _GAP
    return offsets
