"""JSON schemas as vendors take them."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue


def closed(schema: Mapping[str, JsonValue]) -> tuple[dict[str, JsonValue], bool]:
    """The schema with its objects closed where nothing else is said, and whether vendors' strict mode can hold it.

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
