"""The flow as text for a model: all of it when that fits, else ids and labels, else the relevant part."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from pydantic import JsonValue

from shared.flows.document import (
    Document,
    Item,
    Json,
    Kind,
    description_of,
    group_of,
    is_group,
    label_of,
    position_of,
    text_of,
)

_CHARACTERS = 3.5  #: of JSON and names, to a token
_WORD = re.compile(r"\w{3,}")


def state_of(document: Document, message: str, tokens: int) -> str:
    """Return the flow in about that many tokens; the message decides which part of a very large one is relevant."""
    most = int(tokens * _CHARACTERS)
    roughly = 90 * (len(document.nodes) + len(document.edges))
    if roughly <= 2 * most:
        full = json.dumps(whole(document), indent=2, ensure_ascii=False)
        if len(full) <= most:
            return full
    nodes = [(key, _node_line(key, item.body)) for key, item in _ordered(document, Kind.NODE)]
    edges = [(key, _edge_line(key, item.body)) for key, item in _ordered(document, Kind.EDGE)]
    size = sum(len(line) + 1 for _, line in nodes) + sum(len(line) + 1 for _, line in edges)
    if size > most:
        nodes, edges = _relevant(document, message, nodes, edges, most)
    return "\n".join(
        [
            f"{len(document.nodes)} nodes, one a line as ID | label{_of(nodes, document.nodes)}:",
            *(line for _, line in nodes),
            f"{len(document.edges)} edges, one a line as ID | source -> target | label{_of(edges, document.edges)}:",
            *(line for _, line in edges),
        ]
    )


def whole(document: Document) -> Json:
    """Return every node and edge with the members that tools can change."""
    nodes: list[JsonValue] = [_node(key, item.body) for key, item in _ordered(document, Kind.NODE)]
    edges: list[JsonValue] = [_edge(key, item.body) for key, item in _ordered(document, Kind.EDGE)]
    return {"nodes": nodes, "edges": edges}


def _node(key: str, body: Json) -> Json:
    x, y = position_of(body)
    data: Json = {"label": label_of(body)}
    if description := description_of(body):
        data["description"] = description
    node: Json = {"id": key, "type": text_of(body, "type") or "default", "position": {"x": x, "y": y}, "data": data}
    if group := group_of(body):
        node["parentGroupId"] = group
    if is_group(body):
        node["isCollapsed"] = body.get("isCollapsed") is True
    return node


def _edge(key: str, body: Json) -> Json:
    edge: Json = {"id": key, "source": text_of(body, "source"), "target": text_of(body, "target")}
    if label := label_of(body):
        edge["data"] = {"label": label}
    return edge


def _node_line(key: str, body: Json) -> str:
    return f"{key} | {_line(label_of(body))}"


def _edge_line(key: str, body: Json) -> str:
    label = label_of(body)
    return f"{key} | {text_of(body, 'source')} -> {text_of(body, 'target')}" + (f" | {_line(label)}" if label else "")


def _line(text: str) -> str:
    return " ".join(text.split())[:200]


def _relevant(
    document: Document, message: str, nodes: Sequence[tuple[str, str]], edges: Sequence[tuple[str, str]], most: int
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Nodes that the message names, their neighbours, then the others in order, up to the limit; then their edges."""
    words = set(_WORD.findall(message.lower()))
    named = {key for key, line in nodes if words & set(_WORD.findall(line.lower()))}
    near = set(named)
    for item in document.edges.values():
        source, target = text_of(item.body, "source"), text_of(item.body, "target")
        if source in named or target in named:
            near |= {source, target}
    first = [pair for pair in nodes if pair[0] in named]
    first += [pair for pair in nodes if pair[0] in near - named] + [pair for pair in nodes if pair[0] not in near]
    shown = _within(first, most * 2 // 3)
    left = most - sum(len(line) + 1 for _, line in shown)
    ends = {key for key, _ in shown}
    bodies = {key: item.body for key, item in document.edges.items()}
    touching = [
        pair
        for pair in edges
        if text_of(bodies[pair[0]], "source") in ends and text_of(bodies[pair[0]], "target") in ends
    ]
    return shown, _within(touching, left)


def _within(pairs: Iterable[tuple[str, str]], most: int) -> list[tuple[str, str]]:
    shown: list[tuple[str, str]] = []
    for pair in pairs:
        most -= len(pair[1]) + 1
        if most < 0:
            break
        shown.append(pair)
    return shown


def _of(shown: Sequence[object], there: object) -> str:
    assert isinstance(there, dict)
    return "" if len(shown) == len(there) else f" (only {len(shown)} of them are shown)"


def _ordered(document: Document, kind: Kind) -> list[tuple[str, Item]]:
    return sorted(document.table(kind).items(), key=lambda pair: pair[1].rank)
