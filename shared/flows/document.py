"""A flow document: nodes, edges and visual settings as three tables of immutable items."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from operator import attrgetter

from pydantic import JsonValue

Json = dict[str, JsonValue]


class Kind(StrEnum):
    NODE = "node"
    EDGE = "edge"
    SETTING = "setting"  #: keys are JSON pointers, bodies ``{"value": leaf}``


@dataclass(frozen=True, slots=True)
class Item:
    """An element and its place in the list; the body is never changed in place."""

    rank: int
    body: Json


Table = Mapping[str, Item]

MAX_COORDINATE = 1e15
MAX_ID = 256  #: characters

_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"
_NOT_PLAIN = re.compile(r"[^a-z0-9]+")
_NOT_WORD = re.compile(r"[\W_]+")

#: Keys and members with this prefix never come from a client's tool call; they hold elements without an id.
_FOREIGN = "\x00"


@dataclass(frozen=True)
class Document:
    """One state of a flow; ``top`` is above every rank ever given, so that an order can always be restored."""

    nodes: Table = field(default_factory=dict)
    edges: Table = field(default_factory=dict)
    settings: Table = field(default_factory=dict)
    top: int = 0

    def table(self, kind: Kind) -> Table:
        if kind is Kind.NODE:
            return self.nodes
        return self.edges if kind is Kind.EDGE else self.settings

    def listed(self, kind: Kind) -> list[Json]:
        """Return the bodies of a kind, in order."""
        return [item.body for item in sorted(self.table(kind).values(), key=attrgetter("rank"))]


def document_of(nodes: Sequence[JsonValue], edges: Sequence[JsonValue], settings: Table | None = None) -> Document:
    """Return a document of the given lists, unchanged; tools cannot reach elements without an id."""
    return Document(_keyed(nodes, 0), _keyed(edges, len(nodes)), settings or {}, len(nodes) + len(edges))


def shown(document: Document, kind: Kind) -> list[JsonValue]:
    """Return the elements of a kind in the form of the API."""
    return [body.get(_FOREIGN, body) for body in document.listed(kind)]


def resembles(document: Document, other: Document) -> bool:
    """Return whether both documents look the same to a client."""
    return all(shown(document, kind) == shown(other, kind) for kind in (Kind.NODE, Kind.EDGE)) and {
        key: item.body for key, item in document.settings.items()
    } == {key: item.body for key, item in other.settings.items()}


def _keyed(values: Sequence[JsonValue], first_rank: int) -> dict[str, Item]:
    table: dict[str, Item] = {}
    for rank, value in enumerate(values, first_rank):
        body: Json = value if isinstance(value, dict) else {_FOREIGN: value}
        key = body.get("id")
        if not isinstance(key, str) or not key or key in table:
            key = f"{_FOREIGN}{rank}"
        table[key] = Item(rank, body)
    return table


def label_of(body: Mapping[str, JsonValue]) -> str:
    """Return the label of a node or an edge; empty without one."""
    return text_in(body.get("data"), "label") or ""


def description_of(body: Mapping[str, JsonValue]) -> str | None:
    return text_in(body.get("data"), "description")


def data_without(body: Mapping[str, JsonValue], name: str) -> Json:
    """Return a copy of an element's ``data`` without one member."""
    data = body.get("data")
    return {key: value for key, value in data.items() if key != name} if isinstance(data, dict) else {}


def text_in(value: JsonValue, name: str) -> str | None:
    inner = value.get(name) if isinstance(value, dict) else None
    return inner if isinstance(inner, str) else None


def text_of(body: Mapping[str, JsonValue], name: str) -> str:
    """Return a member that should be a string; empty when it is not."""
    value = body.get(name)
    return value if isinstance(value, str) else ""


def position_of(body: Mapping[str, JsonValue]) -> tuple[float, float]:
    """Return a node's position; 0, 0 without one."""
    position = body.get("position")
    if not isinstance(position, dict):
        return 0, 0
    return _number(position.get("x")), _number(position.get("y"))


def group_of(body: Mapping[str, JsonValue]) -> str:
    """Return the id of the group that a node is in, ours or React Flow's parent; empty for none."""
    return text_of(body, "parentGroupId") or relative_parent(body)


def relative_parent(body: Mapping[str, JsonValue]) -> str:
    """Return the node whose corner a position counts from: React Flow's ``parentId``, ``parentNode`` in version 11."""
    return text_of(body, "parentId") or text_of(body, "parentNode")


def corner_of(nodes: Table, key: str) -> tuple[float, float]:
    """Return a node's position in the diagram, whatever parents it is relative to."""
    x, y = position_of(nodes[key].body)
    seen = {key}
    while (key := relative_parent(nodes[key].body)) in nodes and key not in seen:
        seen.add(key)
        parent_x, parent_y = position_of(nodes[key].body)
        x, y = x + parent_x, y + parent_y
    return min(max(x, -MAX_COORDINATE), MAX_COORDINATE), min(max(y, -MAX_COORDINATE), MAX_COORDINATE)


def _number(value: JsonValue) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return 0
    return min(max(value, -MAX_COORDINATE), MAX_COORDINATE)


def is_group(body: Mapping[str, JsonValue]) -> bool:
    return body.get("type") == "group" or "isCollapsed" in body


def id_of_label(label: str) -> str:
    """``My Node`` becomes ``my_node``; a label without plain letters keeps its own script; no letters at all: empty."""
    plain = _NOT_PLAIN.sub("_", label.lower()).strip("_")
    return (plain or _NOT_WORD.sub("_", label.lower()).strip("_"))[:MAX_ID]


def random_id() -> str:
    """Milliseconds and nine random characters, so that ids made later sort later."""
    return f"{int(time.time() * 1000)}_{''.join(secrets.choice(_BASE36) for _ in range(9))}"
