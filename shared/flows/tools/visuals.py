"""changeVisuals, changeDimensions, autoLayout: colours; sizes, zoom and spacing, ten percent a step; places."""

from __future__ import annotations

from shared.flows import visuals
from shared.flows.colors import is_color, is_paint
from shared.flows.document import Kind, corner_of, position_of, relative_parent
from shared.flows.draft import Draft
from shared.flows.layout.document_layout import Direction, layout_with_sizes
from shared.flows.tools.arguments import Arguments, CallFailed, ToolResult, existing_node, one_of
from shared.flows.tools.placement import enlarge

_UP, _DOWN = 1.1, 0.9
_SMALLEST_MOVE = 0.01


def change_visuals(draft: Draft, arguments: Arguments) -> ToolResult:
    target = arguments.needed("target", "target is required")
    color = arguments.needed("color", "color is required", 10_000)
    part = arguments.any("property") or "background"
    if not (is_paint(color) if part == "background" else is_color(color)):
        raise CallFailed("Invalid color value provided")
    part = one_of(part, ("background", "border", "text"), "property must be one of: background, border, text")
    node = _node(draft, target, arguments)
    arguments.no_more()
    if target == "node" and node:
        draft.set(visuals.node_color(node, part), color.strip())
    elif target == "all_nodes":
        draft.set(visuals.all_nodes_color(part), color.strip())
    elif target == "background":
        draft.set(visuals.BACKGROUND, color.strip())
    else:
        raise CallFailed("Invalid target for changeVisuals")
    return ToolResult(node_id=node if target == "node" else None)


def change_dimensions(draft: Draft, arguments: Arguments) -> ToolResult:
    target = arguments.needed("target", "target is required")
    direction = one_of(
        arguments.any("direction"), ("increase", "decrease"), 'direction must be "increase" or "decrease"'
    )
    axis = one_of(
        arguments.any("axis") or "both",
        ("horizontal", "vertical", "both"),
        "axis must be one of: horizontal, vertical, both",
    )
    node = _node(draft, target, arguments)
    arguments.no_more()
    factor = _UP if direction == "increase" else _DOWN
    axes = ("horizontal", "vertical") if axis == "both" else (axis,)
    if target in ("node", "all_nodes"):
        for one in axes:
            _resize(draft, node, one, factor)
    elif target == "zoom":
        _scale(draft, visuals.ZOOM_AT, "", factor, visuals.ZOOM)
    elif target == "layout_spacing":
        for one in axes:
            _scale(draft, visuals.spacing(one), "", factor, visuals.SPACING)
    else:
        raise CallFailed("Invalid target for changeDimensions")
    return ToolResult(node_id=node)


def auto_layout(draft: Draft, arguments: Arguments) -> ToolResult:
    arguments.no_more()
    return ToolResult(did_change=arrange(draft, "LR"))


def arrange(draft: Draft, direction: Direction) -> bool:
    """Move nodes to their places; whether any moved."""
    moved = False
    places, sizes = layout_with_sizes(draft.document(), direction)
    for key, (x, y) in places.items():
        parent = relative_parent(draft.nodes[key].body)
        if parent in draft.nodes:
            left, top = places.get(parent) or corner_of(draft.nodes, parent)
            x, y = round(x - left, 2), round(y - top, 2)  # noqa: PLW2901
            moved = enlarge(draft, parent, sizes.get(parent)) or moved
        was_x, was_y = position_of(draft.nodes[key].body)
        if abs(x - was_x) >= _SMALLEST_MOVE or abs(y - was_y) >= _SMALLEST_MOVE:
            draft.change(Kind.NODE, key, position={"x": x, "y": y})
            moved = True
    return moved


def _node(draft: Draft, target: str, arguments: Arguments) -> str | None:
    """Return the node that a call for one node names; other targets ignore the name."""
    if target != "node":
        arguments.any("nodeId")
        return None
    return existing_node(draft, arguments.needed("nodeId", 'nodeId is required when target is "node"'))


def _resize(draft: Draft, node: str | None, axis: str, factor: float) -> None:
    part, within = ("width", visuals.WIDTH) if axis == "horizontal" else ("height", visuals.HEIGHT)
    _scale(draft, visuals.node_size(node, part), visuals.node_size(None, part), factor, within)


def _scale(draft: Draft, pointer: str, otherwise: str, factor: float, within: tuple[float, float]) -> None:
    value = visuals.number(draft.settings, pointer, otherwise)
    draft.set(pointer, visuals.scaled(value, factor, within))
