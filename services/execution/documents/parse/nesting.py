"""The blocks that are open at a line: where content goes, and the handling of a block that never ends."""

from __future__ import annotations

from dataclasses import dataclass, field

from services.execution.documents.parse.nodes import (
    Clause,
    DocumentNode,
    For,
    If,
    Instruction,
    Note,
    Suggestion,
    children,
)

DEEPEST = 40


@dataclass(slots=True)
class _OpenBlock:
    """A block that waits for its end."""

    node: DocumentNode
    into: list[DocumentNode]
    colons: int


@dataclass
class OpenBlocks:
    root: list[DocumentNode] = field(default_factory=list)
    _stack: list[_OpenBlock] = field(default_factory=list)
    _counts: dict[int, int] = field(default_factory=dict)  #: open blocks by their colons
    _sink: list[DocumentNode] = field(default_factory=list)  #: for what is nested too deeply: it is dropped

    @property
    def into(self) -> list[DocumentNode]:
        return self._stack[-1].into if self._stack else self.root

    def push(self, node: DocumentNode, into: list[DocumentNode], colons: int) -> None:
        if len(self._stack) >= DEEPEST:
            node.notes.append(Note("error", "too_deep", f"Blocks nest at most {DEEPEST} deep; this one did not run."))
            _break(node)
            into = self._sink
        self._stack.append(_OpenBlock(node, into, colons))
        self._counts[colons] = self._counts.get(colons, 0) + 1

    def close(self, colons: int, lines: int) -> DocumentNode | None:
        """Return the block that so many colons end: the last one opened with as many, else the last; ``None``
        without any.
        """
        if self._counts.get(colons):
            while self._stack[-1].colons != colons:
                self._abandon(self._pop(), lines)
        return self._pop().node if self._stack else None

    def close_all(self, lines: int) -> None:
        while self._stack:
            self._abandon(self._pop(), lines)

    def add_clause(self, clause: Clause) -> bool:
        """Add a clause if the open block can have clauses; return whether it can."""
        top = self._stack[-1] if self._stack else None
        if top is None or not isinstance(top.node, (If, For)):
            return False
        if top.into is not self._sink:
            top.node.clauses.append(clause)
            top.into = clause.content
        return True

    def _pop(self) -> _OpenBlock:
        top = self._stack.pop()
        self._counts[top.colons] -= 1
        return top

    def _abandon(self, left: _OpenBlock, lines: int) -> None:
        """A block without an end is one line with a note; its content belongs to the block around it."""
        node = left.node
        text = f"The block of line {node.start + 1} is never closed; it did not run."
        node.notes.append(Note("error", "unclosed_block", text))
        _break(node)
        if isinstance(node, Suggestion):
            node.end = lines
            return
        node.end = node.start + 1
        if left.into is not self.into:
            for content in children(node):
                self.into.extend(content)
                content.clear()


def _break(node: DocumentNode) -> None:
    if isinstance(node, (Instruction, If, For)):
        node.broken = True
