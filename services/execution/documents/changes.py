"""Changes that somebody proposes: ``:++`` insertions, ``:--`` deletions, ``:~~`` replacements."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from services.execution.documents.headers import attributes
from services.execution.documents.nodes import Suggestion

_FENCE = re.compile(r"(`{3,}(?=[^`]*$)|~{3,})")
_KINDS: dict[str, Literal["insert", "delete", "replace"]] = {"++": "insert", "--": "delete", "~~": "replace"}


@dataclass(frozen=True)
class Marks:
    """Which mark ends which, and where a replacement turns from old to new."""

    ends: Mapping[int, int]
    turns: Sequence[int]


def marks(lines: Sequence[str]) -> Marks:
    """One pass over all lines: a mark with words opens, a bare one closes what is open, or opens."""
    open_: dict[str, list[int]] = {}
    ends: dict[int, int] = {}
    turns: list[int] = []
    fence = ""
    for at, line in enumerate(lines):
        bare = line.strip()
        if fence:
            if bare.startswith(fence) and not bare.strip(fence[0]):
                fence = ""
        elif bare[:3] in ("```", "~~~") and (match := _FENCE.match(bare)):
            fence = match[1]
        elif bare[:1] == ":" and (mark := bare[1:3]) in _KINDS:
            waiting = open_.setdefault(mark, [])
            if len(bare) == 3 and waiting:
                ends[waiting.pop()] = at
            else:
                waiting.append(at)
        elif bare[:3] == ":~>":
            turns.append(at)
    return Marks(ends, turns)


@dataclass(frozen=True)
class Change:
    node: Suggestion
    end: int  #: the line of the closing mark
    counts: tuple[int, int]  #: the lines that are part of the document now; from equal to to when there are none


def change(found: Marks, begin: int, mark: str, rest: str) -> Change | None:
    """The change that a line opens; ``None`` when it never ends."""
    end = found.ends.get(begin)
    if end is None:
        return None
    node = suggestion(begin, rest, _KINDS[mark])
    node.end = end + 1
    first = bisect_left(found.turns, begin)
    turn = found.turns[first] if first < len(found.turns) and found.turns[first] < end else end
    return Change(node, end, _counts(node, begin + 1, turn, end))


def _counts(node: Suggestion, begin: int, turn: int, end: int) -> tuple[int, int]:
    accepted = node.status == "accept"
    if node.change == "insert":
        return (begin, end) if accepted else (begin, begin)
    if node.change == "delete":
        return (begin, begin) if accepted else (begin, end)
    return (min(turn + 1, end), end) if accepted else (begin, turn)


def suggestion(line: int, rest: str, kind: Literal["insert", "delete", "replace"] = "insert") -> Suggestion:
    options: dict[str, str] = {}
    if rest.startswith("{"):
        inner, _, rest = rest[1:].partition("}")
        options = attributes(inner)
    word = rest.split(None, 1)[0] if rest.split() else ""
    node = Suggestion(line, line + 1, by=options.get("by"), reviewed=bool(rest.strip()), change=kind)
    if word in ("accept", "reject"):
        node.status = "accept" if word == "accept" else "reject"
    return node
