"""A flow, or the difference of two of its versions, as a Mermaid flowchart."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from shared.flows import visuals
from shared.flows.document import Document, Item, Json, Kind, label_of, text_in
from shared.flows.forms.outline import Direction, Outline, colors_of, drawn, edges_of, outline_of
from shared.flows.operations import Add, Operation, Remove

SHAPES = {
    "rect": ("[", "]"),
    "round": ("(", ")"),
    "diamond": ("{", "}"),
    "circle": ("((", "))"),
    "stadium": ("([", "])"),
    "subroutine": ("[[", "]]"),
    "cylinder": ("[(", ")]"),
    "hexagon": ("{{", "}}"),
    "double_circle": ("(((", ")))"),
    "flag": (">", "]"),
    "parallelogram": ("[/", "/]"),
    "parallelogram_back": ("[\\", "\\]"),
    "trapezoid": ("[/", "\\]"),
    "trapezoid_back": ("[\\", "/]"),
}
LINES = {
    "arrow": "-->",
    "open": "---",
    "dotted": "-.->",
    "thick": "==>",
    "dotted_open": "-.-",
    "thick_open": "===",
    "invisible": "~~~",
}
#: Placeholder for an empty label, which Mermaid does not support.
EMPTY = "\u200b"
_DIFFERENCE_COLORS = {"added": "#2e7d32", "changed": "#f9a825", "removed": "#c62828"}

_ENTITIES = {
    '"': "#quot;",
    "#": "#35;",
    "<": "#lt;",
    ">": "#gt;",
    "&": "#amp;",
    "`": "#96;",
    "\\": "#92;",
    "\n": "<br/>",
}


def mermaid(document: Document, direction: Direction | None = None) -> str:
    """Return the flowchart; ids that are no names of Mermaid are kept in comments for a later import.

    The default direction is the one in which the diagram is drawn.
    """
    outline = outline_of(document)
    lines = [f"flowchart {direction or drawn(document, outline)}"]
    lines += _inside("", document, outline, 1)
    for key, source, target in edges_of(document, outline):
        body = document.edges[key].body
        label = label_of(body)
        words = f'|"{escaped(label)}"|' if label else ""
        line = LINES.get(text_in(body.get("data"), "line") or "", "-->")
        lines.append(f"  {outline.short[source]} {line}{words} {outline.short[target]}")
    lines += _colors(document, outline)
    lines += [f"  %% id {outline.short[key]} {json.dumps(key)}" for key in outline.order if outline.short[key] != key]
    return "\n".join(lines) + "\n"


def difference_chart(before: Document, after: Document, operations: Sequence[Operation]) -> str:
    """Return both versions in one chart: green is new, amber changed, red removed; new edges thick, removed ones
    dotted.
    """
    nodes, edges = dict(after.nodes), dict(after.edges)
    colors: dict[str, Item] = {}
    for operation in operations:
        change = "added" if isinstance(operation, Add) else "removed" if isinstance(operation, Remove) else "changed"
        if operation.kind is Kind.NODE:
            if change == "removed":
                nodes[operation.key] = before.nodes[operation.key]
            colors[visuals.node_color(operation.key, "border")] = Item(0, {"value": _DIFFERENCE_COLORS[change]})
        elif operation.kind is Kind.EDGE and change != "changed":
            item = before.edges[operation.key] if change == "removed" else edges[operation.key]
            data = item.body.get("data")
            line: Json = {
                **(data if isinstance(data, dict) else {}),
                "line": "dotted" if change == "removed" else "thick",
            }
            edges[operation.key] = Item(item.rank, {**item.body, "data": line})
    return mermaid(Document(nodes, edges, colors, after.top))


def escaped(label: str) -> str:
    """Return the label as Mermaid text: no character of it can end the text, or become markup."""
    text = "".join(_ENTITIES.get(char) or (char if char.isprintable() else f"#{ord(char)};") for char in label)
    return text or EMPTY


def _inside(group: str, document: Document, outline: Outline, depth: int) -> Iterator[str]:
    indent = "  " * depth
    for key in outline.inside.get(group, ()):
        body = document.nodes[key].body
        name, text = outline.short[key], f'"{escaped(label_of(body))}"'
        if outline.encloses(key, body):
            yield f"{indent}subgraph {name}[{text}]"
            yield from _inside(key, document, outline, depth + 1)
            yield f"{indent}end"
        else:
            opening, closing = SHAPES[_shape(body)]
            yield f"{indent}{name}{opening}{text}{closing}"


def _shape(body: Json) -> str:
    shape = text_in(body.get("data"), "shape")
    return shape if shape in SHAPES else "rect"


def _colors(document: Document, outline: Outline) -> Iterator[str]:
    if own := colors_of(document, None):
        yield f"  classDef default {_style(own)}"
    for key in outline.order:
        if own := colors_of(document, key):
            yield f"  style {outline.short[key]} {_style(own)}"


def _style(colors: dict[str, str]) -> str:
    return ",".join(f"{name}:{color}" for name, color in colors.items())
