"""Walks a document in its order: depth first, and every block says how it went."""

from __future__ import annotations

import posixpath
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import JsonValue

from services.execution.documents.ask.instructions import Asking
from services.execution.documents.parse.extents import walk as every
from services.execution.documents.parse.nodes import (
    Assertion,
    Chunk,
    Clause,
    Expression,
    For,
    If,
    Include,
    Instruction,
    Node,
    Parameter,
    Prompt,
    Section,
    Suggestion,
)
from services.execution.documents.parse.reader import parse
from services.execution.documents.resolve import prompting
from services.execution.documents.run.chunks import Chunks
from services.execution.documents.run.names import names_of
from services.execution.documents.run.running import MOST_BLOCKS, Work
from services.execution.documents.run.state import Kept, digest
from services.execution.documents.splice import unanswered
from shared.contracts.document import Block

_MOST_TURNS, _DEEPEST = 1000, 10
MOST_INCLUDED = 4_000_000  #: bytes of a file


@dataclass
class Walk:
    work: Work
    chunks: Chunks
    asking: Asking
    files: Mapping[str, Path]
    inside: tuple[str, ...] = ()  #: the includes that are open
    given: Mapping[str, JsonValue] = field(default_factory=dict)  #: values for the parameters here
    included: dict[str, Asking] = field(default_factory=dict)  #: by path; a file that stands twice is one
    total: list[int] = field(default_factory=lambda: [0])  #: blocks entered, to end loops in loops

    def run(self, content: Sequence[Node]) -> None:  # noqa: C901, PLR0912 - one branch for each kind of block
        for node in _in_turn(content):
            self.total[0] += 1
            if self.total[0] > MOST_BLOCKS:
                self._too_many(node)
                return
            if isinstance(node, Chunk):
                self._chunk(node)
            elif isinstance(node, Instruction):
                self.run(node.content)
                self.asking.run(node)
                self._suggestions(node.suggestions)
            elif isinstance(node, Expression):
                self.chunks.expression(node)
            elif isinstance(node, Parameter):
                self._parameter(node)
            elif isinstance(node, If):
                self._if(node)
            elif isinstance(node, For):
                self._for(node)
            elif isinstance(node, Include):
                self._include(node)
            elif isinstance(node, Suggestion):
                self._suggestions([node])
            elif isinstance(node, Prompt):
                block, began = self.work.begin(node), time.monotonic()
                prompting.run(self.chunks, block, node)
                self.work.end(block, began)
            elif isinstance(node, Assertion):
                self._assertion(node)
            elif isinstance(node, Section):
                for note in node.notes:
                    self.work.warn(note.text)
                self.run(node.content)

    def _too_many(self, node: Node) -> None:
        if self.total[0] == MOST_BLOCKS + 1 and not isinstance(node, Section):
            block = self.work.begin(node)
            text = f"A document runs at most {MOST_BLOCKS:,} blocks; this one and all after it did not run."
            self.work.skip(block, "error", "too_many_blocks", text)
            self.work.end(block, time.monotonic())
        self.work.warn(f"The document has more than {MOST_BLOCKS:,} blocks to run; the rest did not run.")

    def _chunk(self, node: Chunk) -> None:
        self.chunks.run(node if node.language else replace(node, language=self.chunks.last))
        if "parameters" in node.options.get("tags", ""):
            # A cell of defaults: what was submitted comes after it.
            for name in names_of(node.language, node.code).sets & self.given.keys():
                self.work.hold(name, self.given[name])

    def _assertion(self, node: Assertion) -> None:
        block, began = self.work.begin(node), time.monotonic()
        block.language = node.language or self.chunks.last
        if node.expression:
            value = self.chunks.value(block, node.language, node.expression, plain=True)
            if block.status in ("ok", "fresh") and not value:
                self.work.say(block, "error", "assertion_failed", f"This does not hold: {node.expression}")
        self.work.end(block, began)

    def _suggestions(self, suggestions: Sequence[Suggestion]) -> None:
        """Inert, unless somebody accepted them."""
        for node in suggestions:
            block = self.work.begin(node)
            block.model = node.by
            block.status = "fresh"
            self.work.end(block, time.monotonic())
            self.run(node.content)

    def _parameter(self, node: Parameter) -> None:
        work, began = self.work, time.monotonic()
        block = work.begin(node)
        declared = node.declared
        try:
            given = self.given
            value = declared.fit(given[declared.name]) if declared.name in given else declared.default
        except ValueError as error:
            work.say(block, "error", "bad_parameter", f"Parameter {declared.name}: {error}.")
        else:
            work.hold(declared.name, value)
            self._same(block, "parameter", declared.name, value)
        work.end(block, began)

    def _same(self, block: Block, *parts: object) -> None:
        """Fresh when an earlier job had the very same."""
        key = digest(*parts)
        block.digest = key
        if self.work.fresh(key) is not None:
            block.status = "fresh"
        self.work.after.blocks.setdefault(key, Kept())

    def _if(self, node: If) -> None:
        work, began = self.work, time.monotonic()
        block = work.begin(node)
        taken: Clause | None = None
        for clause in [] if node.broken else node.clauses:
            if clause.kind == "else":
                taken = clause
                break
            block.language = clause.language or self.chunks.last
            value = self.chunks.value(block, clause.language, clause.expression, plain=True)
            if block.status in ("error", "skipped"):
                break
            if value:
                taken = clause
                break
        self._leave(node.clauses, taken)
        work.end(block, began)
        if taken is not None:
            self.run(taken.content)

    def _leave(self, clauses: Sequence[Clause], taken: Clause | None) -> None:
        """Blocks of the clauses that were not taken; in a loop another turn may take them."""
        for clause in clauses:
            if clause is taken:
                continue
            for node in every(clause.content):
                identity = f"{self.work.prefix}{node.id}"
                if not isinstance(node, Section) and identity not in self.work.blocks:
                    block = self.work.begin(node)
                    self.work.skip(block, "info", "not_taken", "This part of the document was not chosen.")
                    self.work.end(block, time.monotonic())

    def _for(self, node: For) -> None:
        work, began = self.work, time.monotonic()
        block = work.begin(node)
        items: list[JsonValue] = []
        if not node.broken:
            block.language = node.clauses[0].language or self.chunks.last
            value = self.chunks.value(block, node.clauses[0].language, node.clauses[0].expression, plain=True)
            items = _items(value)
        if len(items) > _MOST_TURNS:
            work.say(block, "warning", "cut", f"A for runs at most {_MOST_TURNS} times; {len(items)} were asked for.")
            items = items[:_MOST_TURNS]
        work.end(block, began)
        if not items and block.status not in ("error", "skipped"):
            for clause in node.clauses[1:]:
                self.run(clause.content)
        for item in items:
            if self.total[0] > MOST_BLOCKS:
                break
            work.hold(node.name, item)
            self.run(node.clauses[0].content)

    def _include(self, node: Include) -> None:
        work, began = self.work, time.monotonic()
        block = work.begin(node)
        asking, path = self._read(block, node)
        arguments = None if asking is None else self._arguments(block, node)
        if asking is not None and arguments is not None:
            self._same(block, "include", path, unanswered(asking.tree), arguments)
        work.end(block, began)
        if asking is None or arguments is None:
            return
        given = {**self.given, **arguments}
        for name, value in arguments.items():
            work.hold(name, value)
        for number, note in asking.tree.notes:
            work.warn(f"{path}, line {number + 1}: {note.text}")
        outer = (work.prefix, work.line)
        work.prefix, work.line = f"{block.id}/", block.lines[0]
        inside = (*self.inside, path)
        Walk(work, self.chunks, asking, self.files, inside, given, self.included, self.total).run(asking.tree.content)
        work.prefix, work.line = outer

    def _arguments(self, block: Block, node: Include) -> dict[str, JsonValue] | None:
        """The values of a call; ``None`` when one of them has none."""
        found: dict[str, JsonValue] = {}
        for name, argument in node.arguments.items() if node.call else ():
            if argument.code is None:
                found[name] = argument.value
                continue
            found[name] = self.chunks.value(block, node.language, argument.code, plain=True)
            if block.status in ("error", "skipped"):
                return None
        block.status = "ok"
        return found

    def _read(self, block: Block, node: Include) -> tuple[Asking | None, str]:
        if not node.source:
            return None, ""  # its reader has said so
        folder = posixpath.dirname(self.inside[-1]) if self.inside else ""
        path = posixpath.normpath(posixpath.join(folder, node.source))
        if "://" in node.source or node.source.startswith("/") or path.startswith(".."):
            why = "An include is a path relative to the document's files, never a URL."
            self.work.say(block, "error", "include_not_allowed", why)
        elif path in self.inside:
            self.work.say(block, "error", "include_cycle", f"{path} includes itself.")
        elif len(self.inside) >= _DEEPEST:
            self.work.say(block, "error", "include_too_deep", f"Includes stand at most {_DEEPEST} deep.")
        elif path not in self.files:
            self.work.say(block, "error", "include_not_found", f"The document's files have no {path[:200]}.")
        elif self.files[path].stat().st_size > MOST_INCLUDED:
            self.work.say(block, "error", "include_too_large", f"{path} is larger than {MOST_INCLUDED:,} bytes.")
        else:
            try:
                if path not in self.included:
                    tree = parse(self.files[path].read_bytes().decode(), self.work.request.flavour)
                    self.included[path] = Asking(self.work, self.chunks, tree)
                return self.included[path], path
            except UnicodeDecodeError:
                self.work.say(block, "error", "include_not_text", f"{path} is no text in UTF-8.")
        return None, path


def _in_turn(content: Sequence[Node]) -> Sequence[Node]:
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
        return list(range(min(int(value), _MOST_TURNS + 1)))
    if isinstance(value, dict):
        return [[key, inner] for key, inner in value.items()]
    return list(value)
