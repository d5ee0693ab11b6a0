"""Calls written as YAML or TOML."""

from __future__ import annotations

import tomllib

import yaml
from pydantic import JsonValue

from shared.plain_yaml import NotPlain, nodes

MAX_VALUES = 20_000
_MAX_CHARACTERS = 200_000
_NULLS = ("", "~", "null")


def data_in(text: str) -> JsonValue:
    """Return the value of a text that is YAML or TOML as a whole; None when it is neither a mapping nor a list.

    Scalars stay texts: the tool's definition says which are numbers, and a label may be ``No``.
    """
    if len(text) > _MAX_CHARACTERS or not any(mark in text for mark in (":", "=")):
        return None
    try:
        roots = [_value(root) for _, root in nodes(text, most=MAX_VALUES)]
    except NotPlain:
        return _toml(text)
    if len(roots) > 1:
        return roots if all(isinstance(root, dict) for root in roots) else None
    return roots[0] if roots and isinstance(roots[0], (dict, list)) else _toml(text)


def _value(node: yaml.Node) -> JsonValue:
    if isinstance(node, yaml.MappingNode):
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        if len(set(keys)) < len(node.value):
            raise NotPlain("a key twice, or one that is not a text")
        return {str(key.value): _value(value) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [_value(item) for item in node.value]
    plain = isinstance(node, yaml.ScalarNode) and node.style is None
    return None if plain and node.value in _NULLS else str(node.value)


def _toml(text: str) -> JsonValue:
    try:
        tables = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return None
    return _plain(tables)


def _plain(value: object) -> JsonValue:
    """Return a value of TOML as JSON has it; dates as texts."""
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value if isinstance(value, (str, int, float, bool)) else str(value)
