"""Excalidraw drawings: shapes and texts become nodes, arrows that are bound at both ends become edges."""

from __future__ import annotations

from collections import Counter

from pydantic import JsonValue

from shared.flows.colors import is_color
from shared.flows.document import Json
from shared.flows.forms.foreign.found import ForeignFlow, number_at, objects, text_at

_SHAPES = {"rectangle": "rect", "diamond": "diamond", "ellipse": "circle", "image": "rect", "embeddable": "rect"}
_KEPT = (
    "id", "type", "x", "y", "width", "height", "strokeColor", "backgroundColor", "text", "containerId", "boundElements",
    "frameId", "name", "isDeleted", "startBinding", "endBinding", "roundness",
    # of every element, and of no use without its pixels
    "angle", "fillStyle", "strokeWidth", "strokeStyle", "roughness", "opacity", "seed", "version", "versionNonce",
    "index", "updated", "fontSize", "fontFamily", "textAlign", "verticalAlign", "lineHeight", "baseline",
    "originalText", "autoResize", "points", "lastCommittedPoint", "startArrowhead", "endArrowhead", "elbowed", "locked",
)  # fmt: skip


def reads(content: JsonValue) -> bool:
    return isinstance(content, dict) and (
        content.get("type") in ("excalidraw", "excalidraw/clipboard") and isinstance(content.get("elements"), list)
    )


def read(content: Json) -> ForeignFlow:
    flow = ForeignFlow("Excalidraw")
    flow.drop("drawings", content, ("type", "version", "source", "elements"))
    elements = {text_at(each, "id"): each for each in objects(content["elements"]) if each.get("isDeleted") is not True}
    labels = {
        text_at(each, "containerId"): text_at(each, "text") for each in elements.values() if each.get("type") == "text"
    }
    labels.pop("", None)
    left: Counter[str] = Counter()
    colors: Json = {}
    sizes: Json = {}
    for key, each in elements.items():
        kind = text_at(each, "type")
        flow.drop("elements", each, _KEPT)
        if kind in ("frame", "magicframe"):
            node = flow.add_node(key, text_at(each, "name") or "Frame", number_at(each, "x"), number_at(each, "y"))
            node |= {"type": "group", "isCollapsed": False}
        elif kind in _SHAPES or (kind == "text" and text_at(each, "containerId") not in elements):
            node = flow.add_node(
                key, labels.get(key) or text_at(each, "text"), number_at(each, "x"), number_at(each, "y")
            )
            _look(node, each, kind, colors, sizes)
        elif kind not in ("arrow", "line", "text"):
            left[kind or "?"] += 1
            continue
        else:
            continue
        frame = text_at(each, "frameId")
        if frame in elements and frame != key:
            node["parentGroupId"] = frame
    nodes = {str(node["id"]) for node in objects(flow.nodes)}
    for key, each in elements.items():
        if each.get("type") not in ("arrow", "line"):
            continue
        source, target = text_at(each, "startBinding", "elementId"), text_at(each, "endBinding", "elementId")
        if source in nodes and target in nodes:
            line = {"dashed": "dotted", "dotted": "dotted"}.get(text_at(each, "strokeStyle"))
            line = line or ("open" if each.get("type") == "line" else None)
            flow.add_edge(source, target, labels.get(key, ""), **({"line": line} if line else {}))
        else:
            left[f"{each['type']} without a shape at both ends"] += 1
    for kind, count in left.items():
        flow.left_out[kind] = f"{count} x {kind} was left out"
    _keep_looks(flow, colors, sizes)
    return flow


def _keep_looks(flow: ForeignFlow, colors: Json, sizes: Json) -> None:
    flow.settings = {}
    if colors:
        flow.settings["colors"] = {"perNode": colors}
    if sizes:
        flow.settings["dimensions"] = {"node": {"overrides": sizes}}


def _look(node: Json, each: Json, kind: str, colors: Json, sizes: Json) -> None:
    """Keep shape, colors and size, the size within the limits of a node."""
    key = str(node["id"])
    shape = "round" if kind == "rectangle" and each.get("roundness") else _SHAPES.get(kind, "rect")
    if shape != "rect" and isinstance(data := node["data"], dict):
        node["data"] = {**data, "shape": shape}
    own: Json = {}
    for member, part in (("backgroundColor", "background"), ("strokeColor", "border")):
        color = text_at(each, member)
        if color and color != "transparent" and is_color(color) and kind != "text":
            own[part] = color
    if own:
        own["text"] = "#000000" if "background" in own else "#ffffff"
        colors[key] = own
    width, height = number_at(each, "width", 172), number_at(each, "height", 76)
    sizes[key] = {"width": min(max(width, 60), 600), "height": min(max(height, 24), 320)}
