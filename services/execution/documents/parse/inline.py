"""Code and parameters within a line."""

from __future__ import annotations

import re

from services.execution.documents.parse import notation
from services.execution.documents.parse.nodes import Expression, Node, Parameter
from shared.declarations.documents import DECLARED
from shared.declarations.parameters import parse_declaration

_TICKS = re.compile(r"`+")
_BRACES = re.compile(r"\{([^{}]*)\}")
_QUARTO = re.compile(r"\{(\w+)\}\s+(.+)")
_LONGEST = 20_000  #: a longer line is data, not prose


def found_in(line: str, number: int, flavour: str) -> list[Node]:
    """The expressions and parameters of a line, from left to right."""
    if len(line) > _LONGEST:
        return []
    found: list[tuple[int, Node]] = []
    spans = spans_of(line)
    for start, end in spans:
        width = len(_TICKS.match(line, start)[0])  # type: ignore[index]
        code = line[start + width : end - width].strip()
        braces = _BRACES.match(line, end)
        options = notation.attributes(braces[1]) if braces else {}
        place = (start, braces.end() if braces else end)
        language = ""
        if flavour == "stencila" and "exec" in options:
            language = notation.language_of(next(iter(options)).removeprefix("exec")) or "python"
        elif flavour == "quarto" and (quarto := _QUARTO.match(code)):
            language, code = notation.language_of(quarto[1]), quarto[2]
        elif flavour == "myst" and line.endswith("{eval}", 0, start):
            language, place = "python", (start - len("{eval}"), end)
        if language:
            node = Expression(number, number + 1, columns=place, language=language, code=code)
            found.append((start, node))
    if "&[" in line:
        for match in DECLARED.finditer(line):
            if not any(start <= match.start() < end for start, end in spans):
                parameter = parse_declaration(match[1], match[2] or "")
                found.append((match.start(), Parameter(number, number + 1, declared=parameter)))
    return [node for _, node in sorted(found, key=lambda pair: pair[0])]


def spans_of(text: str) -> list[tuple[int, int]]:
    """Where the code spans of a text begin and end, delimiters included."""
    if text.count("`") == 2:  # as most lines with code have
        begin, end = text.find("`"), text.rfind("`")
        return [(begin, end + 1)] if end > begin + 1 else []
    runs = [(match.start(), match.end()) for match in _TICKS.finditer(text)] if "`" in text else []
    following: dict[int, int] = {}
    partner: list[int | None] = [None] * len(runs)
    for index in range(len(runs) - 1, -1, -1):
        width = runs[index][1] - runs[index][0]
        partner[index] = following.get(width)
        following[width] = index
    found: list[tuple[int, int]] = []
    index = 0
    while index < len(runs):
        other = partner[index]
        if other is not None:
            found.append((runs[index][0], runs[other][1]))
            index = other
        index += 1
    return found
