"""What is read from another program's file, and the notes of what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from shared.flows.document import Json


@dataclass
class ForeignFlow:
    """Nodes and edges as a client would send them; ``left_out`` are sentences by the member of the file they are of."""

    program: str
    name: str | None = None
    nodes: list[JsonValue] = field(default_factory=list)
    edges: list[JsonValue] = field(default_factory=list)
    settings: Json = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    _members: dict[str, Counter[str]] = field(default_factory=dict)
    _ids: set[str] = field(default_factory=set)

    def add_node(self, key: str, label: str, x: float, y: float, **more: JsonValue) -> Json:
        node: Json = {"id": key, "type": "default", "position": {"x": x, "y": y}, "data": {"label": label}, **more}
        self.nodes.append(node)
        return node

    def add_edge(self, source: str, target: str, label: str = "", **data: JsonValue) -> None:
        edge: Json = {"id": self.free(f"e{len(self.edges) + 1}"), "source": source, "target": target}
        if label:
            data["label"] = label
        self.edges.append({**edge, "data": data} if data else edge)

    def free(self, wanted: str) -> str:
        """Return the id, numbered when it is taken."""
        key, number = wanted, 2
        while key in self._ids:
            key, number = f"{wanted}_{number}", number + 1
        self._ids.add(key)
        return key

    def drop(self, of: str, body: Mapping[str, JsonValue], kept: Iterable[str]) -> None:
        """Note the members of a body that are not kept, unless they are empty."""
        counted = self._members.setdefault(of, Counter())
        empty: tuple[JsonValue, ...] = (None, "", [], {}, False)
        counted.update(name for name, value in body.items() if name not in {*kept} and value not in empty)

    def sentences(self) -> Iterable[tuple[str, str]]:
        """Yield a member of the file and what was left out there."""
        for of, counted in self._members.items():
            for name, count in counted.items():
                yield name, f"`{name}` of {count} {of if count > 1 else of.removesuffix('s')} was left out"
        yield from self.left_out.items()


def text_at(value: JsonValue, *path: str) -> str:
    """Return the text at a path of members; empty when there is none."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value.strip() if isinstance(value, str) else ""


def number_at(value: JsonValue, name: str, default: float = 0) -> float:
    number = value.get(name) if isinstance(value, dict) else None
    return number if isinstance(number, (int, float)) and not isinstance(number, bool) else default


def objects(value: JsonValue) -> list[Json]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
