"""Walks a document in order, depth first, and runs each block or calls a model for it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import singledispatchmethod

from pydantic import JsonValue

from services.execution.documents.includes import IncludedFiles
from services.execution.documents.llm import messages
from services.execution.documents.llm.instructions import Instructions
from services.execution.documents.parse.changes import unanswered
from services.execution.documents.parse.nodes import (
    Assertion,
    Chunk,
    Clause,
    DocumentNode,
    Expression,
    For,
    If,
    Include,
    Instruction,
    Note,
    Parameter,
    PromptBlock,
    Section,
    Suggestion,
)
from services.execution.documents.parse.nodes import walk as all_nodes
from services.execution.documents.run.chunks import Chunks
from services.execution.documents.run.hiding import mark_hidden
from services.execution.documents.run.running import MAX_BLOCKS, RunningDocument
from services.execution.documents.run.state import CachedBlock, digest
from services.execution.languages.table import names_of
from shared.contracts.document import Block

_MAX_TURNS = 1000


@dataclass
class Walk:
    document: RunningDocument
    chunks: Chunks
    instructions: Instructions
    included: IncludedFiles
    inside: tuple[str, ...] = ()  #: the files that include this one
    given: Mapping[str, JsonValue] = field(default_factory=dict)  #: values for the parameters here
    total: list[int] = field(default_factory=lambda: [0])  #: blocks entered, to end loops in loops

    def run(self, content: Sequence[DocumentNode]) -> None:
        for node in _in_turn(content):
            self.total[0] += 1
            if self.total[0] > MAX_BLOCKS:
                self._too_many(node)
                return
            self._visit(node)

    @singledispatchmethod
    def _visit(self, node: DocumentNode) -> None:
        raise TypeError(f"a {type(node).__name__} cannot be run")

    @_visit.register
    def _instruction(self, node: Instruction) -> None:
        self.run(node.content)
        self.instructions.run(node)
        self._suggestions(node.suggestions)

    @_visit.register
    def _expression(self, node: Expression) -> None:
        self.chunks.expression(node)

    @_visit.register
    def _suggestion(self, node: Suggestion) -> None:
        self._suggestions([node])

    @_visit.register
    def _prompt(self, node: PromptBlock) -> None:
        block, began = self.document.begin(node), time.monotonic()
        messages.define_prompt(self.chunks, block, node)
        self.document.end(block, began)

    @_visit.register
    def _section(self, node: Section) -> None:
        for note in node.notes:
            self.document.warn(note.text)
        self.run(node.content)

    def _too_many(self, node: DocumentNode) -> None:
        if self.total[0] == MAX_BLOCKS + 1 and not isinstance(node, Section):
            block = self.document.begin(node)
            text = f"A document runs at most {MAX_BLOCKS:,} blocks; this one and all after it did not run."
            self.document.skip(block, "error", "too_many_blocks", text)
            self.document.end(block, time.monotonic())
        self.document.warn(f"The document has more than {MAX_BLOCKS:,} blocks to run; the rest did not run.")

    @_visit.register
    def _chunk(self, node: Chunk) -> None:
        self.chunks.run(node if node.language else replace(node, language=self.chunks.last))
        mark_hidden(self.document.blocks[f"{self.document.prefix}{node.id}"], node)
        if "parameters" in node.options.get("tags", ""):
            # A cell of defaults: what was submitted comes after it.
            for name in names_of(node.language, node.code).sets & self.given.keys():
                self.document.set_value(name, self.given[name])

    @_visit.register
    def _assertion(self, node: Assertion) -> None:
        block, began = self.document.begin(node), time.monotonic()
        block.language = node.language or self.chunks.last
        if node.expression:
            value = self.chunks.value(block, node.language, node.expression, plain=True)
            if block.status in ("ok", "fresh") and not value:
                self.document.note(block, "error", "assertion_failed", f"This does not hold: {node.expression}")
        self.document.end(block, began)

    def _suggestions(self, suggestions: Sequence[Suggestion]) -> None:
        """They run only when a person accepted them."""
        for node in suggestions:
            block = self.document.begin(node)
            block.model = node.by
            block.status = "fresh"
            self.document.end(block, time.monotonic())
            self.run(node.content)

    @_visit.register
    def _parameter(self, node: Parameter) -> None:
        document, began = self.document, time.monotonic()
        block = document.begin(node)
        declared = node.declared
        try:
            given = self.given
            value = declared.fit(given[declared.name]) if declared.name in given else declared.default
        except ValueError as error:
            document.note(block, "error", "bad_parameter", f"Parameter {declared.name}: {error}.")
        else:
            document.set_value(declared.name, value, by=block.id)
            self._mark_fresh(block, "parameter", declared.name, value)
        document.end(block, began)

    def _mark_fresh(self, block: Block, *parts: object) -> None:
        """Fresh when an earlier job had the same."""
        key = digest(*parts)
        block.digest = key
        if self.document.cached(key) is not None:
            block.status = "fresh"
        elif self.document.looks:
            self.document.leave_stale(block, key)
        self.document.after.blocks.setdefault(key, CachedBlock())

    @_visit.register
    def _if(self, node: If) -> None:
        document, began = self.document, time.monotonic()
        block = document.begin(node)
        taken: Clause | None = None
        for number, clause in enumerate([] if node.broken else node.clauses):
            if clause.kind == "else":
                taken = clause
                break
            block.language = clause.language or self.chunks.last
            value = self.chunks.value(block, clause.language, clause.expression, plain=True)
            if block.status == "stale":
                self._leave(node.clauses[:number], None)
                self._undecided(node.clauses[number:])
                return
            if block.status in ("error", "skipped"):
                break
            if value:
                taken = clause
                break
        self._leave(node.clauses, taken)
        document.end(block, began)
        if block.status not in ("error", "skipped"):
            document.chosen.setdefault(block.id, set()).update(
                number for number, clause in enumerate(node.clauses) if clause is taken
            )
        if taken is not None:
            self.run(taken.content)

    def _undecided(self, clauses: Sequence[Clause]) -> None:
        """Walk every clause, because a condition that did not run may choose any of them."""
        self.document.undecided += 1
        for clause in clauses:
            self.run(clause.content)
        self.document.undecided -= 1

    def _leave(self, clauses: Sequence[Clause], taken: Clause | None) -> None:
        """Blocks of the clauses that were not taken; in a loop another turn may take them."""
        for clause in clauses:
            if clause is taken:
                continue
            for node in all_nodes(clause.content):
                identity = f"{self.document.prefix}{node.id}"
                if not isinstance(node, Section) and identity not in self.document.blocks:
                    block = self.document.begin(node)
                    self.document.skip(block, "info", "not_taken", "This part of the document was not chosen.")
                    self.document.end(block, time.monotonic())

    @_visit.register
    def _for(self, node: For) -> None:
        document, began = self.document, time.monotonic()
        block = document.begin(node)
        items: list[JsonValue] = []
        if not node.broken:
            block.language = node.clauses[0].language or self.chunks.last
            value = self.chunks.value(block, node.clauses[0].language, node.clauses[0].expression, plain=True)
            if block.status == "stale":
                document.leave_stale(block, block.id, [node.name])
                self._undecided(node.clauses)
                return
            items = _items(value)
        if len(items) > _MAX_TURNS:
            document.note(
                block, "warning", "cut", f"A for runs at most {_MAX_TURNS} times; {len(items)} were requested."
            )
            items = items[:_MAX_TURNS]
        document.end(block, began)
        if not items and block.status not in ("error", "skipped"):
            for clause in node.clauses[1:]:
                self.run(clause.content)
        for item in items:
            if self.total[0] > MAX_BLOCKS:
                break
            document.set_value(node.name, item, by=block.id)
            self.run(node.clauses[0].content)

    @_visit.register
    def _include(self, node: Include) -> None:
        document, began = self.document, time.monotonic()
        block = document.begin(node)
        included = self.included.open(node, self.inside) if node.source else None  # else the parser has noted it
        if isinstance(included, Note):
            document.note(block, included.level, included.code, included.text)
            included = None
        arguments = None if included is None else self._arguments(block, node)
        if included is None or arguments is None:
            document.end(block, began)
            return
        path, instructions = included
        self._mark_fresh(block, "include", path, unanswered(instructions.tree), arguments)
        document.end(block, began)
        for name, value in arguments.items():
            document.set_value(name, value, by=block.id)
        for number, note in instructions.tree.notes:
            document.warn(f"{path}, line {number + 1}: {note.text}")
        document.included[block.id] = instructions.markdown
        outer = (document.prefix, document.line)
        document.prefix, document.line = f"{block.id}/", block.lines[0]
        Walk(
            document, self.chunks, instructions, self.included, (*self.inside, path), {**self.given, **arguments},
            self.total,
        ).run(instructions.tree.content)  # fmt: skip
        document.prefix, document.line = outer

    def _arguments(self, block: Block, node: Include) -> dict[str, JsonValue] | None:
        """Return the values of a call; ``None`` when one of them is missing."""
        values: dict[str, JsonValue] = {}
        for name, argument in node.arguments.items() if node.call else ():
            if argument.code is None:
                values[name] = argument.value
                continue
            values[name] = self.chunks.value(block, node.language, argument.code, plain=True)
            if block.status in ("error", "skipped", "stale"):
                return None
        block.status = "ok"
        return values


def _in_turn(content: Sequence[DocumentNode]) -> Sequence[DocumentNode]:
    """Document order, but what is to be fixed runs before its ``fix``, so that its errors are known."""
    turn = list(content)
    for at, node in enumerate(turn[:-1]):
        after = turn[at + 1]
        points = isinstance(node, Instruction) and node.type == "fix" and node.inner == (after.start, after.end)
        if points and isinstance(after, Chunk):
            turn[at], turn[at + 1] = after, node
    return turn


def _items(value: JsonValue) -> list[JsonValue]:
    if value is None or isinstance(value, bool):
        return []
    if isinstance(value, (int, float)):
        return list(range(min(int(value), _MAX_TURNS + 1)))
    if isinstance(value, dict):
        return [[key, inner] for key, inner in value.items()]
    return list(value)
