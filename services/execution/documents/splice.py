"""Changes to a document as replacements of lines; whatever is not replaced stays byte for byte."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from pydantic import JsonValue

from services.execution.documents.parse.changes import mark_of
from services.execution.documents.parse.nodes import DocumentTree, Instruction, Suggestion, walk


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
    """The splices that put answers after their instruction, in place of those that no person has reviewed."""
    old = [one for one in node.suggestions if _is_replaced(one)]
    blocks = newline.join(suggestion(one, newline) for one in answers)
    if not old:
        end = max([node.reach, *(one.end for one in node.suggestions)])
        return [Splice(end, end, f"{newline}{blocks}")] if answers else []
    # Between suggestions stand blank lines only: they go with the one after them.
    ends = {after.start: before.end for before, after in pairwise(node.suggestions)}
    first, *others = old
    gone = [Splice(ends.get(one.start, one.start), one.end, "") for one in others]
    return [Splice(first.start, first.end, blocks), *gone]


def superseded(tree: DocumentTree) -> list[tuple[int, int]]:
    """Where answers stand that new ones replace, with the blank lines before them."""
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
    """The document without the models' answers: what differs in it, a person has changed."""
    return without(tree.lines, superseded(tree), 0, len(tree.lines))


def _is_replaced(one: Suggestion) -> bool:
    return not one.reviewed and one.by is not None


def suggestion(answer: ModelAnswer, newline: str = "\n") -> str:
    """An answer as a block that its own text cannot end."""
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
