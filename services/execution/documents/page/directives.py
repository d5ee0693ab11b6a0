"""Blocks of a document's prose: Quarto's divs between colons, MyST's directives between colons or backticks, and code.

They are found in one pass over the lines; what blocks of code or instructions hold is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from services.execution.documents.parse.notation import attributes, options_of

#: Directives of MyST whose content is Markdown, by how they are shown: https://mystmd.org/guide/directives
CALLOUTS: Mapping[str, str] = {
    **{kind: kind for kind in ("note", "tip", "important", "warning", "caution")},
    "hint": "tip", "seealso": "note", "admonition": "note", "attention": "warning", "danger": "caution",
    "error": "caution", "versionadded": "note", "versionchanged": "note", "deprecated": "warning",
}  # fmt: skip
TITLED = frozenset(
    "tab-item card grid-item-card topic sidebar exercise solution theorem lemma corollary proposition definition"  # noqa: SIM905
    " example proof axiom remark conjecture algorithm".split()
)
PLAIN = frozenset(
    "tab-set grid grid-item card-carousel margin aside div container epigraph pull-quote blockquote glossary"  # noqa: SIM905
    " exercise-start exercise-end highlights compound dropdown details table figure".split()
)
_PROOF = re.compile(r"(?:prf|proof):")
_COLONS = re.compile(r" {0,3}(:{3,})[ \t]*([^\r\n]{0,2000})")
_FENCE = re.compile(r"[ \t>]{0,60}(?:[-*+]|\d{1,9}[.)])?[ \t>]{0,60}(`{3,}|~{3,})[ \t]*([^\r\n]{0,2000})")
_MAX_OPEN = 60
_NAMED = re.compile(r"\{([A-Za-z][\w:+-]{0,60})\}[ \t]*(.*)\Z")
_RAW = re.compile(r"\{=(\w+)\}[ \t]*\Z")
_BRACES = re.compile(r"[\w-]*[ \t]*\{((?:[^{}\"']|\"[^\"]*\"|'[^']*')*)\}[ \t]*:*\Z")


@dataclass(frozen=True)
class Directive:
    """A block from the line of its opening to the line of its end."""

    begin: int
    end: int
    first: int  #: line of its content
    sign: str  #: of its marks: a colon, a backtick or a tilde
    name: str  #: of MyST; ``div`` for Quarto's; ``code`` for code, ``raw`` for another format
    argument: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    classes: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """What it is called in references."""
        return self.options.get("name") or self.options.get("label") or self.options.get("id") or ""


@dataclass(frozen=True)
class _Opened:
    sign: str
    width: int
    line: int
    rest: str


def directives(lines: Sequence[str], inside: Sequence[bool], flavour: str) -> dict[int, Directive]:
    """Return every block that ends, by its first line; lines ``inside`` blocks that run are left alone."""
    by_line: dict[int, Directive] = {}
    stack: list[_Opened] = []
    for at, line in enumerate(lines):
        if inside[at] or not ("`" in line or "~" in line or ":::" in line):
            continue
        top = stack[-1] if stack else None
        opaque = top is not None and top.sign != ":" and not _holds_markdown(top.rest)
        if match := _FENCE.match(line):
            sign, width, rest = match[1][0], len(match[1]), match[2].strip()
            fences = [number for number, each in enumerate(stack) if each.sign == sign]
            if fences and not rest and width >= stack[fences[-1]].width:
                opened = stack[fences[-1]]
                del stack[fences[-1] :]
                by_line[opened.line] = _directive(opened, at, lines, flavour)
            elif not opaque and len(stack) < _MAX_OPEN and not (sign == "`" and "`" in rest):
                stack.append(_Opened(sign, width, at, rest))
        elif not opaque and (match := _COLONS.match(line)):
            _colons(stack, by_line, at, lines, match, flavour)
    return by_line


def _colons(
    stack: list[_Opened],
    by_line: dict[int, Directive],
    at: int,
    lines: Sequence[str],
    match: re.Match[str],
    flavour: str,
) -> None:
    width, rest = len(match[1]), match[2].strip()
    if rest and len(stack) < _MAX_OPEN and not (rest.endswith(":::") and not rest.startswith("{")):
        stack.append(_Opened(":", width, at, rest.rstrip(":").rstrip() if rest.startswith("{") else rest))
    elif not rest:
        last_fence = max((number for number, each in enumerate(stack) if each.sign != ":"), default=-1)
        colons = [number for number, each in enumerate(stack) if each.sign == ":" and number > last_fence]
        if colons:
            same = [number for number in colons if stack[number].width == width]
            opened = stack[(same or colons)[-1]]
            del stack[(same or colons)[-1] :]
            by_line[opened.line] = _directive(opened, at, lines, flavour)


def holds_markdown(name: str) -> bool:
    return name in CALLOUTS or name in TITLED or name in PLAIN


def _holds_markdown(rest: str) -> bool:
    match = _NAMED.match(rest)
    return match is not None and holds_markdown(_PROOF.sub("", match[1].lower()))


def _directive(opened: _Opened, end: int, lines: Sequence[str], flavour: str) -> Directive:
    begin, first, rest, sign = opened.line, opened.line + 1, opened.rest, opened.sign
    if raw := _RAW.match(rest):
        return Directive(begin, end, first, sign, "raw", raw[1])
    if (named := _NAMED.match(rest)) and (sign == ":" or flavour == "myst" or holds_markdown(named[1].lower())):
        given, first = options_of(lines, first, end)
        return Directive(begin, end, first, sign, _PROOF.sub("", named[1].lower()), named[2].strip(), given)
    options: dict[str, str] = {}
    classes: tuple[str, ...] = ()
    if braces := _BRACES.match(rest):
        read = attributes(braces[1])
        classes = tuple(name[1:] for name, value in read.items() if value == "true" and name.startswith("."))
        options = {name: value for name, value in read.items() if not name.startswith(".")}
    elif sign == ":":
        classes = (rest.split()[0],)
    if sign == ":":
        return Directive(begin, end, first, sign, "div", "", options, classes)
    language = classes[0] if classes else rest.partition(" ")[0].partition("{")[0]
    return Directive(begin, end, first, sign, "code", language, options, classes)
