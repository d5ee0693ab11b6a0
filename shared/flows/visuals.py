"""Visual settings: only what differs is stored, by JSON pointer, and merged over the defaults when read."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from shared.contracts.flow_document import VisualSettings
from shared.errors import InvalidRequest
from shared.flows.colors import is_color, is_paint
from shared.flows.document import Item, Json, Table

DEFAULTS: Mapping[str, float | str] = {
    "/colors/background": "linear-gradient(180deg, #0f0a1a 0%, #1a0f2e 100%)",
    "/colors/allNodes/background": "#1a192b",
    "/colors/allNodes/border": "#2b2253",
    "/colors/allNodes/text": "#ffffff",
    "/dimensions/node/default/width": 172,
    "/dimensions/node/default/height": 76,
    "/dimensions/node/default/borderRadius": 4,
    "/dimensions/dagre/horizontal": 50,
    "/dimensions/dagre/vertical": 50,
    "/dimensions/fitViewPadding": 0.25,
    "/dimensions/zoom": 1,
}

WIDTH, HEIGHT, SPACING, ZOOM = (60, 600), (24, 320), (10, 400), (0.2, 2.5)

#: Values of a node's ``data.shape`` and of an edge's ``data.line``; a missing one is the first.
SHAPES = (
    "rect", "round", "stadium", "subroutine", "cylinder", "circle", "double_circle", "diamond", "hexagon",
    "parallelogram", "parallelogram_back", "trapezoid", "trapezoid_back", "flag",
)  # fmt: skip
LINES = ("arrow", "open", "dotted", "dotted_open", "thick", "thick_open", "invisible")

MAX_EXTENT = 100_000.0  #: of a node, as React Flow has it

BACKGROUND, ZOOM_AT = "/colors/background", "/dimensions/zoom"


def all_nodes_color(part: str) -> str:
    return f"/colors/allNodes/{part}"


def node_color(node: str, part: str) -> str:
    return f"/colors/perNode/{_escaped(node)}/{part}"


def node_size(node: str | None, part: str) -> str:
    """Return the pointer of a node's own width, height or radius; of the default for None."""
    return f"/dimensions/node/overrides/{_escaped(node)}/{part}" if node else f"/dimensions/node/default/{part}"


def spacing(axis: str) -> str:
    return f"/dimensions/dagre/{axis}"


def of_node(node: str) -> list[str]:
    """Return every pointer that can hold a setting of one node."""
    colors = [node_color(node, part) for part in ("background", "border", "text")]
    return colors + [node_size(node, part) for part in ("width", "height", "borderRadius")]


def number(settings: Table, pointer: str, otherwise: str = "") -> float:
    """Return a numeric setting: the stored one, else the one at ``otherwise``, else the default."""
    for place in (pointer, otherwise):
        item = settings.get(place)
        if item is not None and isinstance(value := item.body["value"], (int, float)):
            return value
    default = DEFAULTS.get(pointer, DEFAULTS.get(otherwise, 0))
    assert not isinstance(default, str)
    return default


def color(settings: Table, pointer: str, otherwise: str = "") -> str:
    """Return a color setting, looked up like ``number``."""
    for place in (pointer, otherwise):
        item = settings.get(place)
        if item is not None and isinstance(value := item.body["value"], str):
            return value
    return str(DEFAULTS.get(pointer, DEFAULTS.get(otherwise, "")))


def size_of(settings: Table, node: str, body: Mapping[str, JsonValue] | None = None) -> tuple[float, float]:
    """Return width and height of a node: its setting, else what React Flow has of it, else the default."""
    width, height = (_extent(settings, node, body or {}, name) for name in ("width", "height"))
    return width, height


def _extent(settings: Table, node: str, body: Mapping[str, JsonValue], name: str) -> float:
    if node_size(node, name) not in settings:
        for holder in (body, body.get("style"), body.get("measured")):
            own = _pixels(holder.get(name)) if isinstance(holder, Mapping) else 0
            if own > 0:
                return own
    return number(settings, node_size(node, name), node_size(None, name))


def _pixels(value: JsonValue) -> float:
    """Return a size that is a number, or a CSS length in pixels; 0 for any other."""
    if isinstance(value, str) and (match := re.fullmatch(r"\s*(\d{1,6}(?:\.\d{1,6})?)(?:px)?\s*", value)):
        return float(match[1])
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return min(float(value), MAX_EXTENT) if is_number and math.isfinite(value) else 0  # type: ignore[arg-type]


def scaled(value: float, factor: float, within: tuple[float, float]) -> float:
    """Return the value after one step up or down: rounded to two decimals, half up, then kept within the limits."""
    stepped = math.floor(value * factor * 100 + 0.5) / 100
    kept = min(max(stepped, within[0]), within[1])
    return int(kept) if float(kept).is_integer() else kept


def merged(settings: Table) -> Json:
    """Return the complete settings in the form of the API."""
    tree: Json = {"colors": {"perNode": {}}, "dimensions": {"node": {"overrides": {}}}}
    for pointer, default in DEFAULTS.items():
        _set_at(tree, pointer, default)
    for pointer, item in settings.items():
        _set_at(tree, pointer, item.body["value"])
    return tree


def stored(given: VisualSettings) -> dict[str, Item]:
    """Return a client's settings by pointer, as far as they differ from the defaults.

    Raises: InvalidRequest for an invalid color.
    """
    leaves = dict(_leaves(given.model_dump(exclude_none=True), ""))
    wrong: list[tuple[list[str | int], str]] = [
        (["body", "settings", *(_unescaped(part) for part in pointer.split("/")[1:])], "is not a CSS colour")
        for pointer, value in leaves.items()
        if isinstance(value, str) and not (is_paint(value) if pointer.endswith("/background") else is_color(value))
    ]
    if wrong:
        raise InvalidRequest("The settings hold colours that are not colours.", wrong)
    own = {pointer: value for pointer, value in leaves.items() if DEFAULTS.get(pointer) != value}
    return {pointer: Item(0, {"value": value}) for pointer, value in own.items()}


def _leaves(value: JsonValue, pointer: str) -> Iterator[tuple[str, JsonValue]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _leaves(inner, f"{pointer}/{_escaped(name)}")
    else:
        yield pointer, int(value) if isinstance(value, float) and value.is_integer() else value


def _set_at(tree: Json, pointer: str, value: JsonValue) -> None:
    *path, last = (_unescaped(part) for part in pointer.split("/")[1:])
    for name in path:
        inner = tree.setdefault(name, {})
        assert isinstance(inner, dict)
        tree = inner
    tree[last] = value


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _unescaped(part: str) -> str:
    return part.replace("~1", "/").replace("~0", "~")
