"""Parameters that a document declares, wherever it does, and the values that fit them."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import JsonValue

from shared.declarations.documents import (
    declarations,
    front_matter_fault,
    in_front_matter,
    parameter_faults,
    parameters_schema,
)
from shared.declarations.parameters import parse_declaration
from tests.support.bounded import assert_reads

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


def test_the_lines_of_a_front_matter_s_parameters_are_told() -> None:
    declared = in_front_matter("title: x\n\nparams:\n\n  a: 1\n  'b': {default: 2}\n")
    assert [(each.name, line) for each, line in declared] == [("a", 4), ("b", 5)]
    assert [line for _, line in in_front_matter("params:\n- name: a\n  default: 1\n")] == [0]
    assert [line for _, line in in_front_matter("params:\n  - name: a\n    default: 1\n")] == [1]


@pytest.mark.parametrize(
    "front",
    [
        "params:\n" + "".join(f" p{n}: 1\n" for n in range(200)) + "\n" * 17_000,
        "params:\n" + "".join(f" p{n}: 1\n{' ' * 80}\n" for n in range(200)),
        "params: &a0 {x: 1}\n"
        + "".join(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 8)}]}}\n" for n in range(1, 9)),
        "params: " + "[" * 19_000,
    ],
    ids=["blank lines", "blanks", "merges", "brackets"],
)
def test_no_front_matter_takes_long(tmp_path: Path, front: str) -> None:
    code = """
    from shared.declarations.documents import declarations, front_matter_fault, parameters_schema
    declarations(text), front_matter_fault(text[4:-4]), parameters_schema(text)
    """
    assert_reads(code, f"---\n{front}\n---\n", tmp_path)


@pytest.mark.parametrize(
    ("pattern", "value", "fits"),
    [
        ("^[a-z]+$", "abc", True),
        ("^[a-z]+$", "ab1", False),
        ("(a+)+b", "a" * 5000 + "b", True),
        (r"^\d{4}-\d\d$", "2026-11", True),
        ("(?=x)y", "z", True),  # a lookahead is not checked
        ("(", "z", True),
    ],
)
def test_a_pattern_is_matched_in_linear_time(pattern: str, value: str, fits: bool) -> None:
    declaration = parse_declaration("x", f'str pattern="{pattern}"')
    if fits:
        assert declaration.fit(value) == value
    else:
        with pytest.raises(ValueError, match="has to match"):
            declaration.fit(value)


@pytest.mark.slow
@pytest.mark.parametrize("pattern", ["a?" * 200 + "a" * 100, "(a+)+c", "(a|a)*c", "(.*)(.*)(.*)(.*)x", "a{1,999}" * 9])
def test_no_pattern_takes_long(tmp_path: Path, pattern: str) -> None:
    code = """
    from shared.declarations.parameters import parse_declaration
    try:
        parse_declaration("x", f'str pattern="{text}"').fit("a" * 10_000)
    except ValueError:
        pass
    """
    assert_reads(code, pattern, tmp_path)
