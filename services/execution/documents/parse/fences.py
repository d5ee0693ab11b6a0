"""Code fences: the text after their opening, and the chunks that they make."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from services.execution.documents.parse.nodes import Chunk, Note
from services.execution.documents.parse.notation import (
    attributes,
    is_language,
    language_of,
    options_of,
    unquoted,
)
from services.execution.documents.parse.options import of_lines
from shared.languages import DEFAULT_LANGUAGE

_CELL = re.compile(r"(?:#\||//\||--\|) *([\w-]+) *: *(.*)")
_OF_OPTIONS = re.compile(r"[ \t]*(?:#\||//\||--\|) ?")
_MAX_OPTION_LINES = 100
_DIAGRAMS = (
    "mermaid",
    "dot",
    "graphviz",
    "plantuml",
    "d2",
)  #: pictures that a browser draws: shown as they are written
_ITEM = re.compile(r"(?:#\||//\||--\|)\s+-\s+(.*)")


class Fence(NamedTuple):
    language: str
    options: Mapping[str, str]
    executable: bool


_TEXT = Fence("", {}, False)


def fence(info: str, flavour: str) -> Fence:
    """Parse the text after the opening of a code fence."""
    info = info.strip()
    if info.startswith("{"):
        return _in_braces(info, flavour)
    if "exec" not in info or flavour != "stencila":
        return _TEXT
    words = attributes(info.replace("{", " ").replace("}", " "))
    names = [word for word in words if words[word] == "true"]
    language = names[0] if names and names[0] != "exec" else ""
    return Fence(language_of(language), words, "exec" in words)


def _in_braces(info: str, flavour: str) -> Fence:
    inner, _, after = info[1:].partition("}")
    options = attributes(inner)
    first = next(iter(options), "")
    if flavour == "myst":
        if inner.strip() != "code-cell":
            return _TEXT
        return Fence(language_of(after.strip().split(" ")[0] or DEFAULT_LANGUAGE), {}, True)
    if inner.startswith(("{", ".", "=")):
        return _TEXT
    if flavour == "quarto":
        if first in _DIAGRAMS:
            return _TEXT
        flags = [word for word, value in options.items() if value == "true"]
        if len(flags) > 1 and flags[0] == first:
            options.setdefault("id", flags[1])  # ``{r setup, echo=FALSE}``
        return Fence(language_of(first), options, bool(first))
    chunk = not options or is_language(first) or "exec" in options
    return Fence(language_of("" if first == "exec" else first), options, chunk)


def chunk(fence: Fence, lines: Sequence[str], begin: int, end: int, width: int, flavour: str) -> Chunk:
    """Return the chunk between two marks of a fence that is indented by ``width``; without the second one it is not
    closed.
    """
    closed = end < len(lines)
    options, first = dict(fence.options), begin + 1
    if flavour == "myst":
        own, first = options_of(lines, first, end)
        if label := own.get("label", own.get("name")):
            own["id"] = label
        options |= own
    body = [_dedented(line, width) for line in lines[first:end]] if width else lines[first:end]
    if body and "|" in body[0][:3]:
        options |= _cell_options(body)
    code, after = "".join(body), end + 1 if closed else end
    node = Chunk(begin, after, language=fence.language, code=code, options=options, closed=closed)
    if not closed:
        text = f"The code fence of line {begin + 1} is never closed; it did not run."
        node.notes.append(Note("error", "unclosed_block", text))
    return node


def _dedented(line: str, width: int) -> str:
    return line[min(width, len(line) - len(line.lstrip(" \t"))) :]


def _cell_options(body: Sequence[str]) -> dict[str, str]:
    """Return the options of the ``#| label: x`` lines at the head of a chunk."""
    marked = list(itertools.takewhile(_OF_OPTIONS.match, body[:_MAX_OPTION_LINES]))
    options = of_lines("".join(_OF_OPTIONS.sub("", line) for line in marked))
    if options is None:
        return _plain_options(body)
    if label := options.pop("label", ""):
        options["id"] = label
    return options


def _plain_options(body: Sequence[str]) -> dict[str, str]:
    """Return the options of lines that are not YAML."""
    options: dict[str, str] = {}
    last = ""
    for line in body[:50]:
        if (match := _CELL.match(line)) is None:
            item = _ITEM.match(line)
            if item is None or not last:
                break
            options[last] = f"{options[last]} {item[1].strip()}".strip()
            continue
        last = "id" if match[1] == "label" else match[1]
        options[last] = unquoted(match[2].strip())
    return options
