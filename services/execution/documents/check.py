"""Checks a document without running it: its blocks, and what would go wrong."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from jinja2 import Environment, TemplateSyntaxError, nodes

from services.execution.documents.includes import path_of
from services.execution.documents.llm import schemas
from services.execution.documents.llm.messages import asks
from services.execution.documents.llm.schemas import BadSchema
from services.execution.documents.parse.magics import runnable
from services.execution.documents.parse.nodes import (
    Assertion,
    Chunk,
    DocumentNode,
    DocumentTree,
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
    walk,
)
from services.execution.documents.parse.notation import spans_of
from services.execution.documents.run.running import MAX_BLOCKS, kind_of
from services.execution.languages.table import fault_of, names_of
from shared.contracts.document import Block, BlockMessage, DocumentInput
from shared.declarations.documents import declarations
from shared.errors import AssayError
from shared.jobs.job import Context
from shared.languages import DEFAULT_LANGUAGE, LANGUAGES
from shared.llm.chat import ChatMessage, ChatRequest, Estimates, TokenUsage

ROLE = "documents.instruction"
_GIVEN = frozenset(["range", "loop", "namespace", "dict", "caller", "varargs", "kwargs", "self", "super"])


@dataclass
class DocumentCheck:
    context: Context
    request: DocumentInput
    tree: DocumentTree
    sets: set[str] = field(default_factory=set)  #: names that something above has set
    left: int = 0  #: blocks that are too many
    sure: bool = True  #: whether nothing above can have set names that do not show

    def blocks(self) -> list[Block]:
        self.sets |= self.request.parameters.keys() | {"params"}
        nodes = [node for node in walk(self.tree.content) if not isinstance(node, Section)]
        self.left = max(0, len(nodes) - MAX_BLOCKS)
        return [self._block(node) for node in nodes[:MAX_BLOCKS]]

    def unused_parameters(self) -> list[str]:
        """Name the given parameters without effect: no declaration takes them, and nothing reads the value."""
        declared = declarations(self.tree.source)
        there = f"it declares {', '.join(declared)}" if declared else "it declares none"
        return [
            f"Parameter {name} has no effect: {why}. The document does not declare it ({there}): "
            f"write &[{name}] in the text, or tag the cell that assigns it with `parameters`."
            for name in self.request.parameters
            if name not in declared and (why := self._why_unused(name)) is not None
        ]

    def _why_unused(self, name: str) -> str | None:
        nodes = list(walk(self.tree.content))
        if any(isinstance(node, Chunk) and _overwrites(node, name) for node in nodes):
            return f"the document's code assigns {name} itself"
        is_named = re.search(rf"\b{re.escape(name)}\b", self.tree.source)
        return None if is_named or any(isinstance(node, Include) for node in nodes) else "nothing uses it"

    def warnings(self) -> list[str]:
        texts = [*(note.text for _, note in self.tree.notes), *self.unused_parameters()]
        if self.left:
            texts.append(f"The document has {self.left:,} blocks after the first {MAX_BLOCKS:,}; they are not listed.")
        return texts + [
            note.text for node in walk(self.tree.content) if isinstance(node, Section) for note in node.notes
        ]

    def _block(self, node: DocumentNode) -> Block:
        lines = (node.start + 1, max(node.end, node.start + 1))
        block = Block(id=node.id, kind=kind_of(node), lines=lines, status="skipped")
        for note in [*node.notes, *self._check(node, block)]:
            if note.level == "error":
                block.status = "error"
            block.messages.append(BlockMessage(level=note.level, code=note.code, text=note.text[:4000]))
        return block

    def _check(self, node: DocumentNode, block: Block) -> list[Note]:  # noqa: PLR0911 - one for each kind of block
        if isinstance(node, Chunk):
            return self._code(block, node.language or DEFAULT_LANGUAGE, node.code, node.start + 1)
        if isinstance(node, (Expression, Assertion)):
            code = node.code if isinstance(node, Expression) else node.expression
            return self._code(block, node.language or DEFAULT_LANGUAGE, code, node.start) if code else []
        if isinstance(node, Instruction):
            return self._instruction(node, block)
        if isinstance(node, PromptBlock):
            block.message_original = node.message
            return self._message(node.message)
        if isinstance(node, Parameter):
            return self._parameter(node)
        if isinstance(node, Include):
            return self._include(node)
        if isinstance(node, For):
            self.sets.add(node.name)
        if isinstance(node, Suggestion):
            block.model = node.by
        if isinstance(node, (If, For)):
            block.language = node.clauses[0].language or None
        return []

    def _code(self, block: Block, language: str, code: str, line: int) -> list[Note]:
        block.language = language
        if language not in LANGUAGES:
            text = f"No kernel runs {language}. Chunks may be in {', '.join(LANGUAGES)}."
            return [Note("error", "language_unavailable", text)]
        code, notes = runnable(language, code)
        names = names_of(language, code)
        self.sets |= names.sets
        hidden = ("exec(", "import *", "globals(", "%run", "assign(", "eval(")
        self.sure = self.sure and not any(word in code for word in hidden)
        fault = fault_of(language, code)
        if fault is None:
            return notes
        text = f"This is not {LANGUAGES[language].title}: {fault.text}"
        if fault.line is not None:
            text = f"Line {line + fault.line}: {fault.text}"
        return [Note("error", "syntax_error", text)]

    def _instruction(self, node: Instruction, block: Block) -> list[Note]:
        block.instruction_type, block.message_original = node.type, node.message
        if node.broken:
            return []
        notes = self._message(node.message)
        if not node.message and node.inner is None:
            notes.append(Note("error", "empty_message", "The instruction has no message."))
        if named := node.options.get("schema"):
            notes += self._schema(named)
        if (prompt := node.options.get("prompt")) and not self._has_prompt(prompt):
            text = f"There is no prompt @{prompt[:100]} in the document or among its files."
            notes.append(Note("warning", "no_such_prompt", text))
        notes += self._models(node)
        if node.options.get("as"):
            self.sets.add(node.options["as"])
        if node.options.get("execute") == "true":
            self.sure = False
        return notes

    def _message(self, message: str) -> list[Note]:
        if not asks(message):
            return []
        try:
            tree = Environment(autoescape=False).parse(_outside_code(message))  # noqa: S701 - only read
        except (TemplateSyntaxError, RecursionError, MemoryError) as error:
            return [Note("warning", "not_rendered", f"The message would be sent as it is: {error}")]
        used = sorted(_needed(tree) - self.sets) if self.sure else []
        return [_unknown(used)] if used else []

    def _schema(self, name: str) -> list[Note]:
        paths = {file.path for file in self.request.files}
        if name in paths:
            return []
        try:
            schemas.answer_schema(name, self.tree.lines, {})
        except BadSchema as error:
            return [Note("error", "bad_schema", f"The schema of this instruction cannot be used: {error}.")]
        return []

    def _models(self, node: Instruction) -> list[Note]:
        models = node.models or ((self.request.model,) if self.request.model else ())
        asked = ChatRequest(ROLE, (ChatMessage("user", node.message),), selector=models)
        try:
            if models and isinstance(self.context.llm, Estimates):
                self.context.llm.estimate(asked, TokenUsage(0, 0))
        except AssayError as error:
            return [Note("error", error.code, error.detail)]
        return []

    def _has_prompt(self, name: str) -> bool:
        blocks = {node.name for node in walk(self.tree.content) if isinstance(node, PromptBlock)}
        paths = {file.path for file in self.request.files}
        return name in blocks or not paths.isdisjoint((name, f"{name}.md", f"prompts/{name}.md"))

    def _parameter(self, node: Parameter) -> list[Note]:
        declared = node.declared
        self.sets.add(declared.name)
        try:
            declared.fit(self.request.parameters[declared.name]) if declared.name in self.request.parameters else (
                declared.default
            )
        except ValueError as error:
            return [Note("error", "bad_parameter", f"Parameter {declared.name}: {error}.")]
        return []

    def _include(self, node: Include) -> list[Note]:
        self.sure = False
        paths = {file.path for file in self.request.files}
        path = path_of(node.source, "", paths) if node.source else ""  # the parser has noted an empty one
        return [path] if isinstance(path, Note) else []


def _outside_code(text: str) -> str:
    for start, end in reversed(spans_of(text)):
        text = f"{text[:start]}{' ' * (end - start)}{text[end:]}"
    return text


def _needed(tree: nodes.Template) -> set[str]:
    """Return the names that need a value from outside."""
    loaded = {node.name for node in tree.find_all(nodes.Name) if node.ctx == "load"}
    own = {node.name for node in tree.find_all(nodes.Name) if node.ctx != "load"} | _GIVEN
    spared = {
        name.name
        for node in tree.find_all((nodes.Test, nodes.Filter))
        if node.name in ("defined", "undefined", "default", "d")
        for name in node.find_all(nodes.Name)
    }
    return loaded - own - spared


def _unknown(names: Sequence[str]) -> Note:
    text = f"Nothing above sets {', '.join(names[:10])}: without it the message would be sent as it is."
    return Note("warning", "unknown_variable", text)


def _overwrites(chunk: Chunk, name: str) -> bool:
    """Return whether the first line of the code that mentions the name sets it to something else."""
    language = chunk.language or DEFAULT_LANGUAGE
    if language not in LANGUAGES or name not in names_of(language, chunk.code).sets:
        return False
    mention = re.compile(rf"\b{re.escape(name)}\b")
    first = next((line for line in chunk.code.splitlines() if mention.search(line)), "")
    assigned = re.match(rf"(?:(?:let|const|var)\s+)?{re.escape(name)}\s*(?::[^=]+)?(?:=(?!=)|<-)(.*)", first)
    return assigned is not None and mention.search(assigned[1]) is None
