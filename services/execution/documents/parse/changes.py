"""Proposed changes: ``:++`` insertions, ``:--`` deletions, ``:~~`` replacements."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from services.execution.documents.parse.nodes import Suggestion
from services.execution.documents.parse.notation import attributes

_FENCE = re.compile(r"(`{3,}(?=[^`]*$)|~{3,})")
_KINDS: dict[str, Literal["insert", "delete", "replace"]] = {"++": "insert", "--": "delete", "~~": "replace"}
_MARKS = frozenset([*_KINDS, "~>"])
_RULE = re.compile(r":-+:?[ \t]*\|[-:| \t]*")


def mark_of(bare: str) -> str:
    """``++``, ``--``, ``~~`` or ``~>`` of a line without its blanks; the rule below the head of a table is none."""
    if bare[:1] != ":" or bare[1:3] not in _MARKS or not (len(bare) == 3 or bare[3] in " \t{"):
        return ""
    return "" if _RULE.fullmatch(bare) else bare[1:3]


@dataclass(frozen=True)
class Marks:
    """Which mark ends which, and where a replacement turns from old to new."""

    ends: Mapping[int, int]
    turns: Mapping[int, int]


def marks(lines: Sequence[str]) -> Marks:
    """One pass over all lines: a mark with words opens, a bare one closes what is open, or opens.

    What is still open within a change ends with it, without a mark of its own.
    """
    open_: list[tuple[str, int]] = []
    counts = dict.fromkeys(_KINDS, 0)
    ends: dict[int, int] = {}
    turns: dict[int, int] = {}
    fence = ""
    for at, line in enumerate(lines):
        bare = line.strip()
        if fence:
            if bare.startswith(fence) and not bare.strip(fence[0]):
                fence = ""
        elif bare[:3] in ("```", "~~~") and (match := _FENCE.match(bare)):
            fence = match[1]
        elif mark := mark_of(bare):
            if mark == "~>":
                if open_ and open_[-1][0] == "~~":
                    turns.setdefault(open_[-1][1], at)
            elif len(bare) == 3 and counts[mark]:
                while (left := open_.pop())[0] != mark:
                    counts[left[0]] -= 1
                counts[mark] -= 1
                ends[left[1]] = at
            else:
                open_.append((mark, at))
                counts[mark] += 1
    return Marks(ends, turns)


@dataclass(frozen=True)
class Change:
    node: Suggestion
    end: int  #: the line of the closing mark
    counts: tuple[int, int]  #: the lines that are part of the document now; from equal to to when there are none


def change(marks: Marks, begin: int, mark: str, rest: str) -> Change | None:
    """The change that a line opens; ``None`` when it never ends."""
    end = marks.ends.get(begin)
    if end is None:
        return None
    node = suggestion(begin, rest, _KINDS[mark])
    node.end = end + 1
    return Change(node, end, _counts(node, begin + 1, marks.turns.get(begin, end), end))


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
