"""A flow as an SVG picture: inert, with every text escaped and every colour checked."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape

from shared.flows import visuals
from shared.flows.document import Document, corner_of, group_of, label_of, relative_parent, text_in
from shared.flows.forms.outline import Outline, edges_of, outline_of

_MARGIN = 40.0
_BESIDE = 16.0  #: between two lines that join the same boxes
_CHARACTER = 7.5  #: about the width of one, at 13 px


class _Box:
    def __init__(self, x: float, y: float, width: float, height: float) -> None:
        self.x, self.y, self.width, self.height = x, y, width, height

    @property
    def middle(self) -> tuple[float, float]:
        return self.x + self.width / 2, self.y + self.height / 2


def svg(document: Document) -> str:
    """Return the picture of the visible nodes at their positions."""
    outline = outline_of(document)
    boxes = _boxes(document, outline)
    left = min((box.x for box in boxes.values()), default=0) - _MARGIN
    top = min((box.y for box in boxes.values()), default=0) - _MARGIN
    width = max((box.x + box.width for box in boxes.values()), default=0) + _MARGIN - left
    height = max((box.y + box.height for box in boxes.values()), default=0) + _MARGIN - top
    background = escape(visuals.color(document.settings, visuals.BACKGROUND))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{_n(left)} {_n(top)} {_n(width)} {_n(height)}" '
        f'width="{_n(width)}" height="{_n(height)}" style="background: {background}" '
        'font-family="system-ui, sans-serif" font-size="13">',
        '<defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" '
        'orient="auto-start-reverse"><path d="M0 0 10 5 0 10z" fill="#8b87a8"/></marker></defs>',
    ]
    order = [key for key in outline.order if key in boxes]
    encloses = {key for key in order if outline.encloses(key, document.nodes[key].body)}
    parts += [_node(document, outline, key, boxes[key]) for key in order if key in encloses]
    parts += _edges(document, outline, boxes)
    parts += [_node(document, outline, key, boxes[key]) for key in order if key not in encloses]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _boxes(document: Document, outline: Outline) -> dict[str, _Box]:
    """Return the box of each visible node; that of an expanded group encloses its members."""
    boxes: dict[str, _Box] = {}
    visible = [key for key in outline.order if document.nodes[key].body.get("hidden") is not True]
    for key in visible:
        boxes[key] = _Box(
            *corner_of(document.nodes, key), *visuals.size_of(document.settings, key, document.nodes[key].body)
        )
    for key in reversed(visible):
        members = [boxes[member] for member in outline.inside.get(key, ()) if member in boxes]
        if members:
            around = [_Box(box.x - 12, box.y - 28, box.width + 24, box.height + 40) for box in members]
            if any(relative_parent(document.nodes[member].body) == key for member in outline.inside[key]):
                around.append(boxes[key])  # React Flow draws it in its own size
            x, y = min(box.x for box in around), min(box.y for box in around)
            right, bottom = max(box.x + box.width for box in around), max(box.y + box.height for box in around)
            boxes[key] = _Box(x, y, right - x, bottom - y)
    return boxes


def _node(document: Document, outline: Outline, key: str, box: _Box) -> str:
    fill, stroke, color = (
        escape(visuals.color(document.settings, visuals.node_color(key, part), visuals.all_nodes_color(part)))
        for part in ("background", "border", "text")
    )
    if "gradient(" in fill:
        fill = str(visuals.DEFAULTS[visuals.all_nodes_color("background")])
    body = document.nodes[key].body
    open_group = outline.encloses(key, body) and body.get("isCollapsed") is not True
    radius = visuals.number(
        document.settings, visuals.node_size(key, "borderRadius"), visuals.node_size(None, "borderRadius")
    )
    look = f'fill="none" stroke="{stroke}" stroke-dasharray="6 4"' if open_group else f'fill="{fill}" stroke="{stroke}"'
    x, y = box.middle
    place = (
        f'x="{_n(box.x + 10)}" y="{_n(box.y + 18)}"'
        if open_group
        else f'x="{_n(x)}" y="{_n(y + 4)}" text-anchor="middle"'
    )
    text = _fitting(label_of(body), box.width)
    shape = "rect" if open_group else text_in(body.get("data"), "shape") or "rect"
    figure = _outline_of_shape(shape, box, radius, look)
    return f'<g><title>{_text(label_of(body))}</title>{figure}<text {place} fill="{color}">{_text(text)}</text></g>'


@dataclass(frozen=True)
class _Line:
    """An edge as it is drawn: between the boxes that represent its ends."""

    source: str
    target: str
    label: str
    look: str


def _lines(document: Document, outline: Outline, boxes: Mapping[str, _Box]) -> list[_Line]:
    """Return what is drawn; edges of members of a collapsed group end at its box, equal ones once."""
    lines: dict[tuple[str, str, str], _Line] = {}
    for key, source, target in edges_of(document, outline):
        body = document.edges[key].body
        ends = (_standing_for(document, source, boxes), _standing_for(document, target, boxes))
        look = text_in(body.get("data"), "line") or ""
        if body.get("hidden") is True or "" in ends or (source != target and ends[0] == ends[1]) or look == "invisible":
            continue
        same = key if ends == (source, target) else f"{label_of(body)} {look}"
        lines.setdefault((*ends, same), _Line(*ends, label_of(body), look))
    return list(lines.values())


def _standing_for(document: Document, key: str, boxes: Mapping[str, _Box]) -> str:
    """Return the node itself when it is drawn, else the group around it that is; empty for none."""
    seen: set[str] = set()
    while key in document.nodes and key not in seen:
        if key in boxes:
            return key
        seen.add(key)
        key = group_of(document.nodes[key].body)
    return ""


def _edges(document: Document, outline: Outline, boxes: Mapping[str, _Box]) -> Iterator[str]:
    """Draw the lines; several between the same two boxes run next to each other, each with its label."""
    lines = _lines(document, outline, boxes)
    between: dict[frozenset[str], list[int]] = {}
    for number, line in enumerate(lines):
        between.setdefault(frozenset((line.source, line.target)), []).append(number)
    for number, line in enumerate(lines):
        beside = between[frozenset((line.source, line.target))]
        place = beside.index(number)
        if line.source == line.target:
            yield _loop(line, boxes[line.source], place)
        else:
            yield _straight(line, boxes, place - (len(beside) - 1) / 2)


def _straight(line: _Line, boxes: Mapping[str, _Box], place: float) -> str:
    (x1, y1), (x2, y2) = _ends(boxes[line.source], boxes[line.target])
    length = math.hypot(x2 - x1, y2 - y1) or 1.0
    forward = 1 if line.source <= line.target else -1  # to one side of the pair, whichever way the line runs
    aside, down = -(y2 - y1) / length * place * _BESIDE * forward, (x2 - x1) / length * place * _BESIDE * forward
    x1, x2, y1, y2 = x1 + aside, x2 + aside, y1 + down, y2 + down
    path = f'<path d="M{_n(x1)} {_n(y1)} L{_n(x2)} {_n(y2)}" {_look(line)}/>'
    return path + _label(line, x1 + (x2 - x1) / 2, y1 + (y2 - y1) / 2 - 4)


def _loop(line: _Line, box: _Box, place: int) -> str:
    """Draw an edge from a node to itself around its upper right corner."""
    right, top, out = box.x + box.width, box.y, 30 + place * _BESIDE
    start, end = (right, top + min(20.0, box.height / 2)), (right - min(20.0, box.width / 2), top)
    curve = f"C{_n(right + out)} {_n(start[1])} {_n(end[0])} {_n(top - out)} {_n(end[0])} {_n(top)}"
    path = f'<path d="M{_n(start[0])} {_n(start[1])} {curve}" {_look(line)}/>'
    return path + _label(line, right + out / 2, top - out / 2)


def _look(line: _Line) -> str:
    kind = line.look.removesuffix("_open")
    dashes = {"dotted": ' stroke-dasharray="5 4"', "thick": ' stroke-width="3"'}.get(kind, "")
    head = "" if line.look == "open" or line.look.endswith("_open") else ' marker-end="url(#arrow)"'
    return f'stroke="#8b87a8" fill="none"{dashes}{head}'


def _label(line: _Line, x: float, y: float) -> str:
    if not line.label:
        return ""
    words = _text(_fitting(line.label, 240))
    return f'<text x="{_n(x)}" y="{_n(y)}" text-anchor="middle" fill="#b9b5d6" font-size="11">{words}</text>'


def _ends(source: _Box, target: _Box) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the ends of a line from a side of one box to the facing side of the other."""
    (x1, y1), (x2, y2) = source.middle, target.middle
    if abs(x2 - x1) >= abs(y2 - y1):
        right = x2 >= x1
        return (source.x + source.width * right, y1), (target.x + target.width * (not right), y2)
    down = y2 >= y1
    return (x1, source.y + source.height * down), (x2, target.y + target.height * (not down))


