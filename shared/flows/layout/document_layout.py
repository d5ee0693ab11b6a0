"""The layout of a document: groups from the inside out, each of them one box in the diagram around it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from shared.flows.document import (
    Document,
    Json,
    Kind,
    corner_of,
    group_of,
    is_group,
    label_of,
    relative_parent,
    text_of,
)
from shared.flows.layout.components import NodeBox, Point, Separation, arrangement
from shared.flows.visuals import number, size_of, spacing

Direction = Literal["LR", "TB"]

_DEEPEST = 50  #: groups inside groups
_PADDING = 20.0  #: between a group's border and its members
#: Of what is written on an edge: about the width of a letter, the height of a line, the widest, what shows of the edge.
_LETTER, _LINE, _WIDEST, _AROUND = 6.4, 16.0, 180.0, 40.0


@dataclass
class _Frame:
    """The inside of one expanded group, or of the whole diagram."""

    members: list[str] = field(default_factory=list)
    arcs: list[tuple[str, str]] = field(default_factory=list)
    labels: dict[tuple[str, str], float] = field(default_factory=dict)  #: their sizes along the layers


def layout(document: Document, direction: Direction = "LR") -> dict[str, Point]:
    """Return the top left corner of every visible node."""
    return _Layout(document, direction).places()


def layout_with_sizes(
    document: Document, direction: Direction
) -> tuple[dict[str, Point], dict[str, tuple[float, float]]]:
    """Return the same, and width and height of the groups that have members."""
    made = _Layout(document, direction)
    return made.places(), made.frames


class _Layout:
    def __init__(self, document: Document, direction: Direction) -> None:
        self._document = document
        self._swap = direction == "TB"
        horizontal = number(document.settings, spacing("horizontal"))
        vertical = number(document.settings, spacing("vertical"))
        self._gaps = Separation(vertical, horizontal) if self._swap else Separation(horizontal, vertical)
        self._around = _enclosing(document)
        self._frames: dict[str, _Frame] = {}
        self.frames: dict[str, tuple[float, float]] = {}  #: width and height of each frame, once it is laid out

    def places(self) -> dict[str, Point]:
        self._fill_frames()
        relative: dict[str, Point] = {}
        boxes: dict[str, NodeBox] = {}
        for frame in self._inside_out():
            boxes[frame] = self._settle(frame, boxes, relative)
        absolute: dict[str, Point] = {}
        for frame in reversed(self._inside_out()):
            corner = (absolute[frame][0] + _PADDING, absolute[frame][1] + _PADDING) if frame else (0.0, 0.0)
            for key in self._frames[frame].members:
                along, across = relative[key]
                absolute[key] = (round(corner[0] + along, 2), round(corner[1] + across, 2))
        return {key: (across, along) if self._swap else (along, across) for key, (along, across) in absolute.items()}

    def _fill_frames(self) -> None:
        self._frames = {"": _Frame()}
        for key in sorted(self._around, key=lambda key: self._document.nodes[key].rank):
            self._frames.setdefault(self._around[key], _Frame()).members.append(key)
        for item in sorted(self._document.edges.values(), key=lambda item: item.rank):
            self._place_arc(text_of(item.body, "source"), text_of(item.body, "target"), item.body)

    def _place_arc(self, source: str, target: str, edge: Json) -> None:
        """Add an arc to the innermost frame that holds both of its ends, between the boxes that hold them there."""
        outward = self._path(source)
        inward = dict(self._path(target))
        for frame, box in outward:
            if frame in inward:
                arc = (box, inward[frame])
                if box != inward[frame]:
                    self._frames[frame].arcs.append(arc)
                if label := label_of(edge) or text_of(edge, "label"):
                    labels = self._frames[frame].labels
                    labels[arc] = max(labels.get(arc, 0.0), self._extent(label))
                return

    def _extent(self, label: str) -> float:
        """Return the size along the layers of what is written on an edge, with the line before and after it."""
        lines = label.split("\n")
        if not self._swap:
            return min(max(map(len, lines)) * _LETTER, _WIDEST) + _AROUND
        return sum(1 + int(len(line) * _LETTER / _WIDEST) for line in lines) * _LINE + _AROUND / 2

    def _path(self, key: str) -> list[tuple[str, str]]:
        """Return the frames around a node, from the inside out, each with the box in it that holds the node."""
        path: list[tuple[str, str]] = []
        seen: set[str] = set()
        while key in self._document.nodes and key not in seen and len(seen) <= _DEEPEST:
            seen.add(key)
            if key in self._around:
                path.append((self._around[key], key))
            key = group_of(self._document.nodes[key].body)
        return path

    def _inside_out(self) -> list[str]:
        depth = {frame: len(self._path(frame)) for frame in self._frames}
        return sorted(self._frames, key=lambda frame: -depth[frame])

    def _settle(self, frame: str, boxes: Mapping[str, NodeBox], relative: dict[str, Point]) -> NodeBox:
        """Place a frame's members relative to its corner; answers the frame's own box."""
        members = self._frames[frame].members
        index = {key: number for number, key in enumerate(members)}
        sizes = [boxes[key] if key in self._frames else self._box(key) for key in members]
        arcs = [(index[source], index[target]) for source, target in self._frames[frame].arcs]
        now = {index[key]: self._now(key) for key in members} if not frame else {}
        labels = {(index[a], index[b]): size for (a, b), size in self._frames[frame].labels.items()}
        places = arrangement(sizes, arcs, self._gaps, now, labels)
        relative.update(zip(members, places, strict=True))
        along = max((a + box.along for (a, _), box in zip(places, sizes, strict=True)), default=0.0)
        across = max((c + box.across for (_, c), box in zip(places, sizes, strict=True)), default=0.0)
        box = NodeBox(along + 2 * _PADDING, across + 2 * _PADDING)
        if frame and any(relative_parent(self._document.nodes[key].body) == frame for key in members):
            own = self._box(frame)  # React Flow draws such a group in its own size, not around its members
            box = NodeBox(max(box.along, own.along), max(box.across, own.across))
        if frame:
            self.frames[frame] = (box.across, box.along) if self._swap else (box.along, box.across)
        return box

    def _box(self, key: str) -> NodeBox:
        width, height = size_of(self._document.settings, key, self._document.nodes[key].body)
        return NodeBox(height, width) if self._swap else NodeBox(width, height)

    def _now(self, key: str) -> Point:
        x, y = corner_of(self._document.nodes, key)
        return (y, x) if self._swap else (x, y)


def _enclosing(document: Document) -> dict[str, str]:
    """Return the visible nodes, each with the expanded group directly around it; empty without one."""
    nodes = document.table(Kind.NODE)
    around: dict[str, str] = {}
    for key, item in nodes.items():
        if item.body.get("hidden") is True or item.body.get("id") != key:
            continue
        group = group_of(item.body)
        holds = group in nodes and (is_group(nodes[group].body) or relative_parent(item.body) == group)
        around[key] = group if holds else ""
    return {key: group if _is_frame(group, around) else "" for key, group in around.items()}


def _is_frame(group: str, around: Mapping[str, str]) -> bool:
    """Return whether the group and those around it are shown; false for groups in a cycle, or nested very deep."""
    for _ in range(_DEEPEST):
        if not group:
            return True
        if group not in around:
            return False
        group = around[group]
    return False
