"""What code sets, uses and defines, read from its text."""

from __future__ import annotations

import pytest

from services.execution.languages.table import analysis_of, fault_of, names_of


@pytest.mark.parametrize(
    ("language", "code", "sets", "uses"),
    [
        ("python", "a = b + 1", {"a"}, {"b"}),
        ("python", "a += 1", {"a"}, {"a"}),
        ("python", "items.append(x)", {"items"}, {"items", "x"}),
        ("python", "frame['c'] = other.d", {"frame"}, {"frame", "other"}),
        ("python", "def f():\n    inner = outer\n    return inner", {"f"}, {"outer", "inner"}),
        ("python", "import pandas as pd", {"pd"}, set()),
        ("python", "this is no Python", set(), set()),
        ("r", "x <- y\nz$a = 'not <- this'", {"x", "z"}, {"x", "y", "z"}),
        ("javascript", "const a = b.c; d = 2", {"a", "d"}, {"a", "b", "d"}),
        ("sql", "create or replace table t as select * from u", {"t"}, {"t", "u"}),
        ("fortran", "x = y", set(), set()),
    ],
)
def test_names_are_read_from_the_text_of_each_language(
    language: str, code: str, sets: set[str], uses: set[str]
) -> None:
    names = names_of(language, code)
    assert names.sets == sets
    assert names.uses >= uses


def test_definitions_are_all_that_makes_the_same_names_again_without_running_the_rest() -> None:
    code = "import json\nslow = compute()\ndef f(x):\n    return x\nclass C: pass"
    assert analysis_of("python").definitions(code).splitlines()[0] == "import json"
    assert "slow" not in analysis_of("python").definitions(code)
    assert names_of("python", code).defines == {"json", "f", "C"}
    assert analysis_of("r").definitions(code) == ""


def test_a_syntax_error_has_its_line_where_the_language_is_checked() -> None:
    fault = fault_of("python", "a = 1\nb = = 2")
    assert fault is not None
    assert (fault.line, fault.text.startswith("SyntaxError")) == (2, True)
    assert fault_of("python", "a = 1") is None
    assert fault_of("r", "b = = 2") is None
