"""Reads a document line by line: one pass, no exceptions, and every block with its exact lines."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from services.execution.documents import headers
from services.execution.documents.extents import attach, children, name, walk
from services.execution.documents.inline import found_in
from services.execution.documents.nodes import (
    Chunk,
    Clause,
    For,
    If,
    Include,
    Instruction,
    Node,
    Note,
    Prompt,
    Section,
    Suggestion,
    Tree,
)

_CODE = re.compile(r"([ \t]*)(`{3,}|~{3,})[ \t]*(.*)$")
_COLONS = re.compile(r"[ \t]*(:{3,})[ \t]*(.*?)[ \t]*$")
_CHANGE = re.compile(r"[ \t]*:(\+\+|--|~~|~>)[ \t]*(.*?)[ \t]*$")
_LANG = re.compile(r"\s*\{([^{}]*)\}\s*$")
_FOR = re.compile(r"([A-Za-z_]\w*)\s+in\s+(.+)$")
_CALL = re.compile(r"(\S+)(?:\s*\((.*)\))?")
DEEPEST = 40


@dataclass
class _Open:
    """A block that waits for its end."""

    node: Node | None  #: none for a fence that is only remembered
    into: list[Node]
    colons: int


@dataclass
class _Reader:
    lines: list[str]
    flavour: str
    at: int = 0
    root: list[Node] = field(default_factory=list)
    open: list[_Open] = field(default_factory=list)
    counts: dict[int, int] = field(default_factory=dict)
    notes: list[tuple[int, Note]] = field(default_factory=list)
    sink: list[Node] = field(default_factory=list)  #: what stands too deep

    def read(self) -> Tree:
        self._front_matter()
        while self.at < len(self.lines):
            self._line()
        while self.open:
            self._abandon(self.open.pop())
        attach(self.root, self.lines)
        tree = Tree(tuple(self.lines), tuple(self.root), tuple(self.notes))
        name(tree)
        return tree

    def _front_matter(self) -> None:
        if not self.lines or self.lines[0].rstrip() != "---":
            return
        for number in range(1, min(len(self.lines), 1000)):
            if self.lines[number].rstrip() in ("---", "..."):
                self.at = number + 1
                return

    def _line(self) -> None:
        line = self.lines[self.at].rstrip("\r\n")
        stripped = line.lstrip(" \t")
        start = stripped[:3]
        if start in ("```", "~~~") and (match := _CODE.match(line)) and self._code(match):
            return
        if start == ":::" and (match := _COLONS.match(line)):
            self._colons(len(match[1]), match[2])
        elif start[:1] == ":" and (match := _CHANGE.match(line)):
            self._change(match[1], match[2])
        elif "`" in line or "&[" in line or "{{" in line or "{" in line:
            self._into().extend(found_in(line, self.at, self.flavour))
        self.at += 1

    def _into(self) -> list[Node]:
        return self.open[-1].into if self.open else self.root

    def _code(self, match: re.Match[str]) -> bool:
        indent, mark, info = match.groups()
        if mark[0] == "`" and "`" in info:
            return False
        begin = self.at
        closing = re.compile(rf"[ \t]*{re.escape(mark[0])}{{{len(mark)},}}[ \t]*$")
        end = begin + 1
        while end < len(self.lines) and not closing.match(self.lines[end].rstrip("\r\n")):
            end += 1
        closed = end < len(self.lines)
        self.at = end + 1 if closed else end
        fence = headers.fence(info, self.flavour)
        if fence.executable:
            width = len(indent)
            body = [_dedented(line, width) for line in self.lines[begin + 1 : end]]
            options = {**fence.options, **_cell_options(body)}
            chunk = Chunk(begin, self.at, language=fence.language, code="".join(body), options=options, closed=closed)
            if not closed:
                chunk.notes.append(
                    Note(
                        "error",
                        "unclosed_block",
                        f"The code fence of line {begin + 1} is never closed; it did not run.",
                    )
                )
            self._into().append(chunk)
        return True

    def _colons(self, colons: int, rest: str) -> None:  # noqa: C901 - one branch for each word
        if not rest:
            self._close(colons)
            return
        word = rest.split(None, 1)[0].rstrip(":").lower()
        if (node := headers.instruction(rest, self.at)) is not None:
            self._into().append(node)
            if node.extent == "enclosed":
                self._push(node, node.content, colons)
        elif word in ("elif", "else"):
            self._clause(word, rest[len(word) :].strip())
        elif word == "if":
            self._if(rest[2:].strip(), colons)
        elif word == "for":
            self._for(rest[3:].strip(), colons)
        elif word in ("include", "call"):
            self._include(word, rest[len(word) :].strip())
        elif word == "prompt":
            query = re.sub(r"\s*:{3,}$", "", rest[6:].strip())
            self._into().append(Prompt(self.at, self.at + 1, query=query))
        elif word == "suggest":
            self._suggest(rest[7:].strip(), colons)
        elif rest.endswith(":::"):
            text = f"Line {self.at + 1}: there is no block called {word[:40]!r}; it is text."
            self.notes += [(self.at, Note("warning", "unknown_block", text))] if len(self.notes) < 100 else []
        else:
            section = Section(self.at, self.at + 1, word=word)
            self._into().append(section)
            self._push(section, section.content, colons)

    def _push(self, node: Node | None, into: list[Node], colons: int) -> None:
        if len(self.open) >= DEEPEST and node is not None:
            node.notes.append(Note("error", "too_deep", f"Blocks stand at most {DEEPEST} deep; this one did not run."))
            _break(node)
            into = self.sink
        self.open.append(_Open(node, into, colons))
        self.counts[colons] = self.counts.get(colons, 0) + 1

    def _pop(self) -> _Open:
        top = self.open.pop()
        self.counts[top.colons] -= 1
        return top

    def _close(self, colons: int) -> None:
        if not self.open or (isinstance(self.open[-1].node, Suggestion) and self.open[-1].colons == 0):
            note = Note("warning", "unmatched_end", f"Line {self.at + 1} closes a block that was not opened.")
            if len(self.notes) < 100:
                self.notes.append((self.at, note))
            return
        if self.counts.get(colons):
            while self.open[-1].colons != colons:
                if self.open[-1].colons == 0:
                    break
                self._abandon(self._pop())
        top = self._pop()
        if top.node is not None:
            if isinstance(top.node, Instruction):
                top.node.inner = (top.node.start + 1, self.at)
            top.node.end = self.at + 1

    def _abandon(self, left: _Open) -> None:
        """A block without an end is one line with a message; what it held belongs to the document around it."""
        node = left.node
        if node is None:
            return
        node.notes.append(
            Note("error", "unclosed_block", f"The block of line {node.start + 1} is never closed; it did not run.")
        )
        _break(node)
        if not isinstance(node, Suggestion):
            around = self.open[-1].into if self.open else self.root
            node.end = node.start + 1
            if left.into is around:
                return
            for content in children(node):
                around.extend(content)
                content.clear()
        else:
            node.end = len(self.lines)

    def _if(self, rest: str, colons: int) -> None:
        expression, language = _expression(rest)
        node = If(self.at, self.at + 1, clauses=[Clause("if", expression, language)])
        if not expression:
            node.notes.append(Note("error", "bad_block", "This if has no condition."))
            node.broken = True
        self._into().append(node)
        self._push(node, node.clauses[0].content, colons)

    def _for(self, rest: str, colons: int) -> None:
        expression, language = _expression(rest)
        match = _FOR.match(expression)
        inner, language = _expression(match[2] + (f" {{{language}}}" if language else "")) if match else ("", language)
        node = For(self.at, self.at + 1, name=match[1] if match else "", clauses=[Clause("for", inner, language)])
        if match is None:
            node.notes.append(Note("error", "bad_block", "Write for NAME in EXPRESSION."))
            node.broken = True
        self._into().append(node)
        self._push(node, node.clauses[0].content, colons)

    def _clause(self, word: str, rest: str) -> None:
        top = self.open[-1] if self.open else None
        if top is None or not isinstance(top.node, (If, For)):
            self.notes.append(
                (self.at, Note("warning", "unmatched_clause", f"Line {self.at + 1}: {word} belongs to no if or for."))
            )
            return
        expression, language = _expression(rest)
        clause = Clause("elif" if word == "elif" else "else", expression, language)
        if top.into is self.sink:
            return
        top.node.clauses.append(clause)
        top.into = clause.content

    def _include(self, word: str, rest: str) -> None:
        rest = re.sub(r"\s*:{3,}$", "", rest)
        options = _LANG.search(rest)
        match = _CALL.match(rest[: options.start()] if options else rest)
        node = Include(self.at, self.at + 1, call=word == "call")
        if match is None:
            node.notes.append(Note("error", "bad_block", f"This {word} names no file."))
        else:
            node.source = match[1]
            node.arguments = headers.attributes(match[2] or "")
        self._into().append(node)

    def _suggest(self, rest: str, colons: int) -> None:
        node = _suggestion(self.at, rest)
        self._into().append(node)
        self._push(node, node.content, colons)

    def _change(self, mark: str, rest: str) -> None:
        """``:++`` opens and closes; the content of a suggestion that nobody accepted is opaque."""
        begin = self.at
        node = _suggestion(begin, rest)
        end = begin + 1
        ending = {"++": ":++", "--": ":--", "~~": ":~~"}.get(mark)
        if ending is None:
            return
        fence = ""
        while end < len(self.lines):
            text = self.lines[end].strip()
            if fence:
                if text.startswith(fence) and not text.strip(fence[0]):
                    fence = ""
            elif text.startswith(ending):
                break
            elif text[:3] in ("```", "~~~"):
                fence = re.match(r"`+|~+", text)[0]  # type: ignore[index]
            end += 1
        if end >= len(self.lines):
            self.notes.append(
                (begin, Note("warning", "unclosed_block", f"Line {begin + 1} opens a change that never ends."))
            )
            return
        node.end = end + 1
        if node.status == "accept" and mark == "++":
            inside = _Reader(self.lines[begin + 1 : end], self.flavour).read()
            node.content = [_shifted(each, begin + 1) for each in inside.content]
        self._into().append(node)
        self.at = end


def parse(markdown: str, flavour: str = "stencila") -> Tree:
    """The document as a tree over its own lines: joined, they are the text that came in."""
    lines = re.findall(r"[^\n]*\n|[^\n]+", markdown)
    return _Reader(lines, flavour).read()


def _dedented(line: str, width: int) -> str:
    return line[min(width, len(line) - len(line.lstrip(" \t"))) :]


def _cell_options(body: list[str]) -> dict[str, str]:
    """Quarto's ``#| label: x`` lines at the head of a chunk."""
    found: dict[str, str] = {}
    for line in body[:50]:
        match = re.match(r"(?:#|//|--)\| *([\w-]+): *(.*)", line)
        if match is None:
            break
        found["id" if match[1] == "label" else match[1]] = match[2].strip()
    return found


