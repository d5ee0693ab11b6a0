"""A document while it runs: what has happened, what was said, and what each name stands for."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from pydantic import JsonValue

from services.execution.documents.parse.nodes import (
    Assertion,
    Chunk,
    Expression,
    For,
    If,
    Include,
    Instruction,
    Level,
    Node,
    Parameter,
    Prompt,
    Suggestion,
)
from services.execution.documents.resolve.renderer import Renderer
from services.execution.documents.run.kernels import Kernels
from services.execution.documents.run.state import Kept, State, digest
from shared.contracts.document import Block, BlockKind, BlockMessage, DocumentInput
from shared.errors import JobCancelled
from shared.jobs.job import Context
from shared.loop import BudgetSpent

_MOST_WARNINGS = 200
_TOLD_SKIPPED = 100
MOST_BLOCKS = 10_000  #: that one job runs


@dataclass
class Work:
    context: Context
    request: DocumentInput
    kernels: Kernels
    renderer: Renderer
    before: State | None
    environment: str  #: digest of the files and languages, part of every chunk's
    after: State = field(default_factory=State)
    blocks: dict[str, Block] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    made_by: dict[str, str] = field(default_factory=dict)  #: name -> digest of what set it last
    broken: dict[str, str] = field(default_factory=dict)  #: name -> the block that failed to set it
    spent: str | None = None  #: what of the budget is spent
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0  #: of the calls that a dry run would have made; none when a price is unknown
    met: dict[str, int] = field(default_factory=dict)
    talk: list[tuple[str, str]] = field(default_factory=list)  #: the discussions so far
    prompts: dict[str, str] = field(default_factory=dict)
    prefix: str = ""  #: of the ids within an include
    line: int | None = None  #: of the include, for everything within
    _told_until: int = _TOLD_SKIPPED  #: so many blocks have events, whether they ran or not

    def check(self) -> None:
        """Raises: JobCancelled."""
        if self.context.cancelled.is_set():
            raise JobCancelled("the job was cancelled between two blocks")
        try:
            self.context.budget.check()
        except BudgetSpent as spent:
            self.spent = self.spent or spent.what

    def begin(self, node: Node) -> Block:
        """The block of a node, with what its reader said about it; in a loop the same one again."""
        self.check()
        identity = f"{self.prefix}{node.id}"
        lines = (node.start + 1, max(node.end, node.start + 1)) if self.line is None else (self.line, self.line)
        block = self.blocks.get(identity)
        if block is None:
            block = Block(id=identity, kind=kind_of(node), lines=lines, status="ok")
            self.blocks[identity] = block
            for note in node.notes:
                self.say(block, note.level, note.code, note.text)
        elif block.status == "skipped" and [one.code for one in block.messages] == ["not_taken"]:
            block.status, block.messages = "ok", []
        if self._is_told():
            self.context.report.event("block_started", block_id=identity, kind=block.kind)
        return block

    def _is_told(self) -> bool:
        """Once the budget is spent, thousands of blocks may be skipped in a moment: the result names them all."""
        return self.spent is None or len(self.blocks) <= self._told_until

    def end(self, block: Block, began: float) -> None:
        block.seconds = round(block.seconds + time.monotonic() - began, 4)
        if self.spent is None:
            self._told_until = len(self.blocks) + _TOLD_SKIPPED
        elif not self._is_told():
            return
        told = [one.text for one in block.messages if one.level != "info"]
        self.context.report.event(
            "block_finished", block_id=block.id, kind=block.kind, status=block.status, seconds=block.seconds,
            lines=list(block.lines), message=told[0][:300] if told else None,
        )  # fmt: skip

    def say(self, block: Block, level: Level, code: str, text: str) -> None:
        if len(block.messages) < 50:
            block.messages.append(BlockMessage(level=level, code=code, text=text[:4000]))
        if level == "error" and block.status != "skipped":
            block.status = "error"
        if level != "info":
            self.warn(f"{block.id}: {text[:500]}")

    def skip(self, block: Block, level: Level, code: str, text: str) -> None:
        block.status = "skipped"
        self.say(block, level, code, text)

    def warn(self, text: str) -> None:
        if len(self.warnings) < _MOST_WARNINGS and text not in self.warnings:
            self.warnings.append(text)

    def digest_of(self, kind: str, uses: Iterable[str], *parts: object) -> str:
        inputs = [(name, self.made_by[name]) for name in sorted(uses) if name in self.made_by]
        return digest(kind, inputs, self.environment, *parts)

    def nth(self, key: str) -> str:
        """Two blocks that are alike have each an outcome of its own."""
        count = self.met[key] = self.met.get(key, 0) + 1
        return key if count == 1 else digest(key, count)

    def fresh(self, key: str) -> Kept | None:
        return self.before.blocks.get(key) if self.before is not None else None

    def hold(self, name: str, value: JsonValue) -> None:
        self.kernels.hold(name, value)
        self.made_by[name] = digest("value", value)
        self.broken.pop(name, None)

    def lose(self, name: str, identity: str) -> None:
        """A block that failed has not set its name."""
        self.kernels.own.pop(name, None)
        self.kernels.owner.pop(name, None)
        self.made_by.pop(name, None)
        self.broken[name] = identity


_KINDS: tuple[tuple[type[Node], BlockKind], ...] = (
    (Chunk, "chunk"),
    (Expression, "expression"),
    (Assertion, "expression"),
    (Instruction, "instruction"),
    (Suggestion, "suggestion"),
    (Prompt, "prompt"),
    (Parameter, "parameter"),
    (If, "if"),
    (For, "for"),
)


def kind_of(node: Node) -> BlockKind:
    if isinstance(node, Include):
        return "call" if node.call else "include"
    return next(kind for type_, kind in _KINDS if isinstance(node, type_))
