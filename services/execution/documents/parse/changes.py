"""Proposed changes, ``:++`` insertions, ``:--`` deletions, ``:~~`` replacements: read, and written as splices of lines.

Whatever is not replaced stays byte for byte.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from pydantic import JsonValue

from services.execution.documents.parse.nodes import DocumentTree, Instruction, Suggestion, walk
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
    """Return the change that a line opens; ``None`` when it never ends."""
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


@dataclass(frozen=True)
class Splice:
    """Lines from ``start`` up to ``end``, counted from 0, become ``text``."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class ModelAnswer:
    """A model's answer."""

    text: str
    by: str
    value: JsonValue = None  #: its value when the answer is a variable


def spliced(lines: Sequence[str], splices: Sequence[Splice]) -> str:
    parts: list[str] = []
    at = 0
    for splice in sorted(splices, key=lambda one: (one.start, one.end)):
        if splice.start < at:
            continue  # within a part that is already replaced
        parts += lines[at : splice.start]
        if splice.text and parts and not parts[-1].endswith("\n"):
            parts.append("\n")
        if splice.text:
            parts.append(splice.text)
        at = splice.end
    return "".join([*parts, *lines[at:]])


def answer_splices(node: Instruction, answers: Sequence[ModelAnswer], newline: str = "\n") -> list[Splice]:
    """Return the splices that put answers after their instruction, replacing those that no person has reviewed."""
    old = [one for one in node.suggestions if _is_replaced(one)]
    blocks = newline.join(_written(one, newline) for one in answers)
    if not old:
        end = max([node.reach, *(one.end for one in node.suggestions)])
        return [Splice(end, end, f"{newline}{blocks}")] if answers else []
    # Between suggestions are blank lines only: they go with the one after them.
    ends = {after.start: before.end for before, after in pairwise(node.suggestions)}
    first, *others = old
    gone = [Splice(ends.get(one.start, one.start), one.end, "") for one in others]
    return [Splice(first.start, first.end, blocks), *gone]


def superseded(tree: DocumentTree) -> list[tuple[int, int]]:
    """Return where answers stand that new ones replace, with the blank lines before them."""
    places: list[tuple[int, int]] = []
    for node in walk(tree.content):
        if isinstance(node, Instruction):
            before = [node.reach, *(one.end for one in node.suggestions)]
            stand = zip(before, node.suggestions, strict=False)
            places += [(end, one.end) for end, one in stand if _is_replaced(one)]
    return sorted(places)


def without(lines: Sequence[str], places: Sequence[tuple[int, int]], begin: int, end: int) -> str:
    """Some of the lines, but not those of the places."""
    parts: list[str] = []
    for first, last in places[bisect_left(places, (begin, 0)) :]:
        if first >= end:
            break
        parts += lines[begin:first]
        begin = last
    return "".join([*parts, *lines[begin:end]])


def unanswered(tree: DocumentTree) -> str:
    """Return the document without the models' answers, so that any difference is a person's edit."""
    return without(tree.lines, superseded(tree), 0, len(tree.lines))


def _is_replaced(one: Suggestion) -> bool:
    return not one.reviewed and one.by is not None


def _written(answer: ModelAnswer, newline: str = "\n") -> str:
    """Return an answer as a block that its own text cannot end."""
    by = re.sub(r"[\"\\{}\x00-\x1f]", "", answer.by)[:200]
    text = newline.join(_escape_marks(answer.text))
    return f':++ {{by="{by}"}}{newline}{text}{newline}:++{newline}'


def _escape_marks(text: str) -> list[str]:
    lines: list[str] = []
    fence = ""
    for line in text.encode("utf-8", "replace").decode().replace("\x00", "").strip("\r\n").splitlines():
        bare = line.strip()
        if fence:
            if bare.startswith(fence) and not bare.strip(fence[0]):
                fence = ""
        elif match := re.match(r"`{3,}|~{3,}", bare):
            fence = match[0]
        elif mark_of(bare):
            line = line.replace(":", "\\:", 1)  # noqa: PLW2901 - a mark that the model wrote is text
        lines.append(line)
    return [*lines, fence] if fence else lines
