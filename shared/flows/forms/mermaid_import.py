"""Mermaid flowcharts read as flows, statement by statement; what is lost of one is reported with its line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from shared.contracts.flow_document import MAX_EDGES, MAX_NODES
from shared.contracts.flow_routes import ImportWarning
from shared.errors import InvalidRequest
from shared.flows import visuals
from shared.flows.colors import is_color
from shared.flows.document import MAX_ID, Document, Item, Json, document_of
from shared.flows.errors import too_large
from shared.flows.forms.mermaid import EMPTY
from shared.flows.forms.mermaid_statements import Chain, NodeMention, Unsupported, read_chain, read_subgraph
from shared.flows.layout.document_layout import layout
from shared.flows.visuals import size_of

_HEADER = re.compile(r"(?:graph|flowchart(?:-elk)?)(?:[ \t]+(TD|TB|LR|RL|BT|[<>^v]))?[ \t]*(?=[;\n]|\Z)")
_ARROWS = {"<": "RL", ">": "LR", "^": "BT", "v": "TB"}
_OTHER_CHART = re.compile(
    r"(stateDiagram|classDiagram|sequenceDiagram|erDiagram|gantt|pie|mindmap|journey|gitGraph|timeline|quadrantChart|"
    r"requirementDiagram|C4\w+|sankey|xychart|block|packet|kanban|architecture|radar|treemap|zenuml|info)(?![a-z])"
)
_IGNORED = re.compile(
    r"[ \t]*%%\{.*?\}%%[ \t]*|[ \t]*%%(?! id )[^\n]*",
    re.DOTALL,
)
_ID_COMMENT = re.compile(r"%% id (\S+) (\".*\")[ \t]*(?=\n|\Z)")
_BETWEEN = re.compile(r"[\s;]*")
_LINE = re.compile(r"[^\n]*")
_STATEMENT = re.compile(r"[^\n;\"]*(?:\"[^\"]*\"[^\n;\"]*)*")
_WORD = re.compile(
    r"(subgraph|end|direction|classDef|class|style|linkStyle|click|href|accTitle|accDescr)(?=[ \t]*[:{]|[ \t;\n]|\Z)"
)
_BLOCK = re.compile(r"[ \t]*\{[^}]*\}")
_ALWAYS_WORDS = ("end", "accTitle", "accDescr")
_LINK_AFTER = re.compile(r"[ \t]*(?:--|==|-\.|~~~|[xo<]--|@\{|[\[({&]|:::)")
_PART_OF = {"fill": "background", "stroke": "border", "color": "text"}
_LABEL = 10_000
_MAX_WARNINGS = 1_000


@dataclass
class _Chart:
    nodes: dict[str, Json] = field(default_factory=dict)
    edges: list[Json] = field(default_factory=list)
    settings: dict[str, Item] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)  #: real ids by short ones
    open_groups: list[tuple[str, dict[str, None]]] = field(default_factory=list)  #: each with what it mentions
    classes: dict[str, dict[str, str]] = field(default_factory=dict)  #: their styles
    of_class: list[tuple[str, str, int, str]] = field(default_factory=list)  #: node, class, line, statement
    edge_ids: set[str] = field(default_factory=set)
    warnings: list[ImportWarning] = field(default_factory=list)


def read_mermaid(text: str) -> tuple[Document, list[ImportWarning]]:
    """Return the flow of a flowchart, laid out.

    Raises: InvalidRequest when it is not a flowchart, FlowTooLarge.
    """
    reader = _Reader(text)
    direction = reader.header()
    reader.statements()
    chart = reader.chart
    for group, mentioned in reversed(chart.open_groups):
        _close(chart, group, mentioned)
    _apply_classes(chart)
    warnings = sorted(chart.warnings, key=lambda warning: warning.line)
    return _laid_out(_document(chart), direction), warnings


class _Reader:
    """Goes through the text; a statement that is not understood ends with its line."""

    def __init__(self, text: str) -> None:
        self._text = "\n".join(text.replace("\r\n", "\n").replace("\r", "\n").splitlines())
        self._at = self._front_matter()
        self._line, self._counted = 1, 0
        self.chart = _Chart()

    def header(self) -> str:
        """Return the direction. Raises: InvalidRequest when it is not a flowchart."""
        self._skip()
        header = _HEADER.match(self._text, self._at)
        if header is not None:
            self._at = header.end()
            direction = header[1] or "TB"
            return _ARROWS.get(direction, direction)
        if self._at >= len(self._text):
            raise _refused("the text holds no flowchart")
        if other := _OTHER_CHART.match(self._text, self._at):
            raise _refused(f"line {self._number()}: this is a {other[1]}, and only flowcharts are imported")
        raise _refused(f"line {self._number()}: a flowchart begins with `flowchart LR` or `graph TD`")

    def statements(self) -> None:
        while self._skip():
            start, number = self._at, self._number()
            try:
                lost = self._statement()
            except Unsupported:
                lost = [""]
                self._at = max(self._at, self._end_of_statement(start))
            self._at = max(self._at, start + 1)
            statement = " ".join(self._text[start : self._at].split())
            for note in dict.fromkeys(lost):
                self._warn(number, f"{statement[:400]} ({note} is left out)" if note else statement[:500])

    def _warn(self, line: int, text: str) -> None:
        if len(self.chart.warnings) < _MAX_WARNINGS:
            self.chart.warnings.append(ImportWarning(line=line, text=text))

    def _skip(self) -> bool:
        """Skip blanks, comments and directives; return whether anything is left."""
        while self._at < len(self._text):
            between = _BETWEEN.match(self._text, self._at)
            begin = between.end() if between else self._at
            ignored = _IGNORED.match(self._text, begin)
            if begin == self._at and not (ignored and ignored.end() > begin):
                return True
            self._at = ignored.end() if ignored else begin
        return False

    def _number(self) -> int:
        """Return the number of the current line."""
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def _front_matter(self) -> int:
        """Return where the text begins after a block between two lines of dashes."""
        match = re.match(r"\s*---[ \t]*\n.*?\n[ \t]*---[ \t]*(?:\n|\Z)", self._text, re.DOTALL)
        return match.end() if match else 0

    def _end_of_statement(self, start: int) -> int:
        """Return the next separator outside of quotes, on the same line."""
        line = _LINE.match(self._text, start)
        limit = line.end() if line else len(self._text)
        statement = _STATEMENT.match(self._text, start, limit)
        while (
            statement and statement.end() < limit and re.search(r"[#&]\w{1,10}\Z", self._text[start : statement.end()])
        ):
            statement = _STATEMENT.match(self._text, statement.end() + 1, limit)  # the end of an entity
        end = statement.end() if statement else limit
        return limit if end == start or self._text[end : end + 1] == '"' else end

    def _rest(self) -> str:
        """Take the rest of the statement."""
        start, self._at = self._at, self._end_of_statement(self._at)
        return self._text[start : self._at].strip()

    def _statement(self) -> list[str]:
        """Read one statement; return what of it is lost, an empty text for all. Raises: Unsupported."""
        chart = self.chart
        if match := _ID_COMMENT.match(self._text, self._at):
            self._at = match.end()
            _rename(chart, match[1], match[2])
            return []
        word = _WORD.match(self._text, self._at)
        if word is not None and not (word[1] not in _ALWAYS_WORDS and _LINK_AFTER.match(self._text, word.end())):
            self._at = word.end()
            if block := _BLOCK.match(self._text, self._at) if word[1] == "accDescr" else None:
                self._at = block.end()
                return [""]
            return self._command(word[1], self._rest())
        start = self._at
        chain = read_chain(self._text, start)
        self._at = chain.end
        statement = " ".join(self._text[start : chain.end].split())
        if len(chain.stations) == len(chain.stations[0]) == 1 and chain.stations[0][0].name in chart.edge_ids:
            return ["the look of an edge"]
        number = self._number()
        _add(chart, chain)
        for node in (node for station in chain.stations for node in station):
            chart.of_class += [(node.name, name, number, statement) for name in node.classes]
        return chain.lost

    def _command(self, word: str, rest: str) -> list[str]:
        """Run a statement that begins with a keyword; return what is lost. Raises: Unsupported."""
        chart = self.chart
        if word == "subgraph":
            group, lost = read_subgraph(rest, len(chart.nodes) + 1)
            _open_group(chart, group)
            return ["markup of a text"] if lost else []
        if word == "end":
            if not chart.open_groups or rest:
                raise Unsupported
            _close(chart, *chart.open_groups.pop())
            return []
        head, _, tail = rest.partition(" ")
        if word == "classDef" and tail:
            styles, lost_styles = _styles(tail)
            for name in head.split(","):
                chart.classes[name] = styles
            return lost_styles
        if word == "class" and tail:
            names, _, of = rest.rpartition(" ")
            nodes = [name.strip() for name in names.split(",")]
            chart.of_class += [(node, of, self._number(), f"class {rest}") for node in nodes]
            return []
        if word == "style" and tail:
            styles, lost_styles = _styles(tail)
            unknown = [name for name in head.split(",") if name not in chart.nodes]
            if unknown:
                raise Unsupported
            for name in head.split(","):
                _color(chart, name, styles)
            return lost_styles
        return [""]


def _refused(message: str) -> InvalidRequest:
    return InvalidRequest(message, [(["body", "text"], message)])


def _rename(chart: _Chart, short: str, quoted: str) -> None:
    try:
        name = json.loads(quoted)
    except ValueError:
        raise Unsupported from None
    if not isinstance(name, str) or not name or len(name) > MAX_ID or "\x00" in name or short not in chart.nodes:
        raise Unsupported
    try:
        name.encode()
    except UnicodeEncodeError:
        raise Unsupported from None
    chart.names[short] = name


def _open_group(chart: _Chart, group: NodeMention) -> None:
    _mention(chart, group)
    chart.nodes[group.name]["isCollapsed"] = False
    chart.nodes[group.name]["type"] = "group"
    chart.open_groups.append((group.name, {}))


def _close(chart: _Chart, group: str, mentioned: Iterable[str]) -> None:
    """Put what a group mentions into it, unless an earlier group has it already; inner groups are closed first."""
    around = {name for name, _ in chart.open_groups}
    for name in mentioned:
        body = chart.nodes[name]
        if name != group and name not in around and "parentGroupId" not in body and not _holds(chart, name, group):
            body["parentGroupId"] = group


def _holds(chart: _Chart, outer: str, inner: str) -> bool:
    """Return whether one group is around the other already."""
    seen: set[str] = set()
    while inner in chart.nodes and inner not in seen:
        seen.add(inner)
        if inner == outer:
            return True
        inner = str(chart.nodes[inner].get("parentGroupId", ""))
    return False


def _add(chart: _Chart, chain: Chain) -> None:
    pairs = sum(len(before) * len(after) for before, after in zip(chain.stations, chain.stations[1:], strict=False))
    if len(chart.edges) + pairs > MAX_EDGES:
        raise too_large(len(chart.nodes), len(chart.edges) + pairs)
    for station in chain.stations:
        for reference in station:
            _mention(chart, reference)
    chart.edge_ids.update(chain.edge_ids)
    for link, before, after in zip(chain.links, chain.stations, chain.stations[1:], strict=False):
        for source in before:
            for target in after:
                data: Json = {"label": link.label[:_LABEL]} if link.label else {}
                if link.line != "arrow":
                    data["line"] = link.line
                edge: Json = {"id": f"e{len(chart.edges) + 1}", "source": source.name, "target": target.name}
                chart.edges.append({**edge, "data": data} if data else edge)


def _mention(chart: _Chart, reference: NodeMention) -> None:
    """Add or update a node: its last label counts."""
    body = chart.nodes.get(reference.name)
    if body is None:
        if len(chart.nodes) >= MAX_NODES:
            raise too_large(len(chart.nodes) + 1, len(chart.edges))
        body = chart.nodes[reference.name] = {
            "id": reference.name,
            "type": "default",
            "position": {"x": 0, "y": 0},
            "data": {"label": reference.name},
        }
    data = body["data"]
    assert isinstance(data, dict)
    if reference.label is not None:
        data["label"] = "" if reference.label == EMPTY else reference.label[:_LABEL]
    if reference.shape == "rect":
        data.pop("shape", None)
    elif reference.shape is not None:
        data["shape"] = reference.shape
    if chart.open_groups:
        chart.open_groups[-1][1][reference.name] = None


def _styles(written: str) -> tuple[dict[str, str], list[str]]:
    """Return ``fill:#fff,stroke:red`` by name, and what is lost of it."""
    pairs = [part.partition(":") for part in re.split(r"(?<!\\),(?![^(]*\))", written.strip().rstrip(";"))]
    styles = {
        name.strip(): value.strip().removesuffix("!important").strip() for name, _, value in pairs if name.strip()
    }
    kept = {name: value for name, value in styles.items() if name in _PART_OF and (is_color(value) or value == "none")}
    lost = [name for name in styles if name not in kept]
    return kept, [", ".join(lost)[:100]] if lost else []


