"""How a block is spelled: Stencila's words, Quarto's divs with classes, MyST's directives, as one header."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from services.execution.documents.parse.fields import TYPES
from services.execution.documents.parse.notation import attributes, unquoted

WORDS = frozenset([*TYPES, "if", "elif", "else", "for", "include", "call", "prompt", "suggest", "assert"])
#: Directives whose content is Markdown of the document.
PROSE = frozenset(
    "note tip hint important warning caution attention danger error seealso admonition topic margin sidebar card grid "  # noqa: SIM905
    "grid-item dropdown tab-set tab-item div epigraph exercise solution".split()
)
_ARGUMENT = {"if": "expr", "elif": "expr", "assert": "expr", "for": "each", "include": "src", "call": "src"}
_OPTION = re.compile(r":([A-Za-z][\w-]*):[ \t]*(.*)$")
_CELL = re.compile(r"(?:#\||//\||--\|) *([\w-]+) *: *(.*)")
_BRACES = re.compile(r"\{((?:[^{}\"']|\"[^\"]*\"|'[^']*')*)\}")
_SHORTCODE = re.compile(r"\{\{<\s*include\s+(\S+)\s*>\}\}\s*$")


class Header(NamedTuple):
    word: str
    text: str
    options: Mapping[str, str] = MappingProxyType({})


def header(rest: str, flavour: str) -> Header:
    """What stands after the colons."""
    braces = _BRACES.match(rest) if rest[0] == "{" else None
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
    """A directive's options, ``:key: value`` or between ``---``, and the line after them."""
    options: dict[str, str] = {}
    at = begin
    if at < end and lines[at].strip() == "---":
        closing = next((n for n in range(at + 1, min(end, at + 60)) if lines[n].strip() == "---"), None)
        if closing is None:
            return {}, begin
        for line in lines[at + 1 : closing]:
            key, colon, value = line.partition(":")
            if colon and not key.startswith((" ", "-", "#")):
                options[key.strip()] = unquoted(value.strip())
        return options, closing + 1
    while at < end and (match := _OPTION.match(lines[at].strip())):
        options[match[1]] = unquoted(match[2].strip()) or "true"
        at += 1
    return options, at


def cell_options(body: Sequence[str]) -> dict[str, str]:
    """Quarto's ``#| label: x`` lines at the head of a chunk."""
    options: dict[str, str] = {}
    last = ""
    for line in body[:50]:
        if (match := _CELL.match(line)) is None:
            item = re.match(r"(?:#\||//\||--\|)\s+-\s+(.*)", line)
            if item is None or not last:
                break
            options[last] = f"{options[last]} {item[1].strip()}".strip()
            continue
        last = "id" if match[1] == "label" else match[1]
        options[last] = unquoted(match[2].strip())
    return options