def _expression(text: str) -> tuple[str, str]:
    text = re.sub(r"\s*:{3,}$", "", text)
    match = _LANG.search(text)
    language = ""
    if match is not None and re.fullmatch(r"[A-Za-z][\w ]*", match[1].strip()):
        language = headers.language_of(match[1].split()[0])
        text = text[: match.start()]
    text = text.strip()
    return (text[1:-1] if len(text) > 1 and text[0] == text[-1] == "`" else text), language


def _suggestion(line: int, rest: str) -> Suggestion:
    options: dict[str, str] = {}
    if rest.startswith("{"):
        inner, _, rest = rest[1:].partition("}")
        options = headers.attributes(inner)
    word = rest.split(None, 1)[0] if rest.split() else ""
    node = Suggestion(line, line + 1, by=options.get("by"), reviewed=bool(rest.strip()))
    if word in ("accept", "reject"):
        node.status = "accept" if word == "accept" else "reject"
    return node


def _break(node: Node) -> None:
    if isinstance(node, (Instruction, If, For)):
        node.broken = True


def _shifted(node: Node, by: int) -> Node:
    for each in walk([node]):
        each.start, each.end = each.start + by, each.end + by
        if isinstance(each, Instruction) and each.inner is not None:
            each.inner = (each.inner[0] + by, each.inner[1] + by)
    return node
