"""Code is recognized in another layout, and never mistaken for other code."""

from __future__ import annotations

import pytest

from services.execution.transform.normal_form import normalised


@pytest.mark.parametrize(
    ("language", "one", "two"),
    [
        ("python", "result = data[data['a']>3]", 'result   =  data[ data["a"] > 3 ]  # more than three'),
        ("python", "result = f(a, b)", "result = f(\n    a,\n    b\n)\n\n"),
        ("python", "# first\nx = 1\n\n\nresult = x", "x = 1\nresult = x  # done"),
        ("python", "x = 1\r\nresult = x", "x = 1\nresult = x"),
        ("python", "if x:\n\ty = 1", "if x:\n    y = 1"),
        ("python", "import pandas as pd\nresult = data", "result = data"),
        ("sql", "SELECT a,b FROM t -- all", "SELECT a , b\tFROM t"),
        ("r", "result <- data|>head(2)", "result <- data |> head( 2 ) # two"),
    ],
)
def test_layout_does_not_count(language: str, one: str, two: str) -> None:
    assert normalised(one, language) == normalised(two, language)


@pytest.mark.parametrize(
    ("language", "one", "two"),
    [
        ("python", "result = data['a b']", "result = data['ab']"),
        ("python", "result = '# a'", "result = '# b'"),
        ("python", "x = not_in", "x = not in"),
        ("python", "if x:\n    y = 1\nz = 2", "if x:\n    y = 1\n    z = 2"),
        ("python", "x = 'it\"s'", "x = 'its'"),
        ("python", "x = '''a\n b'''", "x = '''a\nb'''"),
        ("r", "x <- 1", "x < -1"),
        ("r", "d[1, ]", "d[1]"),
        ("sql", "SELECT 'a' FROM t", 'SELECT "a" FROM t'),
        ("sql", "SELECT 1 - -1", "SELECT 1 --1"),
        ("sql", "SELECT a FROM t ORDER BY #1", "SELECT a FROM t ORDER BY #2"),
    ],
)
def test_meaning_counts(language: str, one: str, two: str) -> None:
    assert normalised(one, language) != normalised(two, language)
