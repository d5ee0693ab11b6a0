"""Every error of pydantic in plain words, and every form of a text said in words."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterable, Iterator
from typing import Any, get_args

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core.core_schema import ErrorType

import shared.contracts
from assay.mcp import inputs
from shared.faults import field_fault, worded

#: Words that only programmers of Python or of pydantic use, and signs of a regular expression.
_PRIVATE = re.compile(
    r"input|valid\b|dictionary|instance|pattern|parse|permitted|tuple|frozenset|string|iterable|discriminator|[\^$\\]|\{[0-9]"
)
_CONTEXT: dict[str, Any] = {
    "gt": 1, "ge": 1.0, "lt": 1, "le": 10, "multiple_of": 5, "min_length": 1, "max_length": 10, "actual_length": 11,
    "field_type": "List", "expected": "'a' or 'b'", "expected_tags": "'a', 'b'", "tag": "c", "discriminator": "'kind'",
    "pattern": "^x$", "class_name": "Model", "class": "Model", "error": "error", "encoding": "utf-8", "max_digits": 5,
    "encoding_error": "error", "decimal_places": 2, "whole_digits": 3, "expected_schemes": "https://", "attribute": "a",
    "expected_version": 4, "tz_expected": 0, "tz_actual": 1, "method_name": "m",
}  # fmt: skip


def _known() -> list[str]:
    return [each for each in get_args(ErrorType) if each not in ("value_error", "assertion_error")]


@pytest.mark.parametrize("kind", _known())
def test_an_error_of_pydantic_is_worded_plainly(kind: str) -> None:
    said = worded({"type": kind, "msg": "Input should be a valid dictionary", "ctx": _CONTEXT, "loc": ("field",)})
    assert said.startswith(("is ", "must ")), said
    assert not _PRIVATE.search(said), said
    assert field_fault("field", said) == f"field {said}"


@pytest.mark.parametrize("kind", ["value_error", "assertion_error"])
def test_a_text_of_our_own_stays(kind: str) -> None:
    said = worded({"type": kind, "msg": "Value error, give one of them", "loc": ()})
    assert said == "give one of them"
    assert field_fault("field", said) == "field: give one of them"
    assert field_fault("", said) == said


def test_an_error_type_of_our_own_keeps_its_text() -> None:
    assert worded({"type": "source_not_allowed", "msg": "the host is private", "loc": ()}) == "the host is private"


@pytest.mark.parametrize(
    ("annotation", "value", "said"),
    [
        (int, "abc", "must be a whole number"),
        (dict[str, int], 3, 'must be an object, such as {"name": "value"}'),
        (list[int], {}, "must be a list"),
        (bool, "maybe", "must be true or false"),
    ],
)
def test_what_a_value_must_be_instead(annotation: Any, value: object, said: str) -> None:
    with pytest.raises(ValidationError) as refused:
        TypeAdapter(annotation).validate_python(value)
    assert [worded(each) for each in refused.value.errors()] == [said]


def _models() -> Iterator[type[BaseModel]]:
    modules = [
        importlib.import_module(each.name)
        for each in pkgutil.walk_packages(shared.contracts.__path__, "shared.contracts.")
    ]
    for module in [*modules, inputs]:
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, BaseModel) and value.__module__ == module.__name__:
                yield value


def patterns_of(schema: object) -> Iterator[str]:
    """Yield the patterns of texts in a JSON Schema."""
    if isinstance(schema, dict):
        if schema.get("type") == "string" and isinstance(schema.get("pattern"), str):
            yield schema["pattern"]
        for value in schema.values():
            yield from patterns_of(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from patterns_of(value)


def without_words(patterns: Iterable[str]) -> set[str]:
    """Return the patterns that people are not given in words."""
    error = {"type": "string_pattern_mismatch", "msg": ""}
    said = {pattern: worded({**error, "ctx": {"pattern": pattern}}) for pattern in patterns}
    return {pattern for pattern, words in said.items() if _PRIVATE.search(words) or "of the form that" in words}


def test_every_form_of_a_text_is_said_in_words() -> None:
    schemas = [model.model_json_schema(mode="validation") for model in _models()]
    seen = set(patterns_of(schemas))
    assert len(seen) > 10
    assert not without_words(seen)
