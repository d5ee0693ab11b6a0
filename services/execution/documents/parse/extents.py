"""After every line has been read: what instructions are about, their suggestions, and ids."""

from __future__ import annotations

import re
from collections import Counter
from typing import cast

from services.execution.documents.parse.changes import mark_of
from services.execution.documents.parse.nodes import (
    Chunk,
    DocumentNode,
    DocumentTree,
    Expression,
    For,
    If,
    Instruction,
    Note,
    Parameter,
    Section,
    Suggestion,
    children,
    walk,
)

FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_NO_BLOCKS = (Suggestion, Instruction, Expression, Parameter)  #: that an instruction could point to


def attach(nodes: list[DocumentNode], lines: list[str]) -> None:
    """Give instructions the blocks that they point to, and the suggestions that follow them."""
    stack = [nodes]
    while stack:
        content = stack.pop()
        kept: list[DocumentNode] = []
        last: Instruction | None = None
        reach = 0
        for node in content:
            stack.extend(children(node))
            if last is not None and _is_answer(node) and _blank(lines, reach, node.start):
                last.suggestions.append(cast("Suggestion", node))
                reach = node.end
                continue
            if last is not None and last.extent == "next" and last.inner is None:
                _point(last, lines, node)
            if last is not None and last.extent == "next" and _within(node, last.inner):
                reach = last.reach
                kept.append(node)
                continue
            asked, last = last, node if isinstance(node, Instruction) else None
            if last is not None:
                reach = last.end
                if last.extent == "previous" and last.inner is None:
                    last.inner = _previous(lines, last.start, asked, kept[-1] if kept else None)
                elif last.extent == "next":
                    reach = max(reach, _text_end(lines, _past_blanks(lines, last.end)))
            kept.append(node)
        if last is not None and last.extent == "next" and last.inner is None:
            _point(last, lines, None)
        content[:] = kept


def _is_answer(node: DocumentNode) -> bool:
    return isinstance(node, Suggestion) and node.change == "insert"


def _within(node: DocumentNode, inner: tuple[int, int] | None) -> bool:
    return inner is not None and inner[0] <= node.start < node.end <= inner[1]


def _blank(lines: list[str], start: int, end: int) -> bool:
    return end - start < 50 and all(not line.strip() for line in lines[start:end])


def _past_blanks(lines: list[str], start: int) -> int:
    while start < len(lines) and not lines[start].strip():
        start += 1
    return start


def _point(node: Instruction, lines: list[str], following: DocumentNode | None) -> None:
    start = _past_blanks(lines, node.end)
    if following is not None and following.start == start and not isinstance(following, _NO_BLOCKS):
        node.inner = (following.start, following.end)
        return
    node.inner = (start, _text_end(lines, start))
    if start < len(lines) and (fence := FENCE.match(lines[start])) and not _closes(lines[node.inner[1] - 1], fence[1]):
        # An answer after it would be in it.
        node.broken = True
        text = f"The code block of line {start + 1}, which this message is about, is never closed."
        node.notes.append(Note("error", "unclosed_block", text))


def _text_end(lines: list[str], start: int) -> int:
    """Return the end of the plain code block or of the paragraph that begins here."""
    if start >= len(lines):
        return start
    if fence := FENCE.match(lines[start]):
        mark = fence[1]
        for end in range(start + 1, len(lines)):
            if _closes(lines[end], mark):
                return end + 1
        return len(lines)
    end = start
    while end < len(lines) and lines[end].strip() and not lines[end].lstrip().startswith((":", "```", "~~~")):
        end += 1
    return end


def _closes(line: str, mark: str) -> bool:
    bare = line.strip()
    return bare.startswith(mark) and not bare.strip(mark[0])


def _previous(lines: list[str], line: int, asked: Instruction | None, before: DocumentNode | None) -> tuple[int, int]:
    """Return the block or the paragraph above a line; the answers to an instruction above do not count."""
    end = _before_blanks(lines, line)
    if asked is not None and asked.suggestions and asked.suggestions[-1].end == end:
        end = _before_blanks(lines, asked.reach)
    if isinstance(before, (Chunk, Section, If, For)) and before.end == end:
        return before.start, end
    start = end
    if end and (fence := FENCE.match(lines[end - 1])) and lines[end - 1].strip() == fence[1]:
        openings = (at for at in range(end - 2, max(-1, end - 500), -1) if _opens(lines[at], fence[1]))
        return next(openings, end - 1), end
    while start > max(0, line - 500) and lines[start - 1].strip() and not _is_mark(lines[start - 1]):
        start -= 1
    return start, end


def _before_blanks(lines: list[str], line: int) -> int:
    end = line
    while end > max(0, line - 50) and not lines[end - 1].strip():
        end -= 1
    return end


def _opens(line: str, mark: str) -> bool:
    bare = line.strip()
    return bare.startswith(mark) and not bare.startswith(f"{mark}{mark[0]}")


def _is_mark(line: str) -> bool:
    bare = line.strip()
    return bare.startswith(":::") or bool(mark_of(bare))


def assign_ids(tree: DocumentTree) -> None:
    """Ids: the author's own where there is one, else the kind and a count; all distinct."""
    counts: Counter[str] = Counter()
    taken: set[str] = set()
    for node in walk(tree.content):
        own = node.options.get("id") if isinstance(node, (Chunk, Instruction)) else None
        node.id = own if own and len(own) <= 100 else ""
        while not node.id or node.id in taken:
            counts[node.kind] += 1
            node.id = f"{node.kind}-{counts[node.kind]}"
        taken.add(node.id)
