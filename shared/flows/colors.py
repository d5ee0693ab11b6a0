"""CSS colours and gradients, parsed: what is accepted here is safe to put into a style."""

from __future__ import annotations

from typing import Any, TypeAlias

from tinycss2 import parse_one_component_value
from tinycss2.color4 import COLOR_SPACES, parse_color

MAX_LENGTH = 1000

Token: TypeAlias = Any  #: of ``tinycss2.ast``, which has no types
Part: TypeAlias = list[Token]

_SYSTEM_COLORS = frozenset(
    """accentcolor accentcolortext activetext buttonborder buttonface buttontext canvas canvastext field fieldtext
    graytext highlight highlighttext linktext mark marktext selecteditem selecteditemtext visitedtext""".split()  # noqa: SIM905
)
_COMMAS_ALLOWED = frozenset({"rgb", "rgba", "hsl", "hsla"})  # the older functions; the others separate by spaces only
_LENGTHS = frozenset(["px", "em", "rem", "vw", "vh", "vmin", "vmax", "cm", "mm", "in", "pt", "pc", "ch", "ex", "q"])
_ANGLES = frozenset({"deg", "grad", "rad", "turn"})
_SIDES = frozenset({"left", "right", "top", "bottom", "center"})
_EXTENTS = frozenset(["circle", "ellipse", "closest-side", "closest-corner", "farthest-side", "farthest-corner"])


def is_color(text: str) -> bool:
    """Return whether the text is one CSS color: a name, hex, or a color function."""
    token = _token(text)
    return token is not None and _is_color(token)


def is_paint(text: str) -> bool:
    """Return whether the text is a color or a gradient."""
    token = _token(text)
    return token is not None and (_is_color(token) or _is_gradient(token))


def _token(text: str) -> Token | None:
    """Return the text's only component; None when there are more, or when a CSS parser would have to repair it."""
    if len(text) > MAX_LENGTH or not text.isascii() or "\\" in text or "/*" in text:
        return None
    if text.count("(") != text.count(")"):
        return None
    token = parse_one_component_value(text.strip())
    return None if token.type == "error" else token


def _is_color(token: Token) -> bool:
    if token.type == "ident" and token.lower_value in _SYSTEM_COLORS:
        return True
    if token.type != "function":
        return parse_color(token) is not None
    if not token.arguments:
        return False
    if token.lower_name == "light-dark":
        return _are_two_colors(_parts(token))
    if token.lower_name == "color-mix":
        space, *colors = _parts(token)
        return _is_mixing_space(space) and _are_two_colors([_without_share(color) for color in colors])
    commas = any(argument == "," for argument in token.arguments)
    return (not commas or token.lower_name in _COMMAS_ALLOWED) and parse_color(token) is not None


def _are_two_colors(parts: list[Part]) -> bool:
    return len(parts) == 2 and all(len(part) == 1 and _is_color(part[0]) for part in parts)


def _is_mixing_space(part: Part) -> bool:
    """``in oklab``, or ``in hsl longer hue``."""
    words = [_word(token) for token in part]
    return len(words) in (2, 4) and words[0] == "in" and words[1] in COLOR_SPACES and words[3:] in ([], ["hue"])


def _without_share(part: Part) -> Part:
    """Return a mix's color without its percentage, which may be on either side."""
    return [token for token in part if token.type != "percentage"]


def _is_gradient(token: Token) -> bool:
    if token.type != "function" or not token.lower_name.endswith("-gradient"):
        return False
    form = token.lower_name.removesuffix("-gradient").removeprefix("repeating-")
    parts = _parts(token)
    if form not in ("linear", "radial", "conic") or not all(parts):
        return False
    units = _ANGLES if form == "conic" else _LENGTHS
    if not _is_stop(parts[0], units):
        if not _is_shape(parts[0], form):
            return False
        parts = parts[1:]
    stops = [_is_stop(part, units) for part in parts]
    hints = [part for part, is_stop in zip(parts, stops, strict=True) if not is_stop]
    return sum(stops) >= 2 and stops[0] and stops[-1] and all(_are_places(hint, units, 1) for hint in hints)


def _is_stop(part: Part, units: frozenset[str]) -> bool:
    """Return whether the part is a color with up to two positions along the line."""
    return _is_color(part[0]) and _are_places(part[1:], units, 2)


def _are_places(part: Part, units: frozenset[str], most: int) -> bool:
    return len(part) <= most and all(_is_place(token, units) for token in part)


def _is_place(token: Token, units: frozenset[str]) -> bool:
    if token.type == "number":
        return bool(token.value == 0)
    return token.type == "percentage" or (token.type == "dimension" and token.lower_unit in units)


def _is_shape(part: Part, form: str) -> bool:
    """Return whether the part is the first argument of a gradient: a direction, a shape, a center."""
    words = [_word(token) for token in part]
    if form == "linear":
        if words[0] == "to":
            return 2 <= len(words) <= 3 and set(words[1:]) <= _SIDES - {"center"} and len(set(words)) == len(words)
        return len(part) == 1 and _is_angle(part[0])
    at = words.index("at") if "at" in words else len(part)
    front, centre = part[:at], part[at + 1 :]
    if at < len(part) and not (1 <= len(centre) <= 4 and all(_is_place_or(token, _SIDES) for token in centre)):
        return False
    if form == "conic":
        return not front or (len(front) == 2 and words[0] == "from" and _is_angle(front[1]))
    return len(front) <= 3 and all(_is_place_or(token, _EXTENTS) for token in front)


def _is_place_or(token: Token, words: frozenset[str]) -> bool:
    return _word(token) in words or _is_place(token, _LENGTHS)


def _is_angle(token: Token) -> bool:
    return _is_place(token, _ANGLES) and token.type != "percentage"


def _word(token: Token) -> str | None:
    return token.lower_value if token.type == "ident" else None


def _parts(function: Token) -> list[Part]:
    """Return the arguments between the commas, without white space."""
    parts: list[Part] = [[]]
    for argument in function.arguments:
        if argument == ",":
            parts.append([])
        elif argument.type != "whitespace":
            parts[-1].append(argument)
    return parts
