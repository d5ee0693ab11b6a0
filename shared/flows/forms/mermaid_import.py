"""Mermaid flowcharts read as flows; a line that is not understood is reported by its number, never dropped silently."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
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

_HEADER = re.compile(r"(?:graph|flowchart)(?:\s+(TD|TB|LR|RL|BT))?\s*;?\s*\Z")
_ID_COMMENT = re.compile(r"%% id (\S+) (\".*\")\Z")
_CLASS_DEF = re.compile(r"classDef\s+default\s+(.+)\Z")
_STYLE = re.compile(r"style\s+(\S+)\s+(.+)\Z")
_PART_OF = {"fill": "background", "stroke": "border", "color": "text"}
_LABEL = 10_000
_MOST_WARNINGS = 1_000


@dataclass
class _Chart:
    nodes: dict[str, Json] = field(default_factory=dict)
    edges: list[Json] = field(default_factory=list)
    settings: dict[str, Item] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)  #: real ids by short ones
    open_groups: list[str] = field(default_factory=list)
    warnings: list[ImportWarning] = field(default_factory=list)


def read_mermaid(text: str) -> tuple[Document, list[ImportWarning]]:
    """The flow of a flowchart, laid out.

    Raises: InvalidRequest when it is not a flowchart, FlowTooLarge.
    """
    chart, direction = _Chart(), ""
    for number, statement in _statements(text):
        if not direction:
            header = _HEADER.match(statement)
            if header is None:
                message = f"line {number}: a flowchart begins with `flowchart LR` or `graph TD`"
                raise InvalidRequest(message, [(["body", "text"], message)])
            direction = header[1] or "TB"
            continue
        try:
            understood = _read(chart, statement)
        except Unsupported:
            understood = False
        if not understood and len(chart.warnings) < _MOST_WARNINGS:
            chart.warnings.append(ImportWarning(line=number, text=statement[:500]))
    if not direction:
        message = "the text holds no flowchart"
        raise InvalidRequest(message, [(["body", "text"], message)])
    return _laid_out(_document(chart), direction), chart.warnings


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """The statements with their line numbers: comments are gone, except those that keep ids."""
    front_matter = _front_matter(text)
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()  # noqa: PLW2901
        if number <= front_matter:
            continue
        if line.startswith("%%"):
            if _ID_COMMENT.match(line) or line.startswith("%%{"):
                yield number, line
            continue
        for part in _split_line(line):
            if part.strip():
                yield number, part.strip()


def _front_matter(text: str) -> int:
    """The number of lines of front matter: a title between two lines of dashes."""
    lines = [line.strip() for line in text.split("\n", 200)[:200]]
    begin = next((index for index, line in enumerate(lines) if line), 0)
    if lines[begin] != "---" or "---" not in lines[begin + 1 :]:
        return 0
    return lines.index("---", begin + 1) + 1


def _split_line(line: str) -> list[str]:
    """The parts between semicolons, but not those inside quotes or at the end of an entity such as ``#quot;``."""
    parts, start, quoted = [], 0, False
    for index, char in enumerate(line):
        if char == '"':
            quoted = not quoted
        elif char == ";" and not quoted and not re.search(r"#\w{1,10}\Z", line[max(0, index - 12) : index]):
            parts.append(line[start:index])
            start = index + 1
    return [*parts, line[start:]]


def _read(chart: _Chart, statement: str) -> bool:
    """Whether all of the statement was understood. Raises: Unsupported, with the chart untouched."""
    if match := _ID_COMMENT.match(statement):
        _rename(chart, match[1], match[2])
    elif statement == "end":
        if not chart.open_groups:
            raise Unsupported
        chart.open_groups.pop()
    elif re.match(r"subgraph\b", statement):
        _open_group(chart, statement)
    elif match := _CLASS_DEF.match(statement):
        _color(chart, None, match[1])
    elif match := _STYLE.match(statement):
        _color(chart, match[1], match[2])
    else:
        chain = read_chain(statement)
        _add(chart, chain)
        return chain.complete
    return True


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


def _open_group(chart: _Chart, statement: str) -> None:
    group = read_subgraph(statement, len(chart.nodes) + 1)
    _mention(chart, group)
    chart.nodes[group.name]["isCollapsed"] = False
    chart.nodes[group.name]["type"] = "group"
    chart.open_groups.append(group.name)


def _add(chart: _Chart, chain: Chain) -> None:
    pairs = sum(len(before) * len(after) for before, after in zip(chain.stations, chain.stations[1:], strict=False))
    if len(chart.edges) + pairs > MAX_EDGES:
        raise too_large(len(chart.nodes), len(chart.edges) + pairs)
    for station in chain.stations:
        for reference in station:
            _mention(chart, reference)
    for link, before, after in zip(chain.links, chain.stations, chain.stations[1:], strict=False):
        for source in before:
            for target in after:
                data: Json = {"label": link.label} if link.label else {}
                if link.line != "arrow":
                    data["line"] = link.line
                edge: Json = {"id": f"e{len(chart.edges) + 1}", "source": source.name, "target": target.name}
                chart.edges.append({**edge, "data": data} if data else edge)


def _mention(chart: _Chart, reference: NodeMention) -> None:
    """Add or update a node: its last label counts, and the first group that it is mentioned in."""
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
    if reference.shape not in (None, "rect"):
        data["shape"] = reference.shape
    if chart.open_groups and "parentGroupId" not in body and reference.name not in chart.open_groups:
        body["parentGroupId"] = chart.open_groups[-1]


def _color(chart: _Chart, node: str | None, style: str) -> None:
    """Read ``fill:#fff,stroke:red``; other properties are not supported."""
    parts = [part.partition(":") for part in style.split(",")]
    styles = {name.strip(): value.strip() for name, _, value in parts}
    if node is not None and node not in chart.nodes:
        raise Unsupported
    if styles == {"fill": "none"}:
        return
    if not set(styles) <= set(_PART_OF) or not all(is_color(value) for value in styles.values()):
        raise Unsupported
    for name, value in styles.items():
        part = _PART_OF[name]
        pointer = visuals.all_nodes_color(part) if node is None else visuals.node_color(node, part)
        if node is not None or value != visuals.DEFAULTS[pointer]:
            chart.settings[pointer] = Item(0, {"value": value})


def _document(chart: _Chart) -> Document:
    """The chart with the real ids, as far as they do not collide."""
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
    """The document laid out; for RL and BT the layout is mirrored."""
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
