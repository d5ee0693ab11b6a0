"""Members that React Flow writes into nodes and edges while it shows them: not a step of the history."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import IntEnum

from pydantic import JsonValue

from shared.flows.document import Kind


class Weight(IntEnum):
    """How much a write matters to those who undo."""

    RUNTIME = 0  #: nothing but what React Flow keeps for itself
    PLACEMENT = 1  #: positions and looks of elements
    CHANGE = 2


#: React Flow 11 writes what it measured into ``width`` and ``height``, 12 into ``measured``.
_SIZE = frozenset({"width", "height"})
_RUNTIME: Mapping[Kind, frozenset[str]] = {
    Kind.NODE: _SIZE
    | {
        "computed", "dragging", "handleBounds", "handles", "internals", "measured", "positionAbsolute", "resizing",
        "selected", "sourcePosition", "targetPosition",
    },
    Kind.EDGE: frozenset({"selected"}),
    Kind.SETTING: frozenset(),
}  # fmt: skip
#: Members for an element's position, look and behavior on the screen.
_LOOKS = frozenset({"className", "deletable", "draggable", "focusable", "selectable", "style", "zIndex"})
_PLACEMENT: Mapping[Kind, frozenset[str]] = {
    Kind.NODE: _LOOKS | {"connectable", "dragHandle", "position"},
    # An edge is hidden because a node is.
    Kind.EDGE: _LOOKS
    | {
        "animated", "hidden", "interactionWidth", "labelBgBorderRadius", "labelBgPadding", "labelBgStyle",
        "labelShowBg", "labelStyle", "markerEnd", "markerStart", "pathOptions",
    },
    Kind.SETTING: frozenset(),
}  # fmt: skip


def runtime_members(kind: Kind) -> frozenset[str]:
    return _RUNTIME[kind]


def placing_members(kind: Kind) -> frozenset[str]:
    """Return the runtime members, and those for an element's position and look."""
    return _RUNTIME[kind] | _PLACEMENT[kind]


def weight_of(kind: Kind, changed: Collection[str], body: Mapping[str, JsonValue]) -> Weight:
    """Return the weight of a write that changed these members of an element, whose new content is ``body``."""
    runtime = _RUNTIME[kind] - _own_size(body)
    return max(
        (
            Weight.RUNTIME if name in runtime else Weight.PLACEMENT if name in _PLACEMENT[kind] else Weight.CHANGE
            for name in changed
        ),
        default=Weight.RUNTIME,
    )


def _own_size(body: Mapping[str, JsonValue]) -> frozenset[str]:
    """Return the sizes that an author gave the node, other than the measured ones."""
    measured = body.get("measured")
    if not isinstance(measured, dict):
        return frozenset()
    return frozenset(name for name in _SIZE if body.get(name) not in (None, measured.get(name)))
