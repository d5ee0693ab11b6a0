r"""Macros of a document's formulas: ``\newcommand``, ``\def`` and ``\DeclareMathOperator``, expanded within bounds."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_DEFINES = re.compile(
    r"\\(?:(?:re)?newcommand\*?|providecommand\*?|(def)|(DeclareMathOperator)(\*?))\s*\{?(\\[A-Za-z]+)\}?\s*"
)
_COUNT = re.compile(r"\[(\d)\]\s*(?:\[([^\[\]]{0,200})\]\s*)?")
_PARAMETERS = re.compile(r"(?:#\d)*")
_USE = re.compile(r"\\[A-Za-z]+")
_MAX_STEPS, _MAX_LENGTH, _MAX_MACROS = 500, 8_000, 500


@dataclass(frozen=True)
class Macro:
    body: str
    arguments: int = 0
    default: str | None = None  #: of the first argument, which is optional then


@dataclass
class Macros:
    known: dict[str, Macro] = field(default_factory=dict)

    def define(self, name: str, body: str) -> None:
        """Add a macro whose arguments are what its body names: ``#1`` and so on."""
        numbers = [int(each) for each in re.findall(r"#(\d)", body)]
        self.known[name] = Macro(body, max(numbers, default=0))

    def without_definitions(self, source: str) -> str:
        """Return the text less its definitions, which are kept."""
        at = 0
        while (match := _DEFINES.search(source, at)) is not None and len(self.known) < _MAX_MACROS:
            end = match.end()
            count = _COUNT.match(source, end)
            end = count.end() if count else end
            end = _PARAMETERS.match(source, end).end() if match[1] else end  # type: ignore[union-attr]
            body = _group(source, end)
            if body is None:
                at = match.end()
                continue
            inner, after = body
            if match[2]:
                inner = rf"\operatorname{match[3]}{{{inner}}}"
            parameters = (
                len(re.findall(r"#\d", source[match.end() : end])) if match[1] else int(count[1]) if count else 0
            )
            self.known[match[4]] = Macro(inner, parameters, count[2] if count else None)
            source, at = source[: match.start()] + source[after:], match.start()
        return source

    def expanded(self, source: str) -> str:
        """Return the formula with its macros replaced. Raises: ValueError when they do not end."""
        at, steps = 0, 0
        while self.known and (match := _USE.search(source, at)) is not None:
            macro = self.known.get(match[0])
            if macro is None:
                at = match.end()
                continue
            steps += 1
            if steps > _MAX_STEPS or len(source) > _MAX_LENGTH:
                raise ValueError("its macros do not end")
            values, end = _arguments(source, match.end(), macro)
            body = _filled(macro.body, values)
            at = match.start()
            source = f"{source[:at]}{{{body}}}{source[end:]}"
        return source


def _filled(body: str, values: list[str]) -> str:
    """Raises: ValueError when the body names an argument that the macro does not have."""

    def value(place: re.Match[str]) -> str:
        number = int(place[1])
        if not 0 < number <= len(values):
            raise ValueError(f"a macro has no argument {number}")
        return values[number - 1]

    return re.sub(r"#(\d)", value, body)


def _arguments(source: str, at: int, macro: Macro) -> tuple[list[str], int]:
    values: list[str] = []
    if macro.default is not None:
        optional = re.compile(r"\s*\[([^\[\]]*)\]").match(source, at)
        values.append(optional[1] if optional else macro.default)
        at = optional.end() if optional else at
    while len(values) < macro.arguments:
        group = _group(source, at)
        if group is None:
            raise ValueError("an argument of a macro is missing")
        values.append(group[0])
        at = group[1]
    return values, at


def _group(source: str, at: int) -> tuple[str, int] | None:
    """Return what is between braces here, or one sign or command, and the position after it."""
    while at < len(source) and source[at].isspace():
        at += 1
    if at >= len(source):
        return None
    if source[at] != "{":
        command = _USE.match(source, at)
        end = command.end() if command else at + 1
        return source[at:end], end
    depth = 0
    for end in range(at, len(source)):
        if source[end] in "{}" and (end == 0 or source[end - 1] != "\\"):
            depth += 1 if source[end] == "{" else -1
            if depth == 0:
                return source[at + 1 : end], end + 1
    return None
