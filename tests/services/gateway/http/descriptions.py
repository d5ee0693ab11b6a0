"""What a description may not say of its schema, as far as a program can judge it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

Schema: TypeAlias = Mapping[str, Any]

#: How a text begins, and the JSON types of which it can be true; an enum is a string.
_BEGINNINGS = {
    r"Whether ": {"boolean", "enum"},
    r"(Number|Maximum number|Minimum number|Mean|Median|Share|Percentage) ": {"integer", "number"},
    r"(Seconds|Bytes|Pixels|Tokens|Turn of|Position|Probability|Price of|Cost|Duration|Size in) ?": {
        "integer",
        "number",
    },
    r"Time (at|of|until) ": {"date-time"},
    r"(Id|Name|URL path|URL|Path|Text) of ": {"string", "integer"},
}
#: The end of a field's name, and what its text has to mention.
_UNITS = {
    "seconds": r"[Ss]econds?\b",
    "ms": r"millisecond",
    "mb": r"megabyte",
    "bytes": r"[Bb]yte",
    "usd": r"US dollar",
    "tokens": r"[Tt]oken",
}
_IN_UNIT = re.compile(r"\bin (seconds|milliseconds|bytes|megabytes|pixels|tokens|US dollars)\b")
_NUMBER = r"(\d[\d,]*(?:\.\d+)?)"


def leaves(schema: Schema, schemas: Mapping[str, Schema]) -> Iterator[str]:
    """Yield the JSON types of a schema's values: ``null``, ``enum``, ``date-time``, the name of an object ..."""
    if reference := schema.get("$ref"):
        name = str(reference).rpartition("/")[2]
        named = "enum" if "enum" in schemas[name] else name
        yield "any" if name == "JsonValue" else named
        return
    inner = [part for union in ("anyOf", "oneOf", "allOf") for part in schema.get(union, ())]
    inner += [*schema.get("prefixItems", ()), *([schema["items"]] if schema.get("items") else ())]
    if (values := _values(schema)) is not None:
        inner.append(values)
    for part in inner:
        yield from leaves(part, schemas)
    if not inner:
        yield schema["format"] if schema.get("format") == "date-time" else schema.get("type", "any")


def kind(schema: Schema) -> object:
    """Return what distinguishes the type of a field from another's; null and limits do not count."""
    if reference := schema.get("$ref"):
        return reference
    if union := schema.get("anyOf", schema.get("oneOf")):
        kinds = {kind(part) for part in union if part.get("type") != "null"}
        return kinds.pop() if len(kinds) == 1 else frozenset(kinds)
    if schema.get("type") == "array":
        return "array", kind(schema.get("items") or {}), *map(kind, schema.get("prefixItems", ()))
    if schema.get("type") == "object":
        inner = _values(schema)
        return "map", None if inner is None else kind(inner)
    return schema.get("type"), schema.get("format")


def _values(schema: Schema) -> Schema | None:
    """Return the schema of an object's values, where they have the same."""
    inner = next(iter(schema.get("patternProperties", {}).values()), schema.get("additionalProperties"))
    return inner if isinstance(inner, Mapping) else None


def contradictions(name: str, schema: Schema, parent: Schema, schemas: Mapping[str, Schema]) -> Iterator[str]:
    """Yield what the description of a field says that its schema does not."""
    text = schema["description"]
    types = set(leaves(schema, schemas))
    if "any" in types:
        return
    if re.search(r"\bnull\b", text) and "null" not in types:
        yield "speaks of null, which the schema does not allow"
    for beginning, fitting in _BEGINNINGS.items():
        if re.match(beginning, text) and not types & fitting:
            yield f"begins like {sorted(fitting)}, and the values are {sorted(types)}"
    if types <= {"boolean", "null"} and re.match(r"(Number|Id|Ids|Name|List|Time|Text|Maximum) ", text):
        yield "begins like a text or a number, and the values are booleans"
    if (unit := _IN_UNIT.search(text)) and not types & {"integer", "number"}:
        yield f"names the unit {unit[1]}, and the values are {sorted(types)}"
    if types & {"integer", "number"}:
        for ending, mention in _UNITS.items():
            if re.search(rf"(^|_){ending}$", name) and not re.search(mention, text):
                yield f"does not name the unit that {name} ends with"
    yield from _wrong_numbers(text, schema)
    yield from _wrong_values(text, schema, parent, schemas)


def _wrong_numbers(text: str, schema: Schema) -> Iterator[str]:
    """Yield the defaults and limits that differ from the schema's."""
    for default in re.findall(rf"[Dd]efaults?(?: is| to|:) `?(?:{_NUMBER}|true|false)", text):
        own = schema.get("default", schema.get("x-default"))  # request bodies hold it under the second name
        if str(own) != default.replace(",", ""):
            yield f"names the default {default}, and the schema has {own}"
    parts = [schema, *schema.get("anyOf", ())]
    for words, keys in (
        (rf"at most {_NUMBER}", ("maximum", "maxItems", "maxLength", "maxProperties")),
        (rf"greater than {_NUMBER}", ("exclusiveMinimum",)),
        (rf"\b{_NUMBER} to \d", ("minimum",)),
        (rf"\d to {_NUMBER}", ("maximum",)),
        (rf"[Nn]umber .*, from {_NUMBER}", ("minimum",)),
    ):
        allowed = {float(part[key]) for part in parts for key in keys if key in part}
        for number in re.findall(words, text):
            if allowed and float(number.replace(",", "")) not in allowed:
                yield f"names the limit {number}, and the schema has {sorted(allowed)}"


def _wrong_values(text: str, schema: Schema, parent: Schema, schemas: Mapping[str, Schema]) -> Iterator[str]:
    """Yield the values in backticks that an enum does not have."""
    values: set[str] = set()
    for part in (schema, *schema.get("anyOf", ())):
        target = schemas[part["$ref"].rpartition("/")[2]] if "$ref" in part else part
        values |= set(target.get("enum", ()))
    if values:
        for word in re.findall(r"`([a-z_]+)`", text):
            if word not in values | parent["properties"].keys():
                yield f"names the value {word}, which the enum does not have"
