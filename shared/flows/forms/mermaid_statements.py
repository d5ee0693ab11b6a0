"""One statement of a Mermaid flowchart: nodes with shapes and labels, joined by links."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field

from shared.flows.document import MAX_ID


class Unsupported(Exception):
    """The statement is outside the subset that is read."""


@dataclass(frozen=True)
class NodeMention:
    """A mention of a node, with label and shape if they are given there."""

    name: str
    label: str | None = None
    shape: str | None = None


@dataclass(frozen=True)
class ChartLink:
    line: str
    label: str = ""


@dataclass
class Chain:
    """``A & B --> C``: stations of one or more nodes each, and the links between them."""

    stations: list[list[NodeMention]] = field(default_factory=list)
    links: list[ChartLink] = field(default_factory=list)
    complete: bool = True  #: false when a class name was left out


_NAME = re.compile(r"\w+(?:[-.](?=\w)\w+)*")
_CLASS_NAME = re.compile(r":::\w[\w-]*")
_SPACE = re.compile(r"\s*")
#: The longest opening first; each with its closing and the shape's name.
_SHAPES = (
    ("((", "))", "circle"),
    ("([", "])", "stadium"),
    ("[[", "]]", "subroutine"),
    ("[(", ")]", "cylinder"),
    ("{{", "}}", "hexagon"),
    ("[", "]", "rect"),
    ("(", ")", "round"),
    ("{", "}", "diamond"),
)
#: Links in one piece, then the openings of links with their label inside.
_WHOLE = (
    (re.compile(r"-{2,}>"), "arrow"),
    (re.compile(r"-{3,}(?![>ox-])"), "open"),
    (re.compile(r"-\.+->"), "dotted"),
    (re.compile(r"={2,}>"), "thick"),
)
_OPENINGS = (
    (re.compile(r"--(?=[^->=])"), re.compile(r"-{2,}>"), "arrow"),
    (re.compile(r"--(?=[^->=])"), re.compile(r"-{3,}(?!>)"), "open"),
    (re.compile(r"-\.(?=[^.\->])"), re.compile(r"\.+->"), "dotted"),
    (re.compile(r"==(?=[^=>])"), re.compile(r"={2,}>"), "thick"),
)
_RESERVED = frozenset({"end", "subgraph", "graph", "flowchart", "style", "classDef", "class", "click", "linkStyle"})
_SUBGRAPH = re.compile(r"subgraph\s+(?P<rest>.+)\Z")
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_ENTITY = re.compile(r"#(\d{1,7}|[a-zA-Z]{2,10});")


def read_chain(statement: str) -> Chain:
    """``A["x"] & B -->|label| C --- D``. Raises: Unsupported."""
    reader = _StatementReader(statement)
    chain = Chain([reader.station()])
    while not reader.at_end:
        chain.links.append(reader.link())
        chain.stations.append(reader.station())
    chain.complete = reader.complete
    return chain


def read_subgraph(statement: str, number: int) -> NodeMention:
    """``subgraph id [title]`` or ``subgraph title``. Raises: Unsupported."""
    match = _SUBGRAPH.match(statement)
    if match is None:
        return NodeMention(f"subgraph{number}", "")
    rest = match["rest"].strip()
    try:
        reader = _StatementReader(rest)
        reference = reader.reference()
        if reader.at_end:
            return NodeMention(reference.name, reference.label)
    except Unsupported:
        pass
    return NodeMention(f"subgraph{number}", label_text(rest))


def label_text(text: str) -> str:
    """The text that a label shows: quotes off, entities and line breaks resolved."""
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] == '"':
        text = text[1:-1]
    text = _BREAK.sub("\n", text)
    return _ENTITY.sub(_character, text).replace("\x00", "")


def _character(match: re.Match[str]) -> str:
    name = match[1]
    if not name.isdigit():
        shown = html.unescape(f"&{name};")
        return match[0] if shown == f"&{name};" else shown
    code = int(name)
    return chr(code) if code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else match[0]


class _StatementReader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self.complete = True

    @property
    def at_end(self) -> bool:
        self._skip()
        return self._at >= len(self._text)

    def station(self) -> list[NodeMention]:
        references = [self.reference()]
        while self._take("&"):
            references.append(self.reference())
        return references

    def reference(self) -> NodeMention:
        self._skip()
        match = _NAME.match(self._text, self._at)
        if match is None or match[0] in _RESERVED or len(match[0]) > MAX_ID:
            raise Unsupported
        self._at = match.end()
        spaced = _SPACE.match(self._text, self._at)
        after = spaced.end() if spaced else self._at
        for opening, closing, shape in _SHAPES:
            if self._text.startswith(opening, after):
                label = self._label(after + len(opening), closing)
                self._class_name()
                return NodeMention(match[0], label, shape)
        self._class_name()
        return NodeMention(match[0])

    def link(self) -> ChartLink:
        self._skip()
        for pattern, line in _WHOLE:
            if match := pattern.match(self._text, self._at):
                self._at = match.end()
                return ChartLink(line, self._bar_label())
        for opening, closing, line in _OPENINGS:
            if not (match := opening.match(self._text, self._at)):
                continue
            if end := closing.search(self._text, match.end()):
                label = self._text[match.end() : end.start()]
                if "--" not in label and "==" not in label:
                    self._at = end.end()
                    return ChartLink(line, label_text(label))
        raise Unsupported

    def _class_name(self) -> None:
        if match := _CLASS_NAME.match(self._text, self._at):
            self._at, self.complete = match.end(), False

    def _bar_label(self) -> str:
        if not self._take("|"):
            return ""
        return self._label(self._at, "|")

    def _label(self, start: int, closing: str) -> str:
        """The text up to the closing, which counts only outside quotes."""
        begin = _SPACE.match(self._text, start)
        at = begin.end() if begin else start
        if self._text.startswith('"', at):
            quote = self._text.find('"', at + 1)
            if quote < 0:
                raise Unsupported
            end = quote + 1
            spaced = _SPACE.match(self._text, end)
            end = spaced.end() if spaced else end
            if not self._text.startswith(closing, end):
                raise Unsupported
        else:
            end = self._text.find(closing, at)
            if end < 0 or '"' in self._text[at:end]:
                raise Unsupported
        self._at = end + len(closing)
        return label_text(self._text[start:end])

    def _take(self, char: str) -> bool:
        self._skip()
        if not self._text.startswith(char, self._at):
            return False
        self._at += len(char)
        return True

    def _skip(self) -> None:
        match = _SPACE.match(self._text, self._at)
        if match:
            self._at = match.end()
