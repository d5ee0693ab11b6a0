"""A call's parameters, read one by one; the error messages are those of the contract."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from shared.flows.document import MAX_COORDINATE, MAX_ID
from shared.flows.draft import Draft
from shared.flows.visuals import HEIGHT, WIDTH

MAX_LABEL = 10_000
MAX_REFERENCE = 1_000_000  #: whatever a saved document holds can be named; what it does not hold is not found
MAX_DESCRIPTION = 50_000


class CallFailed(Exception):
    """The call cannot be done; ``wanted`` is the name that was not found, for a suggestion."""

    def __init__(self, message: str, wanted: str | None = None) -> None:
        super().__init__(message)
        self.wanted = wanted


@dataclass(frozen=True)
class ToolResult:
    """What a call did."""

    node_id: str | None = None
    edge_id: str | None = None
    group_id: str | None = None
    did_change: bool | None = None


class Arguments:
    """The parameters of one call; ``null`` is the same as absent."""

    def __init__(self, params: Mapping[str, JsonValue]) -> None:
        self._given = {name: value for name, value in params.items() if value is not None}
        self._known = set[str]()

    def text(self, name: str, longest: int = MAX_ID) -> str | None:
        value = self.any(name)
        if value is None:
            return None
        if not isinstance(value, str):
            raise CallFailed(f"{name} must be a string")
        if len(value) > longest:
            raise CallFailed(f"{name} must be at most {longest} characters long")
        return writable(name, value)

    def needed(self, name: str, missing: str, longest: int = MAX_REFERENCE) -> str:
        """Return a required, non-empty text; ``missing`` is the error's message."""
        if not self.any(name) and not isinstance(self.any(name), (bool, int, float)):
            raise CallFailed(missing)
        text = self.text(name, longest)
        assert text is not None
        return text

    def flag(self, name: str) -> bool:
        value = self.any(name)
        if not isinstance(value, bool):
            raise CallFailed(f"{name} must be a boolean")
        return value

    def position(self) -> tuple[float, float] | None:
        value = self.any("position")
        if value is None:
            return None
        if not isinstance(value, dict) or set(value) != {"x", "y"}:
            raise CallFailed("position must be an object with x and y")
        return _coordinate(value["x"]), _coordinate(value["y"])

    def size(self) -> tuple[float, float] | None:
        """Width and height in pixels, within the limits of a node."""
        value = self.any("size")
        if value is None:
            return None
        if not isinstance(value, dict) or set(value) != {"width", "height"}:
            raise CallFailed("size must be an object with width and height")
        return _extent("width", value["width"], WIDTH), _extent("height", value["height"], HEIGHT)

    def look(self, name: str, allowed: Sequence[str]) -> str | None:
        """Return a shape or a line by its name."""
        value = self.any(name)
        return None if value is None else one_of(value, allowed, f"{name} must be one of: {', '.join(allowed)}")

    def texts(self, name: str, missing: str) -> list[str]:
        """Return a list of ids; anything else counts as missing."""
        value = self.any(name)
        if not isinstance(value, list):
            raise CallFailed(missing)
        texts = [item for item in value if isinstance(item, str)]
        if len(texts) != len(value):
            raise CallFailed(f"{name} must be a list of strings")
        return texts

    def any(self, name: str) -> JsonValue:
        self._known.add(name)
        return self._given.get(name)

    def no_more(self) -> None:
        """Refuse unknown parameters. Call this after reading all and before changing anything."""
        extra = sorted(set(self._given) - self._known)
        if extra:
            raise CallFailed(f"Unknown parameter: {extra[0][:100]}")


def writable(name: str, value: str) -> str:
    """Return the text if it can be stored as UTF-8 and read from any client's JSON."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise CallFailed(f"{name} must be well-formed text") from None
    if "\x00" in value:
        raise CallFailed(f"{name} must be well-formed text")
    return value


def _coordinate(value: JsonValue) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise CallFailed("position must have numbers for x and y")
    if not (isinstance(value, int) or math.isfinite(value)) or abs(value) > MAX_COORDINATE:
        raise CallFailed("position must have finite numbers for x and y")
    return value


def _extent(name: str, value: JsonValue, within: tuple[float, float]) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not within[0] <= value <= within[1]:
        raise CallFailed(f"size must have a {name} from {within[0]} to {within[1]}")
    return value


def existing_node(draft: Draft, node: str, sentence: str = "Node {} not found") -> str:
    if node not in draft.nodes:
        raise CallFailed(sentence.format(node), node)
    return node


def existing_edge(draft: Draft, edge: str) -> str:
    if edge not in draft.edges:
        raise CallFailed(f"Edge {edge} not found", edge)
    return edge


def one_of(value: JsonValue, allowed: Sequence[str], sentence: str) -> str:
    if isinstance(value, str) and value in allowed:
        return value
    raise CallFailed(sentence)
