"""What a format of requests and answers provides, whichever vendor uses it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

from pydantic import JsonValue

from shared.llm.call_clock import Watch
from shared.llm.chat import ChatReply, ChatRequest, TokenUsage
from shared.llm.faults import Part
from shared.llm.wires.endpoint import Endpoint
from shared.llm.wires.shapes import Json


class ReceivedAnswer(Protocol):
    """An answer while it arrives: in one piece, or as the events of a stream."""

    @property
    def usage(self) -> TokenUsage:
        """What the provider has counted so far; it was spent even if the answer breaks off."""
        ...

    def take_whole(self, answer: Json) -> None:
        """Take an answer that arrives whole. Raises: UnreadableAnswer."""
        ...

    def take_events(self, events: Iterable[Json], watch: Watch) -> None:
        """Read a stream to its end. Raises: StreamCut when it stops too early."""
        ...

    def reply(self, provider: str, request: ChatRequest) -> ChatReply:
        """Return the reply.

        Raises: ProviderFault for an unknown or bad finish reason, and for a tool call that is not a JSON object.
        """
        ...


class Wire(Protocol):
    """A format; the scripted server speaks its other side under the same name."""

    @property
    def name(self) -> str: ...

    def body(self, request: ChatRequest, endpoint: Endpoint, without: Collection[Part]) -> dict[str, JsonValue]:
        """Return the request without ``stream``, and without the parts that the model does not accept."""
        ...

    def answer(self) -> ReceivedAnswer:
        """Return an empty answer for one call."""
        ...

    def foreign(self, parameters: Mapping[str, JsonValue]) -> frozenset[str]:
        """Return the parameters that the format cannot hold, and that are left out."""
        ...


_CAPS = ("max_tokens", "max_completion_tokens")  #: the vendors' names for the most tokens of an answer


def capped(request: ChatRequest) -> tuple[dict[str, JsonValue], int]:
    """Return the parameters without the answer's cap, and the cap: the request's, or a smaller one of the
    parameters.
    """
    given = dict(request.parameters or {})
    caps = [cap for name in _CAPS if isinstance(cap := given.pop(name, None), int)]
    return given, min([request.max_tokens, *caps])


def closed(schema: Mapping[str, JsonValue]) -> tuple[dict[str, JsonValue], bool]:
    """Return the schema with its objects closed by default, and whether vendors' strict mode can hold it.

    Strict modes demand that every property is required and that no further one is allowed.
    """
    strict = True

    def visit(node: JsonValue) -> JsonValue:
        nonlocal strict
        if isinstance(node, list):
            return [visit(item) for item in node]
        if not isinstance(node, dict):
            return node
        visited_node = {name: visit(inner) for name, inner in node.items()}
        properties = visited_node.get("properties")
        if visited_node.get("type") == "object" and isinstance(properties, dict):
            visited_node.setdefault("additionalProperties", False)
            required = visited_node.get("required")
            if set(properties) != set(required if isinstance(required, list) else ()):
                strict = False
        if visited_node.get("type") == "object" and visited_node.get("additionalProperties") is not False:
            strict = False
        return visited_node

    visited = visit(dict(schema))
    return (visited if isinstance(visited, dict) else {}), strict
