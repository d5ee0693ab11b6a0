"""The nodes of a document: blocks that run or call a model, each with its exact lines; everything else is text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

from shared.declarations.parameters import Declaration

Level = Literal["info", "warning", "error"]
TYPES = ("create", "edit", "fix", "describe", "discuss")  #: of instructions


@dataclass(frozen=True)
class Note:
    """A message in its place."""

    level: Level
    code: str
    text: str


@dataclass(slots=True)
class DocumentNode:
    """Lines count from 0; ``end`` is the line after the last one."""

    start: int
    end: int
    id: str = ""
    notes: list[Note] = field(default_factory=list)

    @property
    def kind(self) -> str:
        """What it is called in ids."""
        return type(self).__name__.lower().removesuffix("block")


@dataclass(slots=True)
class Chunk(DocumentNode):
    language: str = ""
    code: str = ""
    options: Mapping[str, str] = field(default_factory=dict)  #: flags map to true: ``{"hide": "true"}``
    closed: bool = True
    prefix: str = ""  #: what its first line begins with, in a list or a quotation


@dataclass(slots=True)
class Expression(DocumentNode):
    """Code within a line."""

    language: str = ""
    code: str = ""
    columns: tuple[int, int] = (0, 0)  #: where it is in its line


@dataclass(slots=True)
class Parameter(DocumentNode):
    declared: Declaration = field(default_factory=lambda: Declaration("", "any", {}))


@dataclass(slots=True)
class Assertion(DocumentNode):
    """What has to hold here."""

    expression: str = ""
    language: str = ""


@dataclass(slots=True)
class Suggestion(DocumentNode):
    """A proposed change; ``content`` is what counts until it is accepted, and after."""

    change: Literal["insert", "delete", "replace"] = "insert"
    status: Literal["", "accept", "reject"] = ""
    by: str | None = None
    reviewed: bool = False  #: accepted, rejected or commented by a person
    content: list[DocumentNode] = field(default_factory=list)


@dataclass(slots=True)
class Instruction(DocumentNode):
    type: str = ""
    message: str = ""
    models: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    replicates: int = 1
    extent: Literal["none", "next", "previous", "enclosed"] = "none"
    content: list[DocumentNode] = field(default_factory=list)
    inner: tuple[int, int] | None = None  #: the lines that the message is about
    suggestions: list[Suggestion] = field(default_factory=list)
    broken: bool = False

    @property
    def reach(self) -> int:
        """The line after it and what it points to below."""
        return max(self.end, self.inner[1]) if self.extent == "next" and self.inner is not None else self.end


@dataclass(slots=True)
class Clause:
    """One way through an ``if`` or a ``for``."""

    kind: Literal["if", "elif", "else", "for"]
    expression: str = ""
    language: str = ""
    content: list[DocumentNode] = field(default_factory=list)
    start: int = 0  #: the line that opens it


@dataclass(slots=True)
class If(DocumentNode):
    clauses: list[Clause] = field(default_factory=list)
    broken: bool = False


@dataclass(slots=True)
class For(DocumentNode):
    name: str = ""
    clauses: list[Clause] = field(default_factory=list)
    broken: bool = False


@dataclass(frozen=True)
class Argument:
    """Of a ``call``: a value, or code for one."""

    value: JsonValue = None
    code: str | None = None


@dataclass(slots=True)
class Include(DocumentNode):
    """``include``, or ``call`` with arguments."""

    source: str = ""
    call: bool = False
    language: str = ""
    arguments: Mapping[str, Argument] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        return "call" if self.call else "include"


@dataclass(slots=True)
class PromptBlock(DocumentNode):
    """A system prompt that an instruction refers to by ``@name``."""

    name: str = ""
    message: str = ""
    content: list[DocumentNode] = field(default_factory=list)


@dataclass(slots=True)
class Section(DocumentNode):
    """Any other fenced block: its content is part of the document."""

    content: list[DocumentNode] = field(default_factory=list)
    word: str = ""


_LEAVES = frozenset([Assertion, Chunk, Expression, Include, Parameter])


def children(node: DocumentNode) -> list[list[DocumentNode]]:
    if isinstance(node, (Section, Suggestion, Instruction, PromptBlock)):
        return [node.content]
    if isinstance(node, (If, For)):
        return [clause.content for clause in node.clauses]
    return []


def walk(nodes: Sequence[DocumentNode]) -> list[DocumentNode]:
    """Return every node, in document order."""
    nodes_in_order: list[DocumentNode] = []
    stack = list(reversed(nodes))
    while stack:
        node = stack.pop()
        nodes_in_order.append(node)
        if type(node) in _LEAVES:
            continue
        if isinstance(node, Instruction):
            stack.extend(reversed(node.suggestions))
        for content in reversed(children(node)):
            stack.extend(reversed(content))
    return nodes_in_order


@dataclass(frozen=True)
class DocumentTree:
    lines: tuple[str, ...]  #: with their ends; joined they are the source
    content: tuple[DocumentNode, ...]
    notes: tuple[tuple[int, Note], ...]  #: what could not be read, by line
    comments: tuple[tuple[int, int], ...] = ()  #: of HTML, by their lines: nothing in them counts

    @property
    def source(self) -> str:
        return "".join(self.lines)
