"""The notations of a line: attributes, code spans, parameters, and the headers of blocks in each flavour."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from services.execution.documents.parse.nodes import TYPES, DocumentNode, Expression, Parameter
from services.execution.documents.parse.options import of_lines
from shared.declarations.documents import DECLARED
from shared.declarations.parameters import parse_declaration
from shared.languages import DEFAULT_LANGUAGE, language_of_word

_PAIR = re.compile(
    r"""([A-Za-z_][\w.-]*)\s*=\s*("(?:[^"\\]|\\.)*"|'[^']*'|\[[^\]]*\]|[^\s,}]+)|#([\w-]+)|([^\s,{}=]+)"""
)
_MARKS = re.compile(r"[=#,{}]")
_TICKS = re.compile(r"`+")
_BRACES = re.compile(r"\{([^{}]*)\}")
_QUARTO = re.compile(r"\{(\w+)\}\s+(.+)")
_KNITR = re.compile(r"(r)\s+(.+)")
_LONGEST = 20_000  #: a longer line is data, not prose
WORDS = frozenset([*TYPES, "if", "elif", "else", "for", "include", "call", "prompt", "suggest", "assert"])
#: Directives whose content is Markdown of the document.
PROSE = frozenset(
    "note tip hint important warning caution attention danger error seealso admonition topic margin sidebar card grid "  # noqa: SIM905
    "grid-item dropdown tab-set tab-item div epigraph exercise solution".split()
)
_ARGUMENT = {"if": "expr", "elif": "expr", "assert": "expr", "for": "each", "include": "src", "call": "src"}
_OPTION = re.compile(r":([A-Za-z][\w-]*):[ \t]*(.*)$")
_CLASSES = re.compile(r"\{((?:[^{}\"']|\"[^\"]*\"|'[^']*')*)\}")
_SHORTCODE = re.compile(r"\{\{<\s*include\s+(\S+)\s*>\}\}\s*$")


def language_of(word: str) -> str:
    """Return the name by which kernels go; a language without a kernel keeps its own."""
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


def is_language(word: str) -> bool:
    return language_of_word(word) is not None


def nodes_in(line: str, number: int, flavour: str, *, knitr: bool = False) -> list[DocumentNode]:
    """Return the expressions and parameters of a line, from left to right."""
    if len(line) > _LONGEST:
        return []
    nodes: list[tuple[int, DocumentNode]] = []
    spans = spans_of(line)
    for start, end in spans:
        width = len(_TICKS.match(line, start)[0])  # type: ignore[index]
        code = line[start + width : end - width].strip()
        braces = _BRACES.match(line, end)
        options = attributes(braces[1]) if braces else {}
        place = (start, braces.end() if braces else end)
        language = ""
        if flavour == "stencila" and "exec" in options:
            language = language_of(next(iter(options)).removeprefix("exec")) or DEFAULT_LANGUAGE
        elif flavour == "quarto" and (quarto := _QUARTO.match(code) or (_KNITR.match(code) if knitr else None)):
            language, code = language_of(quarto[1]), quarto[2]
        elif flavour == "myst" and line.endswith("{eval}", 0, start):
            language, place = DEFAULT_LANGUAGE, (start - len("{eval}"), end)
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
    """Return where the code spans of a text begin and end, delimiters included."""
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


class Header(NamedTuple):
    word: str
    text: str
    options: Mapping[str, str] = MappingProxyType({})


def header(rest: str, flavour: str) -> Header:
    """Parse the text after the colons."""
    braces = _CLASSES.match(rest) if rest[0] == "{" else None
    if braces is None:
        word, *after = rest.split(None, 1)
        text = after[0].rstrip() if after else ""
        bare = word.rstrip(":")
        return Header(bare.lower(), f"{text}:::" if len(word) - len(bare) > 2 else text)
    inner, text = braces[1], rest[braces.end() :].strip()
    if flavour == "myst":
        return Header(inner.strip().lower(), text)
    options = attributes(inner)
    classes = [name[1:] for name, value in options.items() if value == "true" and name[0] == "."]
    word = next((name for name in classes if name in WORDS), "")
    if not word or flavour != "quarto":
        return Header(rest, "")
    left = {key: value for key, value in options.items() if not key.startswith(".")}
    text = left.pop("message", "") or left.pop(_ARGUMENT.get(word, "message"), "") or text
    language = left.pop("lang", left.pop("language", ""))
    return Header(word, f"{text} {{{language}}}" if language else text, left)


def shortcode(line: str) -> str | None:
    """Quarto's include."""
    match = _SHORTCODE.match(line.strip())
    return unquoted(match[1]) if match else None


def options_of(lines: Sequence[str], begin: int, end: int) -> tuple[dict[str, str], int]:
    """Return a directive's options, ``:key: value`` or between ``---``, and the line after them."""
    options: dict[str, str] = {}
    at = begin
    if at < end and lines[at].strip() == "---":
        closing = next((n for n in range(at + 1, min(end, at + 60)) if lines[n].strip() == "---"), None)
        if closing is None:
            return {}, begin
        if (read := of_lines("".join(lines[at + 1 : closing]))) is not None:
            return read, closing + 1
        for line in lines[at + 1 : closing]:
            key, colon, value = line.partition(":")
            if colon and not key.startswith((" ", "-", "#")):
                options[key.strip()] = unquoted(value.strip())
        return options, closing + 1
    while at < end and (match := _OPTION.match(lines[at].strip())):
        options[match[1]] = unquoted(match[2].strip()) or "true"
        at += 1
    return options, at
