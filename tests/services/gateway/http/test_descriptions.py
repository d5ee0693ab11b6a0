"""The texts of the API document: each schema and each field has one, and it is true of that field alone."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from shared.kinds import KINDS
from tests.services.gateway.http.descriptions import contradictions, kind

Schemas = dict[str, dict[str, Any]]


@pytest.fixture
def schemas(document: dict[str, Any]) -> Schemas:
    found: Schemas = document["components"]["schemas"]
    return found


def fields(schemas: Schemas) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield every property with its schema's and its own name."""
    for name, schema in schemas.items():
        for field, part in schema.get("properties", {}).items():
            yield name, field, part


def test_every_schema_and_every_field_says_what_it_means(schemas: Schemas) -> None:
    assert [name for name, schema in schemas.items() if not schema.get("description", "").strip()] == []
    silent = [f"{name}.{field}" for name, field, part in fields(schemas) if not part.get("description", "").strip()]
    assert silent == [], "write a docstring under the field"


def test_every_parameter_says_what_it_means(document: dict[str, Any]) -> None:
    silent = [
        f"{method} {path}: {parameter['name']}"
        for path, item in document["paths"].items()
        for method, operation in item.items()
        for parameter in operation.get("parameters", ())
        if not parameter.get("description", "").strip()
    ]
    assert silent == []


def test_no_text_serves_two_fields_of_different_type(schemas: Schemas) -> None:
    by_text: defaultdict[str, dict[tuple[str, object], str]] = defaultdict(dict)
    for name, field, part in fields(schemas):
        by_text[part["description"]].setdefault((_declared(name, field), kind(part)), f"{name}.{field}")
    shared = {
        text: list(places.values())
        for text, places in by_text.items()
        if len({of for _, of in places}) > 1 and len({where for where, _ in places}) > 1
    }
    assert shared == {}


def _declared(schema: str, field: str) -> str:
    """Return where the field is written: a page's items and a job's input are of many types and one text."""
    if schema.startswith("Page_"):
        return f"Page.{field}"
    return (
        f"JobRequest.{field}" if schema in {each.request.__name__ for each in KINDS.values()} else f"{schema}.{field}"
    )


def test_no_text_contradicts_its_schema(schemas: Schemas) -> None:
    wrong = [
        f"{name}.{field} ({part['description']}): {contradiction}"
        for name, field, part in fields(schemas)
        for contradiction in contradictions(field, part, schemas[name], schemas)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("field", "part"),
    [
        ("error", {"type": "string", "description": "Why it failed; null otherwise"}),
        ("done", {"type": "string", "description": "Whether it is done"}),
        ("done", {"type": "boolean", "description": "Number of jobs that are done"}),
        ("rows", {"type": "string", "description": "Number of rows"}),
        ("ended", {"type": "string", "description": "Time of the end"}),
        ("files", {"type": "boolean", "description": "Ids of the files"}),
        ("wait", {"type": "string", "description": "Longest wait in seconds"}),
        ("wait_seconds", {"type": "number", "description": "How long it waits in minutes"}),
        ("limit", {"type": "integer", "default": 50, "description": "Entries on a page. Default: 20"}),
        ("jobs", {"type": "array", "items": {}, "maxItems": 1000, "description": "Jobs, at most 500"}),
        ("share", {"type": "number", "maximum": 1, "description": "A share, 0 to 100"}),
        ("state", {"$ref": "#/components/schemas/State", "description": "`open` or `shut`"}),
    ],
    ids=lambda value: value if isinstance(value, str) else value["description"],
)
def test_a_text_that_contradicts_its_schema_is_noticed(field: str, part: dict[str, Any]) -> None:
    schemas = {"State": {"type": "string", "enum": ["open", "closed"]}}
    assert list(contradictions(field, part, {"properties": {field: part}}, schemas)) != []


def test_every_enum_is_named_once(document: dict[str, Any]) -> None:
    inline: list[str] = []
    schemas = document["components"]["schemas"]

    def walk(value: object, path: str) -> None:
        if isinstance(value, dict):
            if "enum" in value and not re.fullmatch(r"/components/schemas/\w+", path):
                inline.append(path)
            for name, inner in value.items():
                walk(inner, f"{path}/{name}")
        elif isinstance(value, list):
            for position, inner in enumerate(value):
                walk(inner, f"{path}/{position}")

    walk({"components": {"schemas": schemas}, "paths": document["paths"]}, "")
    assert inline == []
    values = [tuple(sorted(schema["enum"])) for schema in schemas.values() if "enum" in schema]
    assert len(values) == len(set(values))
