"""Callouts between colons or backticks, as Quarto and MyST spell them: where they begin and end, and their titles."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

KINDS = ("note", "tip", "important", "warning", "caution")
_ALSO = {"hint": "tip", "seealso": "note", "admonition": "note"}
_ALSO |= {"attention": "warning", "danger": "caution", "error": "caution"}
_COLONS = re.compile(r" {0,3}(:{3,})[ \t]*([^\r\n]{0,1000})")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*([^\r\n]{0,1000})")
_QUARTO = re.compile(r"\{[^{}]*\.callout-(\w+)[^{}]*\}\Z")
_TITLE = re.compile(r"\btitle=(?:\"([^\"]{0,300})\"|'([^']{0,300})')")
_MYST = re.compile(r"\{(\w+)\}\s*(.*)\Z")
_END = "</aside>"


def callouts(lines: Sequence[str], inside: Sequence[bool]) -> dict[int, str]:
    """HTML in the place of the lines that open and close callouts; lines ``inside`` blocks are left alone."""
    finder = _Finder()
    for at, line in enumerate(lines):
        if not inside[at]:
            finder.read(at, line)
    return finder.places


@dataclass
class _Finder:
    places: dict[int, str] = field(default_factory=dict)
    _colons: list[tuple[int, str]] = field(default_factory=list)  #: that are open: line, HTML of a callout or nothing
    _fence: tuple[str, int, str] | None = None  #: that is open: its mark, line, HTML of a callout or nothing

    def read(self, at: int, line: str) -> None:
        if match := _FENCE.match(line):
            self._backticks(at, match[1], match[2].rstrip())
        elif (match := _COLONS.match(line)) and (self._fence is None or self._fence[2]):
            self._colon(at, match[2].rstrip())

    def _backticks(self, at: int, mark: str, rest: str) -> None:
        if self._fence is None:
            self._fence = (mark, at, _myst(rest))
        elif mark.startswith(self._fence[0]) and not rest:
            self._found(self._fence[1], at, self._fence[2])
            self._fence = None

    def _colon(self, at: int, rest: str) -> None:
        if not rest:
            if self._colons:
                begin, opening = self._colons.pop()
                self._found(begin, at, opening)
        elif not rest.endswith(":::"):
            self._colons.append((at, _quarto(rest) or _myst(rest)))

    def _found(self, begin: int, end: int, opening: str) -> None:
        if opening:
            self.places[begin], self.places[end] = opening, _END


def _quarto(text: str) -> str:
    match = _QUARTO.match(text)
    if match is None or match[1] not in KINDS:
        return ""
    title = _TITLE.search(text)
    return _opening(match[1], (title[1] or title[2] or "") if title else "")


def _myst(text: str) -> str:
    match = _MYST.match(text)
    kind = _ALSO.get(match[1], match[1]) if match else ""
    return _opening(kind, match[2]) if match and kind in KINDS else ""


def _opening(kind: str, title: str) -> str:
    return f'<aside class="callout {kind}"><p class="callout-title">{html.escape(title or kind.capitalize())}</p>'