def _outline_of_shape(shape: str, box: _Box, radius: float, look: str) -> str:
    """Return the figure of a shape within its box."""
    x, y, w, h = box.x, box.y, box.width, box.height
    cx, cy = box.middle
    slope = min(w / 4, h / 2)
    corners = {
        "diamond": [(cx, y), (x + w, cy), (cx, y + h), (x, cy)],
        "hexagon": [
            (x + slope, y),
            (x + w - slope, y),
            (x + w, cy),
            (x + w - slope, y + h),
            (x + slope, y + h),
            (x, cy),
        ],
        "parallelogram": [(x + slope, y), (x + w, y), (x + w - slope, y + h), (x, y + h)],
        "parallelogram_back": [(x, y), (x + w - slope, y), (x + w, y + h), (x + slope, y + h)],
        "trapezoid": [(x + slope, y), (x + w - slope, y), (x + w, y + h), (x, y + h)],
        "trapezoid_back": [(x, y), (x + w, y), (x + w - slope, y + h), (x + slope, y + h)],
        "flag": [(x, y), (x + w, y), (x + w, y + h), (x, y + h), (x + slope, cy)],
    }.get(shape)
    if corners:
        points = " ".join(f"{_n(a)},{_n(b)}" for a, b in corners)
        return f'<polygon points="{points}" {look}/>'
    if shape in ("circle", "double_circle"):
        ring = f'<ellipse cx="{_n(cx)}" cy="{_n(cy)}" rx="{_n(w / 2)}" ry="{_n(h / 2)}" {look}/>'
        inner = f'<ellipse cx="{_n(cx)}" cy="{_n(cy)}" rx="{_n(w / 2 - 4)}" ry="{_n(h / 2 - 4)}" {look}/>'
        return ring + (inner if shape == "double_circle" else "")
    if shape == "cylinder":
        lid = min(h / 6, 12.0)
        arc = f"A{_n(w / 2)} {_n(lid)} 0 0"
        bottom = f"V{_n(y + h - lid)} {arc} 0 {_n(x + w)} {_n(y + h - lid)}"
        body = f"M{_n(x)} {_n(y + lid)} {bottom} V{_n(y + lid)}"
        return f'<path d="{body} {arc} 0 {_n(x)} {_n(y + lid)} {arc} 1 {_n(x + w)} {_n(y + lid)}" {look}/>'
    radius = {"stadium": h / 2, "round": max(radius, 12.0)}.get(shape, radius)
    rect = f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(w)}" height="{_n(h)}" rx="{_n(radius)}" {look}/>'
    if shape == "subroutine":
        bars = "".join(f"M{_n(bar)} {_n(y)} V{_n(y + h)} " for bar in (x + 8, x + w - 8)).strip()
        rect += f'<path d="{bars}" {look}/>'
    return rect


def _fitting(text: str, width: float) -> str:
    line = " ".join(text.split())
    most = max(3, int((width - 16) / _CHARACTER))
    return line if len(line) <= most else line[: most - 1] + "…"


def _text(text: str) -> str:
    """XML text: escaped, without the characters that XML cannot hold."""
    return escape("".join(char for char in text if char in "\t\n" or (ord(char) >= 32 and char not in "\ufffe\uffff")))


def _n(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")
