"""changeVisuals and changeDimensions: colours, sizes, zoom and spacing, ten percent a step."""

from __future__ import annotations

from shared.flows import settings
from shared.flows.colors import is_color, is_paint
from shared.flows.draft import Draft
from shared.flows.tools.arguments import Arguments, CallFailed, Made, existing_node, one_of

_UP, _DOWN = 1.1, 0.9


def change_visuals(draft: Draft, arguments: Arguments) -> Made:
    target = arguments.needed("target", "target is required")
    color = arguments.needed("color", "color is required", 10_000)
    part = arguments.any("property") or "background"
    if not (is_paint(color) if part == "background" else is_color(color)):
        raise CallFailed("Invalid color value provided")
    part = one_of(part, ("background", "border", "text"), "property must be one of: background, border, text")
    node = _node(draft, target, arguments)
    arguments.no_more()
    if target == "node" and node:
        draft.set(settings.node_color(node, part), color.strip())
    elif target == "all_nodes":
        draft.set(settings.all_nodes_color(part), color.strip())
    elif target == "background":
        draft.set(settings.BACKGROUND, color.strip())
    else:
        raise CallFailed("Invalid target for changeVisuals")
    return Made(node_id=node if target == "node" else None)


def change_dimensions(draft: Draft, arguments: Arguments) -> Made:
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
        _scale(draft, settings.ZOOM_AT, "", factor, settings.ZOOM)
    elif target == "layout_spacing":
        for one in axes:
            _scale(draft, settings.spacing(one), "", factor, settings.SPACING)
    else:
        raise CallFailed("Invalid target for changeDimensions")
    return Made(node_id=node)


def _node(draft: Draft, target: str, arguments: Arguments) -> str | None:
    """The node that a call for one node names; other targets ignore the name."""
    if target != "node":
        arguments.any("nodeId")
        return None
    return existing_node(draft, arguments.needed("nodeId", 'nodeId is required when target is "node"'))


def _resize(draft: Draft, node: str | None, axis: str, factor: float) -> None:
    part, within = ("width", settings.WIDTH) if axis == "horizontal" else ("height", settings.HEIGHT)
    _scale(draft, settings.node_size(node, part), settings.node_size(None, part), factor, within)


def _scale(draft: Draft, pointer: str, otherwise: str, factor: float, within: tuple[float, float]) -> None:
    value = settings.number(draft.settings, pointer, otherwise)
    draft.set(pointer, settings.scaled(value, factor, within))
