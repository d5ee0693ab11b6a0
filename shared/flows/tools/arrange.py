"""autoLayout: puts the visible nodes where the layered layout wants them."""

from __future__ import annotations

from shared.flows.document import Kind, position_of
from shared.flows.draft import Draft
from shared.flows.layout.place import Direction, layout
from shared.flows.tools.arguments import Arguments, Made

_STILL = 0.01  #: a shorter move is none


def auto_layout(draft: Draft, arguments: Arguments) -> Made:
    arguments.no_more()
    return Made(did_change=arrange(draft, "LR"))


def arrange(draft: Draft, direction: Direction) -> bool:
    """Move nodes to their places; whether any moved."""
    moved = False
    for key, (x, y) in layout(draft.document(), direction).items():
        was_x, was_y = position_of(draft.nodes[key].body)
        if abs(x - was_x) >= _STILL or abs(y - was_y) >= _STILL:
            draft.change(Kind.NODE, key, position={"x": x, "y": y})
            moved = True
    return moved
