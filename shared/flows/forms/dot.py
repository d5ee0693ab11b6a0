"""A flow as Graphviz DOT."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from shared.flows.document import Document, Json, label_of, text_in
from shared.flows.forms.outline import Direction, Outline, colors_of, default_colors, drawn, edges_of, outline_of


def dot(document: Document, direction: Direction | None = None) -> str:
    """Return the digraph; groups are clusters, an edge at a group ends at an invisible point of the cluster.

    The default direction is the one in which the diagram is drawn.
    """
    outline = outline_of(document)
    rank = (direction or drawn(document, outline)).replace("TD", "TB")
    style = _style(default_colors(document))
    lines = ["digraph flow {", f"  rankdir={rank};", "  compound=true;", f"  node [shape=box, style=filled{style}];"]
    lines += _inside("", document, outline, 1)
    for key, source, target in edges_of(document, outline):
        body = document.edges[key].body
        looks = [f"label={_quoted(label)}"] if (label := label_of(body)) else []
        looks += _LINES.get(text_in(body.get("data"), "line") or "", ())
        for end, name in ((source, "ltail"), (target, "lhead")):
            if outline.encloses(end, document.nodes[end].body):
                looks.append(f"{name}=cluster_{outline.short[end]}")
        written = f" [{', '.join(looks)}]" if looks else ""
        lines.append(f"  {_quoted(source)} -> {_quoted(target)}{written};")
    return "\n".join([*lines, "}"]) + "\n"


def _inside(group: str, document: Document, outline: Outline, depth: int) -> Iterator[str]:
    indent = "  " * depth
    for key in outline.inside.get(group, ()):
        body = document.nodes[key].body
        if outline.encloses(key, body):
            yield f"{indent}subgraph cluster_{outline.short[key]} {{"
            yield f"{indent}  label={_quoted(label_of(body))};"
            yield f"{indent}  {_quoted(key)} [shape=point, style=invis];"
            yield from _inside(key, document, outline, depth + 1)
            yield f"{indent}}}"
        else:
            looks = _shape(body) + _style(colors_of(document, key))
            yield f"{indent}{_quoted(key)} [label={_quoted(label_of(body))}{looks}];"


_LINES = {
    "open": ("arrowhead=none",),
    "dotted": ("style=dashed",),
    "dotted_open": ("style=dashed", "arrowhead=none"),
    "thick": ("style=bold",),
    "thick_open": ("style=bold", "arrowhead=none"),
    "invisible": ("style=invis",),
}
#: Graphviz's names of our shapes; the rest is a box, as is its default.
_SHAPES = {
    "round": 'box, style="filled,rounded"',
    "stadium": 'box, style="filled,rounded", margin=0.2',
    "diamond": "diamond",
    "circle": "circle",
    "double_circle": "doublecircle",
    "subroutine": "box, peripheries=2",
    "cylinder": "cylinder",
    "hexagon": "hexagon",
    "parallelogram": "parallelogram",
    "parallelogram_back": "parallelogram",
    "trapezoid": "trapezium",
    "trapezoid_back": "invtrapezium",
    "flag": "cds",
}


def _shape(body: Json) -> str:
    shape = _SHAPES.get(text_in(body.get("data"), "shape") or "")
    return f", shape={shape}" if shape else ""


def _style(colors: Mapping[str, str]) -> str:
    names = {"fill": "fillcolor", "stroke": "color", "color": "fontcolor"}
    return "".join(f', {names[name]}="{color}"' for name, color in colors.items())


def _quoted(text: str) -> str:
    """Return a DOT string; newlines are kept, other control characters removed."""
    kept = "".join(char for char in text if char == "\n" or char.isprintable())
    return '"' + kept.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
