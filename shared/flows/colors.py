"""CSS colours and gradients, parsed: what is accepted here is safe to put into a style."""

from __future__ import annotations

import re

from shared.flows.color_names import NAMES

MAX_LENGTH = 1000

_HEX = re.compile(r"#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})\Z")
_FUNCTION = re.compile(r"([a-z-]+)\((.*)\)\Z")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,3})?(%|[a-z]*)\Z")
_LENGTHS = frozenset(["px", "em", "rem", "vw", "vh", "vmin", "vmax", "cm", "mm", "in", "pt", "pc", "ch", "ex", "q"])
_ANGLES = frozenset({"deg", "grad", "rad", "turn"})
_SPACES = frozenset(
    [
        "srgb",
        "srgb-linear",
        "display-p3",
        "a98-rgb",
        "prophoto-rgb",
        "rec2020",
        "xyz",
        "xyz-d50",
        "xyz-d65",
        "lab",
        "oklab",
        "lch",
        "oklch",
        "hsl",
        "hwb",
    ]
)
_GRADIENT = re.compile(r"(?:repeating-)?(linear|radial|conic)-gradient\Z")
_SIDES = frozenset({"left", "right", "top", "bottom", "center"})
_RADIAL = frozenset(["circle", "ellipse", "closest-side", "closest-corner", "farthest-side", "farthest-corner"])
#: Per function: the units of its three channels, and whether commas may part them.
_HUE, _PERCENT, _PLAIN = _ANGLES | {""}, frozenset({"%", ""}), frozenset({""})
_CHANNELS: dict[str, tuple[tuple[frozenset[str], ...], bool]] = {
    "rgb": ((_PERCENT, _PERCENT, _PERCENT), True),
    "rgba": ((_PERCENT, _PERCENT, _PERCENT), True),
    "hsl": ((_HUE, _PERCENT, _PERCENT), True),
    "hsla": ((_HUE, _PERCENT, _PERCENT), True),
    "hwb": ((_HUE, _PERCENT, _PERCENT), False),
    "lab": ((_PERCENT, _PERCENT, _PERCENT), False),
    "oklab": ((_PERCENT, _PERCENT, _PERCENT), False),
    "lch": ((_PERCENT, _PERCENT, _HUE), False),
    "oklch": ((_PERCENT, _PERCENT, _HUE), False),
}


def is_color(text: str) -> bool:
    """Whether the text is one CSS colour: a name, hex, or a colour function."""
    if len(text) > MAX_LENGTH or not text.isascii():
        return False
    color = text.strip().lower()
    if color in NAMES or _HEX.match(color):
        return True
    call = _FUNCTION.match(color)
    if call is None:
        return False
    name, inner = call.groups()
    if name in ("color-mix", "light-dark"):
        return _is_mix(name, _split(inner, ",") or [])
    if name == "color":
        space, *channels = inner.split(None, 1) or [""]
        return space in _SPACES and bool(channels) and _channels(channels[0], (_PERCENT,) * 3, commas=False)
    return name in _CHANNELS and _channels(inner, *_CHANNELS[name])


def is_paint(text: str) -> bool:
    """Whether the text is a colour or a gradient."""
    if is_color(text):
        return True
    if len(text) > MAX_LENGTH or not text.isascii():
        return False
    call = _FUNCTION.match(text.strip().lower())
    gradient = _GRADIENT.match(call.group(1)) if call else None
    if call is None or gradient is None:
        return False
    parts = _split(call.group(2), ",")
    if parts is None or not all(parts):
        return False
    if not _is_stop(parts[0], gradient.group(1)):
        if not _is_shape(parts[0], gradient.group(1)):
            return False
        parts = parts[1:]
    colors = [part for part in parts if _is_stop(part, gradient.group(1))]
    hints = [part for part in parts if part not in colors]
    ends = bool(parts) and parts[0] in colors and parts[-1] in colors
    return len(colors) >= 2 and ends and all(_is_place(hint, gradient.group(1)) for hint in hints)


def _is_mix(name: str, parts: list[str]) -> bool:
    if name == "color-mix":
        space, *parts = parts or [""]
        words = space.split()
        if len(words) not in (2, 4) or words[0] != "in" or words[1] not in _SPACES or words[3:] not in ([], ["hue"]):
            return False
        parts = [_without_share(part) for part in parts]
    return len(parts) == 2 and all(is_color(part) for part in parts)


def _without_share(text: str) -> str:
    """A colour of a mix without its percentage, which may stand on either side."""
    words = _split(text, " ") or []
    return " ".join(word for word in words if not _has_unit(word, frozenset({"%"})))


def _channels(text: str, units: tuple[frozenset[str], ...], commas: bool) -> bool:
    """Three channels and perhaps an alpha, parted by commas all through, or by spaces with a slash before the alpha."""
    if "," in text:
        parts = [part.strip() for part in text.split(",")]
        return commas and len(parts) in (3, 4) and _fit(parts[:3], units) and _fit(parts[3:], (_PERCENT,))
    head, slash, alpha = text.partition("/")
    parts = head.split()
    fits = len(parts) == 3 and all(
        part == "none" or _fit([part], (unit,)) for part, unit in zip(parts, units, strict=True)
    )
    return fits and (not slash or alpha.strip() == "none" or _fit([alpha.strip()], (_PERCENT,)))


def _fit(parts: list[str], units: tuple[frozenset[str], ...]) -> bool:
    return all(_has_unit(part, allowed) for part, allowed in zip(parts, units, strict=False))


def _has_unit(text: str, allowed: frozenset[str]) -> bool:
    number = _NUMBER.match(text)
    return number is not None and number.group(1) in allowed


def _is_stop(text: str, gradient: str) -> bool:
    """A colour, perhaps with one or two places along the line."""
    parts = _split(text, " ")
    return (
        parts is not None
        and 1 <= len(parts) <= 3
        and is_color(parts[0])
        and all(_is_place(p, gradient) for p in parts[1:])
    )


def _is_place(text: str, gradient: str) -> bool:
    number = _NUMBER.match(text)
    if number is None:
        return False
    unit = number.group(1)
    if unit == "":
        return float(text) == 0
    return unit == "%" or unit in (_ANGLES if gradient == "conic" else _LENGTHS)


def _is_shape(text: str, gradient: str) -> bool:
    """The first argument of a gradient: a direction, a shape, a centre."""
    words = text.split()
    if gradient == "linear":
        if words[0] == "to":
            return 2 <= len(words) <= 3 and set(words[1:]) <= _SIDES - {"center"} and len(set(words)) == len(words)
        return len(words) == 1 and (_has_unit(text, _ANGLES) or text == "0")
    front, at, place = text.partition("at ") if text.startswith("at ") else text.partition(" at ")
    words = front.split()
    if at and not (place.split() and all(word in _SIDES or _is_place(word, "linear") for word in place.split())):
        return False
    if len(place.split()) > 4 or not (words or at):
        return False
    if gradient == "conic":
        return not words or (len(words) == 2 and words[0] == "from" and _has_unit(words[1], _HUE))
    return len(words) <= 3 and all(word in _RADIAL or _is_place(word, "linear") for word in words)


def _split(text: str, separator: str) -> list[str] | None:
    """The parts outside parentheses, without empty ones for spaces; None when the parentheses do not match."""
    parts, depth, start = [], 0, 0
    for index, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth < 0:
            return None
        if depth == 0 and (character == separator or (separator == " " and character.isspace())):
            parts.append(text[start:index].strip())
            start = index + 1
    parts.append(text[start:].strip())
    if depth:
        return None
    return [part for part in parts if part] if separator == " " else parts
