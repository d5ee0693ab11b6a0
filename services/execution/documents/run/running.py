"""A document while it runs: its blocks, their messages, and what each name depends on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import cast

from pydantic import JsonValue

from services.execution.documents.parse.nodes import Assertion, DocumentNode, Level
from services.execution.documents.resolve.renderer import Renderer
from services.execution.documents.run.kernels import Kernels
from services.execution.documents.run.known import Known, Step
from services.execution.documents.run.state import CachedBlock, DocumentState, digest
from shared.contracts.document import Block, BlockKind, BlockMessage, BlockVariable, DocumentInput
from shared.errors import JobCancelled
from shared.jobs.job import Context
from shared.loop import BudgetSpent

_MAX_WARNINGS = 200
_REPORTED_SKIPPED = 100
_MAX_AGAIN = 20  #: blocks that could not be restored; with more all code runs
MAX_BLOCKS = 10_000  #: that one job runs


@dataclass
class RunningDocument:
    context: Context
    request: DocumentInput
    kernels: Kernels
    renderer: Renderer
    before: DocumentState | None
    environment: str  #: digest of the files and languages, part of every chunk's
    looks: bool = False  #: nothing runs and no model is called: what would have to is stale
    after: DocumentState = field(default_factory=DocumentState)
    blocks: dict[str, Block] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    digests: dict[str, str] = field(default_factory=dict)  #: name -> what replaces its value in messages
    holders: dict[str, CachedBlock] = field(default_factory=dict)  #: name -> the block that set it last
    again: frozenset[str] = frozenset()  #: blocks that have to run whatever they read, and codes that read every name
    ran: frozenset[str] = frozenset()  #: blocks that this job has run before it began again
    broken: dict[str, str] = field(default_factory=dict)  #: name -> the block that failed to set it
    included: dict[str, Callable[[], str]] = field(default_factory=dict)  #: block -> its file as it is in the end
    defaults: Mapping[str, str] = field(default_factory=dict)  #: options of all chunks, as the front matter sets them
    source: str = ""  #: the document as it came
    pictures: dict[str, str] = field(default_factory=dict)  #: files of pictures that code has written, by their paths
    chosen: dict[str, set[int]] = field(
        default_factory=dict
    )  #: if -> its clauses that were taken, in any turn of a loop
    writers: dict[str, str] = field(default_factory=dict)  #: path of such a picture -> the block that wrote it last
    spent: str | None = None  #: what of the budget is spent
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0  #: of the calls that a dry run would have made; none when a price is unknown
    seen: dict[str, int] = field(default_factory=dict)  #: how often each digest has come
    discussions: list[tuple[str, str]] = field(default_factory=list)  #: message and answer, of all so far
    prompts: dict[str, str] = field(default_factory=dict)
    prefix: str = ""  #: of the ids within an include
    line: int | None = None  #: of the include, for everything within
    undecided: int = 0  #: conditions around that did not run: all that they may choose is stale
    stale: set[str] = field(default_factory=set)  #: blocks, in a loop also when only one turn of it is
    known: Known = field(init=False)
    _by_base: dict[str, list[str]] = field(default_factory=dict)  #: blocks of the earlier job by their code
    _used: set[str] = field(default_factory=set)  #: those that were taken
    _makers: dict[str, str | None] = field(default_factory=dict)  #: name -> the block that set it last
    _reports_until: int = _REPORTED_SKIPPED  #: so many blocks have events, whether they ran or not

    def __post_init__(self) -> None:
        self.known = Known(self.kernels)
        for key, cached in self.before.blocks.items() if self.before is not None else ():
            if cached.base:
                self._by_base.setdefault(cached.base, []).append(key)

    def begun_again(self, keys: frozenset[str]) -> RunningDocument:
        """Return the document as it was before anything ran; the blocks of these keys will run, others are kept."""
        self.kernels.reset()
        blocks = {**(self.before.blocks if self.before is not None else {}), **self.after.blocks}
        ran = self.ran | (self.after.blocks.keys() - self._used)
        again = self.again | keys
        if again == self.again or len(again) > _MAX_AGAIN:
            again |= {key for key, cached in blocks.items() if cached.base}
        return RunningDocument(
            self.context, self.request, self.kernels, self.renderer, DocumentState(blocks=blocks), self.environment,
            again=again, ran=ran, defaults=self.defaults, source=self.source,
        )  # fmt: skip

    def check(self) -> None:
        """Stop between two blocks if the job was cancelled. Raises: JobCancelled."""
        if self.context.cancelled.is_set():
            raise JobCancelled("the job was cancelled between two blocks")
        try:
            self.context.budget.check()
        except BudgetSpent as spent:
            self.spent = self.spent or spent.what

    def begin(self, node: DocumentNode) -> Block:
        """Return the block of a node, with the notes of its parser; in a loop, the same block again."""
        self.check()
        identity = f"{self.prefix}{node.id}"
        lines = (node.start + 1, max(node.end, node.start + 1)) if self.line is None else (self.line, self.line)
        block = self.blocks.get(identity)
        if block is None:
            block = Block(id=identity, kind=kind_of(node), lines=lines, status="ok")
            self.blocks[identity] = block
            for note in node.notes:
                self.note(block, note.level, note.code, note.text)
        elif block.status == "skipped" and [message.code for message in block.messages] == ["not_taken"]:
            block.status, block.messages = "ok", []
        if self._reports():
            self.context.report.event("block_started", block_id=identity, kind=block.kind)
        return block

    def _reports(self) -> bool:
        """Once the budget is spent, thousands of blocks may be skipped in a moment: the result names them all."""
        return not self.looks and (self.spent is None or len(self.blocks) <= self._reports_until)

    def end(self, block: Block, began: float) -> None:
        if self.looks:
            return
        block.seconds = round(block.seconds + time.monotonic() - began, 4)
        if self.spent is None:
            self._reports_until = len(self.blocks) + _REPORTED_SKIPPED
        elif not self._reports():
            return
        problems = [message.text for message in block.messages if message.level != "info"]
        self.context.report.event(
            "block_finished", block_id=block.id, kind=block.kind, status=block.status, seconds=block.seconds,
            lines=list(block.lines), message=problems[0][:300] if problems else None,
        )  # fmt: skip

    def note(self, block: Block, level: Level, code: str, text: str) -> None:
        if len(block.messages) < 50:
            block.messages.append(BlockMessage(level=level, code=code, text=text[:4000]))
        if level == "error" and block.status != "skipped":
            block.status = "error"
        if level != "info":
            self.warn(f"{block.id}: {text[:500]}")

    def skip(self, block: Block, level: Level, code: str, text: str) -> None:
        block.status = "skipped"
        self.note(block, level, code, text)

    def warn(self, text: str) -> None:
        if len(self.warnings) < _MAX_WARNINGS and text not in self.warnings:
            self.warnings.append(text)

    def digest_of(self, kind: str, uses: Iterable[str], *parts: object) -> str:
        inputs = [(name, self.digests[name]) for name in sorted(uses) if name in self.digests]
        return digest(kind, inputs, self.environment, *parts)

    def numbered(self, key: str) -> str:
        """Number equal keys, so that each of two equal blocks has a separate outcome."""
        count = self.seen[key] = self.seen.get(key, 0) + 1
        return key if count == 1 else digest(key, count)

    def cached(self, key: str) -> CachedBlock | None:
        return self.before.blocks.get(key) if self.before is not None and not self.undecided else None

    def same_code(self, base: str) -> list[tuple[str, CachedBlock]]:
        """Return the blocks of the earlier job with this code that are not taken yet."""
        if self.before is None or self.undecided:
            return []
        return [(key, self.before.blocks[key]) for key in self._by_base.get(base, ()) if key not in self._used]

    def take(self, key: str, cached: CachedBlock) -> None:
        """Keep a block of the earlier job."""
        self._used.add(key)
        self.after.blocks[key] = cached

    def add_pictures(self, block: Block, pictures: Mapping[str, str]) -> None:
        """Note the pictures that a block's code has written, in this job or in the earlier one."""
        self.pictures.update(pictures)
        self.writers.update(dict.fromkeys(pictures, block.id))

    def leave_stale(self, block: Block, key: str, sets: Iterable[str] = ()) -> None:
        """Mark the block as stale, and with it whatever uses the names that it sets."""
        block.status = "stale"
        self.stale.add(block.id)
        for name in sets:
            self.digests[name] = digest("stale", key)
            self.holders.pop(name, None)
            self.broken.pop(name, None)

    def defined(self, block: Block, key: str, step: Step) -> None:
        """Record the names that a step has set or removed."""
        self.known.add(step)
        for name in step.cached.owns:
            self.digests[name] = self.known.token(name) or digest("made", key, name)
            self.holders[name] = step.cached
            self._makers[name] = block.id
            self.broken.pop(name, None)
        for name, held in step.cached.effects.items():
            if held is None and name not in self.kernels.owner:
                self.digests.pop(name, None)
                self.holders.pop(name, None)

    def set_value(self, name: str, value: JsonValue, by: str | None = None) -> None:
        """``by``: the block that sets it; none where the request gives it."""
        self.kernels.set_own(name, value)
        self.digests[name] = digest("value", value)
        self._makers[name] = by
        self.holders.pop(name, None)
        self.broken.pop(name, None)

    def maker_of(self, name: str) -> str | None:
        """Return the block that set the name last."""
        return self._makers.get(name)

    def placed(self, variables: Iterable[BlockVariable]) -> list[BlockVariable]:
        """Variables of an earlier job, whose blocks may have other ids by now."""
        return [each.model_copy(update={"block": self.maker_of(each.name)}) for each in variables]

    def unset(self, name: str, identity: str) -> None:
        """Remove the name that a failed block did not set."""
        self.kernels.own.pop(name, None)
        self.kernels.owner.pop(name, None)
        self.digests.pop(name, None)
        self.broken[name] = identity


def kind_of(node: DocumentNode) -> BlockKind:
    return "expression" if isinstance(node, Assertion) else cast("BlockKind", node.kind)
