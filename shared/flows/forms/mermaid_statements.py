"""Chains of a Mermaid flowchart: nodes with shapes and labels, joined by links."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from shared.flows.document import MAX_ID
from shared.flows.forms.mermaid_labels import label_text


class Unsupported(Exception):
    """Here the text is outside of what is read."""


@dataclass(frozen=True)
class NodeMention:
    """A mention of a node, with label and shape if they are given there."""

    name: str
    label: str | None = None
    shape: str | None = None
    classes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ChartLink:
    line: str
    label: str = ""


@dataclass
class Chain:
    """``A & B --> C``: stations of one or more nodes each, and the links between them."""

    stations: list[list[NodeMention]] = field(default_factory=list)
    links: list[ChartLink] = field(default_factory=list)
    edge_ids: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)  #: ornament, in words
    end: int = 0  #: where the statement ends


#: The characters of Mermaid's ids; a dash or an equals sign may begin a link instead.
_NAME = re.compile(r"(?:[\w!$%'*+.?\\/\u0080-\uffff]|:(?!::(?!:))|-(?=[^\s>\-.;])|=(?=[^\s=>;])|#(?!\w+;))+")
_CLASS_NAME = re.compile(r":::([\w-]+(?:,[\w-]+)*)")
_NEXT_LINE = re.compile(r"[ \t]*\n(?:[ \t]*(?:%%[^\n]*)?\n)*[ \t]*(?=\S)")
_BLANK = re.compile(r"[ \t]*")
_STOP = re.compile(r"[ \t]*(?:[;\n]|\Z)")
_EDGE_ID = re.compile(r"([^\s\"@]+)@(?=[-=.<xo~])")
#: The longest opening first; each with its closings and their shapes.
_SHAPES: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    ("(((", ((")))", "double_circle"),)),
    ("((", (("))", "circle"),)),
    ("([", (("])", "stadium"),)),
    ("(-", (("-)", "circle"),)),
    ("[[", (("]]", "subroutine"),)),
    ("[(", ((")]", "cylinder"),)),
    ("[|", (("|]", "rect"),)),
    ("{{", (("}}", "hexagon"),)),
    ("[/", (("/]", "parallelogram"), ("\\]", "trapezoid"))),
    ("[\\", (("\\]", "parallelogram_back"), ("/]", "trapezoid_back"))),
    ("[", (("]", "rect"),)),
    ("(", ((")", "round"),)),
    ("{", (("}", "diamond"),)),
    (">", (("]", "flag"),)),
)
#: A whole link: which end, the line, which end.
_WHOLE = re.compile(
    r"(?P<start>[xo<]?)(?:(?P<normal>--+)(?P<a>[-xo>])|(?P<thick>==+)(?P<b>[=xo>])|(?P<dotted>-?\.+-)(?P<c>[xo>]?))"
    r"|(?P<invisible>~~~+)"
)
#: The beginning of a link with an inner label, and its continuation.
_OPENING = re.compile(r"(?P<start>[xo<]?)(?P<line>--|==|-\.)(?=[ \t]*[^\s\-=.>~]|[ \t]+\S)")
_CLOSINGS = {
    "--": re.compile(r"[xo<]?--+(?P<end>[-xo>])"),
    "==": re.compile(r"[xo<]?==+(?P<end>[=xo>])"),
    "-.": re.compile(r"[xo<]?-?\.+-(?P<end>[xo>]?)"),
}
_LINES = {"--": ("arrow", "open"), "==": ("thick", "thick_open"), "-.": ("dotted", "dotted_open")}
_RESERVED = re.compile(r"(?:end|subgraph|graph|flowchart|style|classDef|class|click|linkStyle|direction)\Z")
_DATA = re.compile(r"@\{")
_PAIR = re.compile(r"\s*([\w-]+)\s*:\s*(\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^,}\n]*)[ \t]*(?:,|\n|\Z)\s*", re.DOTALL)
#: Mermaid's names of our shapes.
_NAMED_SHAPES = {
    name: shape
    for shape, names in {
        "rect": "rect proc process rectangle text",
        "round": "rounded event",
        "stadium": "stadium terminal pill",
        "subroutine": "fr-rect subprocess subproc framed-rectangle subroutine",
        "cylinder": "cyl db database cylinder",
        "circle": "circle circ ellipse",
        "diamond": "diam decision diamond question",
        "hexagon": "hex hexagon prepare",
        "parallelogram": "lean-r lean-right in-out",
        "parallelogram_back": "lean-l lean-left out-in",
        "trapezoid": "trap-b priority trapezoid trapezoid-bottom",
        "trapezoid_back": "trap-t inv-trapezoid manual trapezoid-top",
        "double_circle": "dbl-circ double-circle",
        "flag": "odd",
    }.items()
    for name in names.split()
}
_ENDS = {"x": "a cross", "o": "a circle"}


def read_chain(text: str, start: int) -> Chain:
    """Read ``A["x"] & B -->|label| C --- D`` from a place in the text. Raises: Unsupported."""
    reader = _ChainReader(text, start)
    chain = reader.chain
    chain.stations.append(reader.station())
    while reader.goes_on():
        chain.edge_ids += reader.edge_id()
        chain.links.append(reader.link())
        chain.stations.append(reader.station(after_link=True))
    chain.end = reader.at
    return chain


def read_subgraph(rest: str, number: int) -> tuple[NodeMention, bool]:
    """Read ``id [title]`` or ``title``, and whether markup was lost."""
    rest = rest.strip()
    if not rest:
        return NodeMention(f"subgraph{number}", ""), False
    try:
        reader = _ChainReader(rest, 0)
        mention = reader.node()
        if reader.at_stop():
            return NodeMention(mention.name, mention.label), bool(reader.chain.lost)
    except Unsupported:
        pass
    label, lost = label_text(rest)
    return NodeMention(f"subgraph{number}", label), lost


class _ChainReader:
    def __init__(self, text: str, start: int) -> None:
        self._text = text
        self.at = start
        self.chain = Chain()

    def at_stop(self) -> bool:
        return _STOP.match(self._text, self.at) is not None

    def goes_on(self) -> bool:
        """Return whether a link follows, also at the beginning of the next line."""
        if not self.at_stop():
            return True
        at = self._next_line()
        if at == self.at or not (_WHOLE.match(self._text, at) or _OPENING.match(self._text, at)):
            return False
        self.at = at
        return True

    def _next_line(self) -> int:
        """Return where the text of the next line begins, the current place when there is more on this one."""
        match = _NEXT_LINE.match(self._text, self.at)
        return match.end() if match else self.at

    def station(self, *, after_link: bool = False) -> list[NodeMention]:
        nodes = [self.node(after_link=after_link)]
        while self._take("&"):
            nodes.append(self.node())
        return nodes

    def node(self, *, after_link: bool = False) -> NodeMention:
        self._skip()
        if after_link:
            self.at = self._next_line()
        match = _NAME.match(self._text, self.at)
        if match is None or _RESERVED.match(match[0]) or len(match[0]) > MAX_ID:
            raise Unsupported
        self.at = match.end()
        label, shape = self._shaped()
        classes = self._classes()
        if _DATA.match(self._text, self.at):
            given, named = self._data()
            label, shape = label if given is None else given, named or shape
            classes += self._classes()
        return NodeMention(match[0], label, shape, classes)

    def edge_id(self) -> list[str]:
        self._skip()
        match = _EDGE_ID.match(self._text, self.at)
        if match is None:
            return []
        self.at = match.end()
        self.chain.lost.append(f"the id {match[1][:40]} of a link")
        return [match[1]]

    def link(self) -> ChartLink:
        self._skip()
        opening = _OPENING.match(self._text, self.at)
        whole = _WHOLE.match(self._text, self.at)
        if whole is not None and (opening is None or whole.end() > opening.end()):
            self.at = whole.end()
            return ChartLink(self._line(whole), self._bar_label())
        if opening is not None:
            closing = _CLOSINGS[opening["line"]].search(self._text, opening.end())
            end_of_line = _end_of_line(self._text, opening.end())
            if closing is not None and closing.start() < end_of_line:
                self.at = closing.end()
                label = self._plain(self._text[opening.end() : closing.start()])
                self._note_ends(opening["start"], closing["end"])
                arrow, without = _LINES[opening["line"]]
                return ChartLink(arrow if closing["end"] not in ("-", "=", "") else without, label)
        raise Unsupported

    def _line(self, match: re.Match[str]) -> str:
        if match["invisible"]:
            self.chain.lost.append("")  # that it is not drawn
            return "invisible"
        kind, end = next((kind, match[end]) for kind, end in _KINDS if match[kind])
        self._note_ends(match["start"], end)
        arrow, without = _LINES[kind if kind in _LINES else {"normal": "--", "thick": "==", "dotted": "-."}[kind]]
        return without if end in ("-", "=", "") else arrow

    def _note_ends(self, start: str, end: str) -> None:
        if end in _ENDS:
            self.chain.lost.append(f"{_ENDS[end]} at the end of a link")
        if start:
            self.chain.lost.append(f"{_ENDS.get(start, 'an arrow head')} at the beginning of a link")

    def _shaped(self) -> tuple[str | None, str | None]:
        """Return the label and shape of a node, when they follow its id. Raises: Unsupported for one without an end."""
        spaced = _BLANK.match(self._text, self.at)
        start = spaced.end() if spaced else self.at
        for opening, closings in _SHAPES:
            if self._text.startswith(opening, start) and (opening != ">" or start == self.at):
                begin = start + len(opening)
                shapes = [
                    (end, closing, shape) for closing, shape in closings if (end := self._closing(begin, closing)) >= 0
                ]
                if not shapes:
                    continue
                end, closing, shape = min(shapes)
                self.at = end + len(closing)
                text = self._text[begin:end]
                if opening == "[|" and ":" in text.partition("|")[0]:
                    text = text.partition("|")[2]
                return self._plain(text), shape
        if self._text.startswith(("[", "(", "{"), start):
            raise Unsupported
        return None, None

    def _closing(self, begin: int, closing: str) -> int:
        """Return where the closing is that ends a text, below zero for nowhere; it counts outside of quotes only."""
        blank = re.compile(r"\s*").match(self._text, begin)
        at = blank.end() if blank else begin
        if self._text.startswith('"', at):
            quote = self._text.find('"', at + 1)
            after = re.compile(r"\s*").match(self._text, quote + 1) if quote >= 0 else None
            return after.end() if after and self._text.startswith(closing, after.end()) else -1
        end = self._text.find(closing, at)
        text = self._text[at:end] if end >= 0 else '"'
        if closing in ("]", ")", "}", "))", "))"):
            end = self._balanced(at, closing)
            text = self._text[at:end] if end >= 0 else '"'
        return -1 if '"' in text or _STATEMENT_INSIDE.search(text) else end

    def _balanced(self, at: int, closing: str) -> int:
        """Return the closing that fits the brackets opened since: ``[f(x[1])]`` ends at its last bracket."""
        last = closing[-1]
        opening = {"]": "[", ")": "(", "}": "{"}[last]
        limit = _end_of_line(self._text, at)
        first = self._text.find(closing, at)
        depth, place = 0, at
        while 0 <= place < limit:
            char = self._text[place]
            if char == opening:
                depth += 1
            elif char == last and depth:
                depth -= 1
            elif self._text.startswith(closing, place):
                return place
            place += 1
        return first

    def _data(self) -> tuple[str | None, str | None]:
        """Return label and shape of ``@{ shape: ..., label: ... }``. Raises: Unsupported when it has no end."""
        begin, quoted = self.at + 2, False
        end = begin
        while end < len(self._text) and (quoted or self._text[end] != "}"):
            quoted ^= self._text[end] == '"'
            end += 1
        if end == len(self._text):
            raise Unsupported
        pairs = {match[1]: match[2].strip().strip("\"'") for match in _PAIR.finditer(self._text, begin, end)}
        self.at = end + 1
        name = pairs.pop("shape", None)
        shape = _NAMED_SHAPES.get(name) if name else None
        if name and shape is None:
            self.chain.lost.append(f"the shape {name[:40]}")
        label = pairs.pop("label", None)
        if pairs:
            self.chain.lost.append(", ".join(sorted(pairs))[:100])
        return (None if label is None else self._plain(f'"{label}"')), shape

    def _classes(self) -> tuple[str, ...]:
        names: tuple[str, ...] = ()
        while match := _CLASS_NAME.match(self._text, self.at):
            self.at = match.end()
            names += tuple(match[1].split(","))
        return names

    def _bar_label(self) -> str:
        if not self._take("|"):
            return ""
        begin = self.at
        end = self._closing(begin, "|")
        if end < 0:
            raise Unsupported
        self.at = end + 1
        return self._plain(self._text[begin:end])

    def _plain(self, text: str) -> str:
        plain, lost = label_text(text)
        if lost:
            self.chain.lost.append("markup of a text")
        return plain

    def _take(self, char: str) -> bool:
        self._skip()
        if not self._text.startswith(char, self.at):
            return False
        self.at += len(char)
        return True

    def _skip(self) -> None:
        match = _BLANK.match(self._text, self.at)
        self.at = match.end() if match else self.at


_KINDS = (("normal", "a"), ("thick", "b"), ("dotted", "c"))
#: A text that extends over a clear statement start lacks its closing bracket.
_STATEMENT_INSIDE = re.compile(r"\n\s*(?:subgraph\b|end\s*\n|\S+\s*(?:-->|---|==>|-\.->))")


def _end_of_line(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end