def _color(chart: _Chart, node: str | None, styles: Mapping[str, str]) -> None:
    for name, value in styles.items():
        part = _PART_OF[name]
        pointer = visuals.all_nodes_color(part) if node is None else visuals.node_color(node, part)
        if value != "none" and (node is not None or value != visuals.DEFAULTS[pointer]):
            chart.settings[pointer] = Item(0, {"value": value})


def _apply_classes(chart: _Chart) -> None:
    """Color nodes by their classes, unless their own style does."""
    own = dict(chart.settings)
    if "default" in chart.classes:
        _color(chart, None, chart.classes["default"])
    for node, name, line, statement in chart.of_class:
        if node in chart.nodes and name in chart.classes:
            _color(chart, node, chart.classes[name])
        elif len(chart.warnings) < _MAX_WARNINGS:
            chart.warnings.append(ImportWarning(line=line, text=statement[:500]))
    chart.settings.update(own)


def _document(chart: _Chart) -> Document:
    """Return the chart with the real ids, as far as they do not collide."""
    renamed: dict[str, str] = {}
    taken = set(chart.nodes) - set(chart.names)
    for short in chart.nodes:
        name = chart.names.get(short, short)
        if short in chart.names and name in taken:
            name = short
        renamed[short] = name
        taken.add(name)
    for short, body in chart.nodes.items():
        body["id"] = renamed[short]
        if isinstance(group := body.get("parentGroupId"), str):
            body["parentGroupId"] = renamed[group]
    for edge in chart.edges:
        edge["source"], edge["target"] = renamed[str(edge["source"])], renamed[str(edge["target"])]
    colors: dict[str, Item] = {}
    for pointer, item in chart.settings.items():
        head, _, rest = pointer.partition("/perNode/")
        short, _, part = rest.rpartition("/")
        colors[visuals.node_color(renamed[short], part) if rest else head] = item
    return document_of(list(chart.nodes.values()), list(chart.edges), colors)


def _laid_out(document: Document, direction: str) -> Document:
    """Return the document laid out; for RL and BT the layout is mirrored."""
    places = layout(document, "LR" if direction in ("LR", "RL") else "TB")
    nodes: dict[str, Item] = {}
    for key, item in document.nodes.items():
        x, y = places.get(key, (0.0, 0.0))
        width, height = size_of(document.settings, key)
        if direction == "RL":
            x = -x - width
        elif direction == "BT":
            y = -y - height
        nodes[key] = Item(item.rank, {**item.body, "position": {"x": x, "y": y}})
    return Document(nodes, document.edges, document.settings, document.top)
