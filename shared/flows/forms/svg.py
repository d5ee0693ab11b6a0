"""A flow as an SVG picture: inert, with every text escaped and every colour checked."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from shared.flows import visuals
from shared.flows.document import Document, corner_of, is_group, label_of
from shared.flows.forms.outline import Outline, edges_of, outline_of

_MARGIN = 40.0
_CHARACTER = 7.5  #: about the width of one, at 13 px


class _Box:
    def __init__(self, x: float, y: float, width: float, height: float) -> None:
        self.x, self.y, self.width, self.height = x, y, width, height

    @property
    def middle(self) -> tuple[float, float]:
        return self.x + self.width / 2, self.y + self.height / 2


def svg(document: Document) -> str:
    """The picture of the visible nodes at their positions."""
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
    parts += [_node(document, key, boxes[key]) for key in order if is_group(document.nodes[key].body)]
    parts += _edges(document, outline, boxes)
    parts += [_node(document, key, boxes[key]) for key in order if not is_group(document.nodes[key].body)]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _boxes(document: Document, outline: Outline) -> dict[str, _Box]:
    """The box of each visible node; that of an expanded group encloses its members."""
    boxes: dict[str, _Box] = {}
    visible = [key for key in outline.order if document.nodes[key].body.get("hidden") is not True]
    for key in visible:
        boxes[key] = _Box(
            *corner_of(document.nodes, key), *visuals.size_of(document.settings, key, document.nodes[key].body)
        )
    for key in reversed(visible):
        members = [boxes[member] for member in outline.inside.get(key, ()) if member in boxes]
        if members:
            x, y = min(box.x for box in members) - 12, min(box.y for box in members) - 28
            right, bottom = (
                max(box.x + box.width for box in members) + 12,
                max(box.y + box.height for box in members) + 12,
            )
            boxes[key] = _Box(x, y, right - x, bottom - y)
    return boxes


def _node(document: Document, key: str, box: _Box) -> str:
    fill, stroke, color = (
        escape(visuals.color(document.settings, visuals.node_color(key, part), visuals.all_nodes_color(part)))
        for part in ("background", "border", "text")
    )
    if "gradient(" in fill:
        fill = str(visuals.DEFAULTS[visuals.all_nodes_color("background")])
    body = document.nodes[key].body
    open_group = is_group(body) and body.get("isCollapsed") is not True
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
    return (
        f'<g><title>{_text(label_of(body))}</title><rect x="{_n(box.x)}" y="{_n(box.y)}" width="{_n(box.width)}" '
        f'height="{_n(box.height)}" rx="{_n(radius)}" {look}/><text {place} fill="{color}">{_text(text)}</text></g>'
    )


def _edges(document: Document, outline: Outline, boxes: dict[str, _Box]) -> Iterator[str]:
    for key, source, target in edges_of(document, outline):
        if source not in boxes or target not in boxes:
            continue
        (x1, y1), (x2, y2) = _ends(boxes[source], boxes[target])
        yield f'<path d="M{_n(x1)} {_n(y1)} L{_n(x2)} {_n(y2)}" stroke="#8b87a8" fill="none" marker-end="url(#arrow)"/>'
        if label := label_of(document.edges[key].body):
            yield (
                f'<text x="{_n((x1 + x2) / 2)}" y="{_n((y1 + y2) / 2 - 4)}" text-anchor="middle" '
                f'fill="#b9b5d6" font-size="11">{_text(_fitting(label, 240))}</text>'
            )


def _ends(source: _Box, target: _Box) -> tuple[tuple[float, float], tuple[float, float]]:
    """From a side of one box to the facing side of the other."""
    (x1, y1), (x2, y2) = source.middle, target.middle
    if source is target:
        return (source.x + source.width, y1), (x1, source.y)
    if abs(x2 - x1) >= abs(y2 - y1):
        right = x2 >= x1
        return (source.x + source.width * right, y1), (target.x + target.width * (not right), y2)
    down = y2 >= y1
    return (x1, source.y + source.height * down), (x2, target.y + target.height * (not down))


def _fitting(text: str, width: float) -> str:
    line = " ".join(text.split())
    most = max(3, int((width - 16) / _CHARACTER))
    return line if len(line) <= most else line[: most - 1] + "…"


def _text(text: str) -> str:
    """XML text: escaped, without the characters that XML cannot hold."""
    return escape("".join(char for char in text if char in "\t\n" or (ord(char) >= 32 and char not in "\ufffe\uffff")))


def _n(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")
