"""Heavy words are counted in every kind of text, and named with their place when a kind has too many."""

from __future__ import annotations

import pytest

from scripts.check_words import NO_LIMIT, counted, report, texts_of, vague_names

_PYTHON = '''"""Rows of the file.

This line is told of them.
"""

# whoever reads this
raise ValueError("the file is no table of this server")
'''


def _places(name: str, source: str) -> list[tuple[str, int, str]]:
    _, places = counted(texts_of(name, source))
    return [(kind, text.line, word) for kind, found in places.items() for text, word in found]


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        (
            "services/rows.py",
            _PYTHON,
            [("code: docstrings", 3, "tell"), ("code: messages", 7, "is no"), ("code: comments", 6, "nobody")],
        ),
        ("tests/test_rows.py", _PYTHON, [("tests: docstrings", 3, "tell"), ("tests: comments", 6, "nobody")]),
        ("benchmarks/rows.py", _PYTHON, [("benchmarks: docstrings", 3, "tell"), ("benchmarks: comments", 6, "nobody")]),
        ("docs/rows.md", "Rows.\n\nRows stand\nbeside it.\n", [("pages", 3, "stand"), ("pages", 4, "beside")]),
        ("services/prompts/rows.md", "Look at the rows.", [("prompts", 1, "look at")]),
        ("console/src/rows.tsx", "// one\n/* all rows are\n   written anew */", [("console", 3, "anew")]),
        ("console/src/rows.tsx", "const x = <p>The rows go on below</p>;", [("console", 1, "goes on")]),
        ("console/tests/rows.ts", "// nobody reads this row", [("console: tests", 1, "nobody")]),
    ],
)
def test_a_heavy_word_is_found_with_its_kind_and_line(
    name: str, source: str, expected: list[tuple[str, int, str]]
) -> None:
    assert sorted(_places(name, source)) == sorted(expected)


@pytest.mark.parametrize(
    "source",
    [
        "There is no file of this name, and no row of it is longer.",
        "Call `tell(beside)` or ``ask `this` anew``.",
        "The [reason](0001-outputs-stand-beside-it.md) is known.",
        "````text\n```\nasks `nobody\n```\nstands beside\n````\n",
        "~~~\nasks nobody\n~~~\n",
    ],
)
def test_plain_words_and_code_are_not_counted(source: str) -> None:
    assert _places("docs/page.md", source) == []


def test_a_span_that_is_not_closed_hides_no_other_paragraph() -> None:
    source = "One ` too many.\n\nRows stand beside it.\n\nAnother ` here.\n"
    assert _places("docs/page.md", source) == [("pages", 3, "stand"), ("pages", 3, "beside")]


def test_a_kind_over_the_limit_is_reported_with_every_place() -> None:
    plain = "word " * 997
    lines, over = report(texts_of("docs/page.md", f"{plain}\nNobody reads this.\n"))
    assert (lines, over) == ([], False), "one in a thousand is allowed"
    lines, over = report(texts_of("docs/page.md", f"{plain}\nNobody reads this.\nRows stand here.\n"))
    assert over
    assert lines[0].startswith("docs/page.md:2: 'nobody': use no one")
    assert lines[1].startswith("docs/page.md:3: 'stand': use is, appears")
    assert lines[2] == "pages: 2 in 1,003 words, 2.0 in a thousand (at most 1)"


def test_prompts_have_no_limit_and_say_why() -> None:
    heavy = [*texts_of("services/prompts/rows.md", "Tell nobody.")]
    assert report(heavy) == ([], False)
    lines, over = report(heavy, every=True)
    assert not over
    assert lines[-1] == f"prompts: 2 in 2 words, 1000.0 in a thousand (no limit: {NO_LIMIT['prompts']})"


def test_a_variable_with_a_vague_name_is_listed() -> None:
    source = "def read(told):\n    found = told.found\n    return [row for it in found for row in it]\n"
    assert [place.partition(": say")[0] for place in vague_names("services/rows.py", source)] == [
        "services/rows.py:1: name 'told'", "services/rows.py:2: name 'found'", "services/rows.py:3: name 'it'",
    ]  # fmt: skip
    assert list(vague_names("services/rows.py", "class Row:\n    found: int\n\n\nprint(Row.found)\n")) == []
