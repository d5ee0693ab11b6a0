"""What every export of a diagram needs: short names, what is inside what, colours that are safe to write."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Literal, get_args

from shared.flows import visuals
from shared.flows.document import Document, Json, Kind, corner_of, group_of, is_group, text_of

#: Colours that no format can take for its own syntax.
_PLAIN_COLOR = re.compile(r"#[0-9a-fA-F]{3,8}\Z|[a-zA-Z]+\Z")
#: Of a chart; Mermaid has two words for the one from top to bottom.
Direction = Literal["LR", "RL", "TD", "TB", "BT"]
_DIRECTIONS: Sequence[Direction] = get_args(Direction)
#: Ids that Mermaid and DOT take for names; all others are numbered.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}\Z")
#: Words of their syntax, in any case.
_KEYWORDS = frozenset(
    [
        "accdescr",
        "acctitle",
        "bt",
        "call",
        "class",
        "classdef",
        "click",
        "default",
        "digraph",
        "direction",
        "edge",
        "end",
        "flowchart",
        "graph",
        "href",
        "interpolate",
        "linkstyle",
        "lr",
        "node",
        "rl",
        "strict",
        "style",
        "subgraph",
        "tb",
        "td",
    ]
)
PARTS = (("background", "fill"), ("border", "stroke"), ("text", "color"))


@dataclass
class Outline:
    """The nodes in order, by the group that they are written in; nodes without an id are left out."""

    order: list[str] = field(default_factory=list)
    inside: dict[str, list[str]] = field(default_factory=dict)  #: by group; ``""`` is the diagram itself
    short: dict[str, str] = field(default_factory=dict)  #: the id where it is a name, else n1, n2, ... in order

    def encloses(self, key: str, body: Json) -> bool:
        """Return whether a node is drawn around others."""
        return is_group(body) or key in self.inside


def outline_of(document: Document) -> Outline:
    outline = Outline()
    nodes = document.nodes
    keys = [key for key in sorted(nodes, key=lambda key: nodes[key].rank) if nodes[key].body.get("id") == key]
    groups = {key: group_of(nodes[key].body) for key in keys}
    numbered = (name for number in count(1) if (name := f"n{number}") not in groups)
    for key in keys:
        outline.order.append(key)
        outline.short[key] = key if _NAME.match(key) and key.lower() not in _KEYWORDS else next(numbered)
        group = groups[key]
        written_in = group if group in groups and _reaches_top(key, groups) else ""
        outline.inside.setdefault(written_in, []).append(key)
    return outline


def _reaches_top(key: str, groups: dict[str, str]) -> bool:
    """Return whether the chain of groups around a node ends; groups in a cycle cannot be written inside another."""
    for _ in range(50):
        key = groups.get(key, "")
        if not key:
            return True
    return False


def edges_of(document: Document, outline: Outline) -> list[tuple[str, str, str]]:
    """``id, source, target`` of the edges whose both ends are written, in order."""
    ordered = sorted(document.edges.items(), key=lambda pair: pair[1].rank)
    ends = ((key, text_of(item.body, "source"), text_of(item.body, "target")) for key, item in ordered)
    return [
        (key, source, target) for key, source, target in ends if source in outline.short and target in outline.short
    ]


def drawn(document: Document, outline: Outline) -> Direction:
    """Return the direction of most edges; left to right without edges."""
    leading = dict.fromkeys(_DIRECTIONS, 0)
    for _, source, target in edges_of(document, outline):
        (x, y), (to_x, to_y) = corner_of(document.nodes, source), corner_of(document.nodes, target)
        across, down = to_x - x, to_y - y
        if abs(across) >= abs(down):
            leading["LR" if across >= 0 else "RL"] += across != 0
        else:
            leading["TD" if down > 0 else "BT"] += 1
    return max(_DIRECTIONS, key=lambda direction: leading[direction])


def colors_of(document: Document, node: str | None) -> dict[str, str]:
    """Fill, stroke and text colour of one node, as far as its own are stored; those for all nodes for None."""
    colors: dict[str, str] = {}
    for part, name in PARTS:
        pointer = visuals.node_color(node, part) if node else visuals.all_nodes_color(part)
        item = document.table(Kind.SETTING).get(pointer)
        value = item.body["value"] if item else None
        if isinstance(value, str) and _PLAIN_COLOR.match(value):
            colors[name] = value
    return colors


def default_colors(document: Document) -> dict[str, str]:
    """Fill, stroke and text colour of a node without its own."""
    built_in = {name: str(visuals.DEFAULTS[visuals.all_nodes_color(part)]) for part, name in PARTS}
    return built_in | colors_of(document, None)
