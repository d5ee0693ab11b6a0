"""A manifest knows the lines of what it says."""

from __future__ import annotations

import pytest

from services.stacks.manifests.model import Manifest, dig, snippet, table, texts

TEXT = '{\n "engines": {\n  "node": ">=18"\n },\n "node": 1\n}\n'


def test_a_key_is_found_behind_its_section() -> None:
    manifest = Manifest("package.json", "package.json", "npm", TEXT)
    assert manifest.line_of("node", "engines") == 3
    assert manifest.line_of("nowhere") is None
    assert [manifest.offset_of(line) for line in (1, 2, 99)] == [0, 2, len(TEXT)]


def test_a_dependency_without_an_offset_is_searched_for() -> None:
    manifest = Manifest("package.json", "package.json", "npm", '{\n "dependencies": {\n  "koa": "2"\n }\n}')
    manifest.depend("koa", "2", "prod", section="dependencies")
    assert manifest.dependencies[0].line == 3


@pytest.mark.parametrize(
    ("line", "shown"), [("  a = 1  ", "a = 1"), ('"api_key": "hunter2"', '"api_key": ***'), ("x" * 500, "x" * 160), ("", None)]
)  # fmt: skip
def test_a_snippet_is_short_and_without_secrets(line: str, shown: str | None) -> None:
    assert snippet(f"first\n{line}\nlast", 2) == shown


def test_values_of_any_shape_are_read_as_what_they_should_be() -> None:
    assert table(["a"]) == {}
    assert texts(["a", 1, None, "b"]) == ["a", "b"]
    assert dig({"a": {"b": 1}}, "a", "b") == 1
    assert dig({"a": 3}, "a", "b") is None
