"""Parameters that a document declares, wherever it does, and the values that fit them."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from shared.declarations.documents import declarations, front_matter_fault, parameter_faults, parameters_schema
from shared.declarations.parameters import parse_declaration

DOCUMENT = """---
params:
  region: {enum: [north, south], default: north}
  n: 3
---

How many: &[m]{int min=1 max=9 def=2}, not `&[code]{int}`.

<!-- &[hidden]{int} -->

```{python}
#| tags: [parameters]
rate = 0.5
```
"""


def test_front_matter_text_and_tagged_cells_declare() -> None:
    declared = declarations(DOCUMENT)
    assert {name: each.type for name, each in declared.items()} == {
        "region": "enum", "n": "int", "m": "int", "rate": "num",
    }  # fmt: skip
    assert [each.default for each in declared.values()] == ["north", 3, 2, 0.5]


def test_the_first_declaration_of_a_name_counts() -> None:
    assert declarations("&[n]{int def=1}\n\n&[n]{str def=x}\n")["n"].default == 1


@pytest.mark.parametrize(
    ("given", "faults"),
    [
        ({}, []),
        ({"m": 9, "region": "south"}, []),
        ({"m": 10}, ["m"]),
        ({"region": "west", "n": "3"}, ["region", "n"]),
        ({"unknown": 1}, ["unknown"]),
    ],
)
def test_each_value_that_does_not_fit_is_named(given: dict[str, JsonValue], faults: list[str]) -> None:
    assert list(parameter_faults(DOCUMENT, given)) == faults


def test_the_schema_has_every_parameter_and_nothing_else() -> None:
    schema = parameters_schema("&[m]{int min=1 max=9 def=2 label='How many'}\n")
    assert schema == {
        "type": "object",
        "properties": {"m": {"type": "integer", "minimum": 1, "maximum": 9, "title": "How many", "default": 2}},
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("braces", "type_"),
    [
        ("", "any"),
        ("def=1", "int"),
        ("def=1.5", "num"),
        ("def=true", "bool"),
        ("def=abc", "str"),
        ("maxlen=3", "str"),
        ("vals=[a, b]", "enum"),
        ("date", "date"),
    ],
)
def test_a_type_that_is_not_named_follows_from_bounds_and_default(braces: str, type_: str) -> None:
    assert parse_declaration("x", braces).type == type_


def test_a_front_matter_without_parameters_has_no_fault() -> None:
    assert front_matter_fault("title: [\n") is None
    assert front_matter_fault("params: [\n") is not None
