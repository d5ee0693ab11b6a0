"""The notations of a line: code fences, attributes, code spans, parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from services.execution.documents.parse.nodes import Expression, Node, Parameter
from shared.declarations.documents import DECLARED
from shared.declarations.parameters import parse_declaration
from shared.languages import language_of_word

_PAIR = re.compile(
    r"""([A-Za-z_][\w-]*)\s*=\s*("(?:[^"\\]|\\.)*"|'[^']*'|\[[^\]]*\]|[^\s,}]+)|#([\w-]+)|([^\s,{}=]+)"""
)
_MARKS = re.compile(r"[=#,{}]")
_TICKS = re.compile(r"`+")
_BRACES = re.compile(r"\{([^{}]*)\}")
_QUARTO = re.compile(r"\{(\w+)\}\s+(.+)")
_LONGEST = 20_000  #: a longer line is data, not prose


def language_of(word: str) -> str:
    """The name by which kernels go; a language without a kernel keeps its own."""
    language = language_of_word(word)
    return word.lower() if language is None else language.name


def attributes(text: str) -> dict[str, str]:
    """``a=1 b="two" #id flag`` as a mapping; flags stand for themselves."""
    if len(text) <= 4000 and not _MARKS.search(text):
        return dict.fromkeys(text.split(), "true")
    values: dict[str, str] = {}
    for match in _PAIR.finditer(text[:4000]):
        name, value, identity, flag = match.groups()
        if name:
            values[name] = unquoted(value)
        elif identity:
            values["id"] = identity
        elif flag:
            values[flag] = "true"
    return values


def unquoted(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    return value


class Fence(NamedTuple):
    language: str
    options: Mapping[str, str]
    executable: bool


def is_language(word: str) -> bool:
    return language_of_word(word) is not None


def fence(info: str, flavour: str) -> Fence:
    """What stands behind the opening of a code fence."""
    info = info.strip()
    if info.startswith("{"):
        return _in_braces(info, flavour)
    if "exec" not in info or flavour != "stencila":
        return _TEXT
    words = attributes(info.replace("{", " ").replace("}", " "))
    names = [word for word in words if words[word] == "true"]
    language = names[0] if names and names[0] != "exec" else ""
    return Fence(language_of(language), words, "exec" in words)


_TEXT = Fence("", {}, False)


def _in_braces(info: str, flavour: str) -> Fence:
    inner, _, after = info[1:].partition("}")
    options = attributes(inner)
    first = next(iter(options), "")
    if flavour == "myst":
        if inner.strip() != "code-cell":
            return _TEXT
        return Fence(language_of(after.strip().split(" ")[0] or "python"), {}, True)
    if inner.startswith(("{", ".", "=")):
        return _TEXT
    if flavour == "quarto":
        flags = [word for word, value in options.items() if value == "true"]
        if len(flags) > 1 and flags[0] == first:
            options.setdefault("id", flags[1])  # ``{r setup, echo=FALSE}``
        return Fence(language_of(first), {**options, **_knitr(options)}, bool(first))
    chunk = not options or is_language(first) or "exec" in options
    return Fence(language_of("" if first == "exec" else first), options, chunk)


def _knitr(options: Mapping[str, str]) -> dict[str, str]:
    return {key: value.lower() for key, value in options.items() if value in ("TRUE", "FALSE", "T", "F")}


def nodes_in(line: str, number: int, flavour: str) -> list[Node]:
    """The expressions and parameters of a line, from left to right."""
    if len(line) > _LONGEST:
        return []
    nodes: list[tuple[int, Node]] = []
    spans = spans_of(line)
    for start, end in spans:
        width = len(_TICKS.match(line, start)[0])  # type: ignore[index]
        code = line[start + width : end - width].strip()
        braces = _BRACES.match(line, end)
        options = attributes(braces[1]) if braces else {}
        place = (start, braces.end() if braces else end)
        language = ""
        if flavour == "stencila" and "exec" in options:
            language = language_of(next(iter(options)).removeprefix("exec")) or "python"
        elif flavour == "quarto" and (quarto := _QUARTO.match(code)):
            language, code = language_of(quarto[1]), quarto[2]
        elif flavour == "myst" and line.endswith("{eval}", 0, start):
            language, place = "python", (start - len("{eval}"), end)
        if language:
            node = Expression(number, number + 1, columns=place, language=language, code=code)
            nodes.append((start, node))
    if "&[" in line:
        for match in DECLARED.finditer(line):
            if not any(start <= match.start() < end for start, end in spans):
                parameter = parse_declaration(match[1], match[2] or "")
                nodes.append((match.start(), Parameter(number, number + 1, declared=parameter)))
    return [node for _, node in sorted(nodes, key=lambda pair: pair[0])]


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
    spans: list[tuple[int, int]] = []
    index = 0
    while index < len(runs):
        other = partner[index]
        if other is not None:
            spans.append((runs[index][0], runs[other][1]))
            index = other
        index += 1
    return spans
