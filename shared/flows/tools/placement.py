"""Placement: a new node is next to what it is linked with, in the flow's direction, and covers no other node."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Literal

from shared.flows.document import Document, Json, Kind, corner_of, is_group, position_of, relative_parent, text_of
from shared.flows.draft import Box, Draft
from shared.flows.layout.components import Point
from shared.flows.layout.document_layout import layout
from shared.flows.tools.visibility import groups_around
from shared.flows.visuals import number, size_of, spacing

Direction = Literal["LR", "RL", "TB", "BT"]

GAP = 24.0  #: at least so much between a new node and any other
RIGHT_OF_PARENT = 200.0
_BESIDE = 28.0  #: between a wide node and the one to its right
_PADDING = 20.0  #: between a group's border and its members
_SAMPLED = 200  #: edges that decide the direction of a flow


def place_beside(draft: Draft, key: str, parent: str | None) -> None:
    """Give a node that was just added a free place: next to its parent, within the same group."""
    size = size_of(draft.settings, key, draft.nodes[key].body)
    direction = _direction(draft, parent, key)
    around = set(groups_around(draft, text_of(draft.nodes[key].body, "parentGroupId")))
    around.update(groups_around(draft, relative_parent(draft.nodes[key].body)))
    wanted = (0.0, 0.0) if parent is None else _next_to(draft, parent, size, direction)
    place = free_place(_near(draft, {key, *around}, size, wanted, direction), size, wanted, direction)
    put_at(draft, key, place)


def put_at(draft: Draft, key: str, place: Point) -> None:
    """Move a node to a place in the diagram; a parent that its position counts from grows around it."""
    parent = relative_parent(draft.nodes[key].body)
    if parent in draft.nodes and parent != key:
        left, top = corner_of(draft.nodes, parent)
        place = max(place[0] - left, 0.0), max(place[1] - top, 0.0)
        width, height = size_of(draft.settings, key, draft.nodes[key].body)
        enlarge(draft, parent, (place[0] + width + _PADDING, place[1] + height + _PADDING))
    x, y = (int(each) if each.is_integer() else round(each, 2) for each in map(float, place))
    if position_of(draft.nodes[key].body) != (x, y):
        draft.change(Kind.NODE, key, position={"x": x, "y": y})


def enlarge(draft: Draft, key: str, size: Point | None) -> bool:
    """Give a node that React Flow draws around its children at least the size; return whether it was smaller."""
    body = draft.nodes[key].body
    width, height = size_of(draft.settings, key, body)
    if size is None or (size[0] <= width and size[1] <= height):
        return False
    wanted: Json = {"width": max(size[0], width), "height": max(size[1], height)}
    style = body.get("style")
    own = {name: wanted[name] for name in wanted if name in body}
    draft.change(Kind.NODE, key, style={**(style if isinstance(style, dict) else {}), **wanted}, **own)
    return True


def place_group(draft: Draft, key: str, members: Collection[str]) -> None:
    """Move a collapsed group off the nodes that are not its members, but for those that a member covers anyway."""
    size = size_of(draft.settings, key, draft.nodes[key].body)
    around = set(groups_around(draft, key))
    own = [draft.boxes()[member] for member in members]
    others = [
        box for box in _boxes_but(draft, {key, *members, *around}) if not any(_touch(box, each, 0.0) for each in own)
    ]
    put_at(draft, key, free_place(others, size, corner_of(draft.nodes, key), _direction(draft, None, key)))


def make_room(draft: Draft, shown: Iterable[str]) -> None:
    """Move nodes that were just shown, keeping their relative positions, off the nodes that were visible before."""
    drawn = draft.boxes()
    moving = [key for key in shown if key in drawn and draft.nodes[key].body.get("hidden") is not True]
    if not moving:
        return
    around = {each for key in moving for each in groups_around(draft, key)}
    moved = {*moving, *around}
    others = [box for key, box in drawn.items() if key not in moved and draft.nodes[key].body.get("hidden") is not True]
    if not any(_touch(drawn[key], box, 0.0) for key in moving for box in others):
        return
    left, top = min(drawn[key][0] for key in moving), min(drawn[key][1] for key in moving)
    right = max(drawn[key][0] + drawn[key][2] for key in moving)
    bottom = max(drawn[key][1] + drawn[key][3] for key in moving)
    x, y = free_place(others, (right - left, bottom - top), (left, top), _direction(draft, None, ""))
    for key in moving:
        if relative_parent(draft.nodes[key].body) not in moving:
            put_at(draft, key, (drawn[key][0] + x - left, drawn[key][1] + y - top))


def with_places(document: Document, keys: Sequence[str]) -> Document:
    """Return the document with places for the nodes that have none: a layout when no node has one."""
    draft = Draft(document)
    if len(keys) == len(document.nodes):
        for key, place in layout(document).items():
            if relative_parent(document.nodes[key].body) not in document.nodes:
                put_at(draft, key, place)
        return draft.document()
    bodies = {key: draft.nodes[key].body for key in keys}
    for key in keys:
        draft.remove(Kind.NODE, key)
    for key in keys:
        draft.add(Kind.NODE, key, bodies[key])
        sources = (text_of(draft.edges[edge].body, "source") for edge in draft.incident(key))
        place_beside(draft, key, next((source for source in sources if source in draft.nodes and source != key), None))
    ranks = {key: document.nodes[key].rank for key in keys}
    return Document(
        {key: type(item)(ranks.get(key, item.rank), item.body) for key, item in draft.nodes.items()},
        document.edges,
        document.settings,
        document.top,
    )


def free_place(boxes: Sequence[Box], size: Point, wanted: Point, direction: Direction) -> Point:
    """Return the place nearest to the wanted one, across the direction, where no box is nearer than the gap."""
    along, across = (0, 1) if direction in ("LR", "RL") else (1, 0)
    low, high = wanted[along] - GAP, wanted[along] + size[along] + GAP
    blocked = sorted(
        (box[across] - GAP - size[across], box[across] + box[across + 2] + GAP)
        for box in boxes
        if box[along] < high and box[along] + box[along + 2] > low
    )
    best = _nearest_free(blocked, wanted[across])
    return (wanted[0], best) if across == 1 else (best, wanted[1])


def _nearest_free(blocked: Sequence[tuple[float, float]], wanted: float) -> float:
    """Return the number nearest to the wanted one that is in none of the sorted open intervals; up when it is even."""
    merged: list[tuple[float, float]] = []
    for start, end in blocked:
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    for start, end in merged:
        if start < wanted < end:
            return end if end - wanted <= wanted - start else start
    return wanted


def _near(draft: Draft, without: Collection[str], size: Point, wanted: Point, direction: Direction) -> list[Box]:
    """Return the same, of the nodes that are in the same column, or row; it is one pass over all nodes."""
    along = 0 if direction in ("LR", "RL") else 1
    far = along + 2
    low, high = wanted[along] - GAP, wanted[along] + size[along] + GAP
    near = [(key, box) for key, box in draft.boxes().items() if box[along] < high and box[along] + box[far] > low]
    return [box for key, box in near if key not in without] + _around_groups(draft, without)


def _boxes_but(draft: Draft, without: Collection[str]) -> list[Box]:
    """Return what a new node must not cover: all other nodes, hidden ones too, and what is drawn around groups."""
    drawn = draft.boxes()
    return [box for key, box in drawn.items() if key not in without] + _around_groups(draft, without)


def _around_groups(draft: Draft, without: Collection[str]) -> list[Box]:
    drawn = draft.boxes()
    boxes: list[Box] = []
    for key in draft.containers():
        if key not in without:
            members = [drawn[member] for member in draft.members(key)]
            if members:
                left, top = min(box[0] for box in members) - _PADDING, min(box[1] for box in members) - _PADDING
                right = max(box[0] + box[2] for box in members) + _PADDING
                bottom = max(box[1] + box[3] for box in members) + _PADDING
                boxes.append((left, top, right - left, bottom - top))
    return boxes


def _next_to(draft: Draft, parent: str, size: Point, direction: Direction) -> Point:
    """Return the place right after a node, in the direction."""
    x, y = corner_of(draft.nodes, parent)
    width, height = size_of(draft.settings, parent, draft.nodes[parent].body)
    if is_group(draft.nodes[parent].body) and draft.nodes[parent].body.get("isCollapsed") is not True:
        members = [draft.boxes()[member] for member in draft.members(parent)]
        width = max([width, *(box[0] + box[2] + _PADDING - x for box in members)])
        height = max([height, *(box[1] + box[3] + _PADDING - y for box in members)])
    gap = max(number(draft.settings, spacing("vertical")), GAP)
    if direction == "LR":
        return x + max(RIGHT_OF_PARENT, width + _BESIDE), y
    if direction == "RL":
        return x - max(RIGHT_OF_PARENT, size[0] + _BESIDE), y
    return (x, y + height + gap) if direction == "TB" else (x, y - size[1] - gap)


def _direction(draft: Draft, parent: str | None, new: str) -> Direction:
    """Return where edges lead: those out of the parent, else those into it, else the first ones of the flow."""
    if parent is not None:
        out = [edge for edge in draft.incident(parent) if text_of(draft.edges[edge].body, "target") != new]
        for wanted in ("source", "target"):
            of_parent = [edge for edge in out if text_of(draft.edges[edge].body, wanted) == parent]
            if led := _leading(draft, of_parent[:_SAMPLED]):
                return led
    first = (edge for edge, _ in zip(draft.edges, range(_SAMPLED), strict=False))
    return _leading(draft, [edge for edge in first if text_of(draft.edges[edge].body, "target") != new]) or "LR"


def _leading(draft: Draft, edges: Iterable[str]) -> Direction | None:
    """Return the direction in which most of these edges lead; None when they lead nowhere."""
    counted: dict[Direction, int] = {"LR": 0, "TB": 0, "RL": 0, "BT": 0}
    boxes = draft.boxes()
    for edge in edges:
        source, target = (boxes.get(text_of(draft.edges[edge].body, end)) for end in ("source", "target"))
        if source is None or target is None or source == target:
            continue
        across, down = target[0] - source[0], target[1] - source[1]
        if down >= source[3] and across < source[2]:
            counted["TB"] += 1
        elif -down >= target[3] and across < source[2] and across > -source[2]:
            counted["BT"] += 1
        elif across:
            counted["LR" if across > 0 else "RL"] += 1
    best = max(counted, key=lambda direction: counted[direction])
    return best if counted[best] else None


def _touch(one: Box, other: Box, gap: float) -> bool:
    return (
        one[0] < other[0] + other[2] + gap
        and other[0] < one[0] + one[2] + gap
        and one[1] < other[1] + other[3] + gap
        and other[1] < one[1] + one[3] + gap
    )
