"""Definitions as YAML: what is read, what is refused and where, and how a text continues."""

from __future__ import annotations

from typing import Any

import pytest

from shared.contracts.definitions import Definition
from shared.errors import InvalidRequest
from shared.stacks.reading import extended, read_definitions, written

BLORB = """\
# ours
definitions:
  - id: blorb
    kind: build_system
    name: Blorb
    files: [Blorbfile, "*.blorb"]
  - id: acme
    kind: framework
    name: Acme
    dependencies:
      - {ecosystem: npm, name: "@acme/core"}
    weight: 0.7
"""


def refused(text: str) -> list[tuple[list[Any], str]]:
    with pytest.raises(InvalidRequest) as raised:
        read_definitions(text)
    errors: Any = raised.value.extra["errors"]
    return [(error["loc"], error["msg"]) for error in errors]


def test_a_set_is_a_list_under_definitions_or_the_list_itself() -> None:
    definitions = read_definitions(BLORB)
    assert [(definition.id, definition.kind, definition.weight) for definition in definitions] == [
        ("blorb", "build_system", 0.9),
        ("acme", "framework", 0.7),
    ]
    bare = "\n".join(line[2:] for line in BLORB.splitlines()[2:])
    assert read_definitions(bare) == definitions


@pytest.mark.parametrize("text", ["", "# nothing\n", "definitions:\n", "definitions: []\n", "[]"])
def test_an_empty_set_is_a_set(text: str) -> None:
    assert read_definitions(text) == []


def test_what_is_wrong_is_told_with_its_field_and_line() -> None:
    text = "definitions:\n  - id: Blorb\n    kind: tool\n    name: B\n    files: [x]\n    color: red\n"
    told = refused(text)
    assert {tuple(loc) for loc, _ in told} == {
        ("body", "yaml", "definitions", 0, "id"), ("body", "yaml", "definitions", 0, "kind"),
        ("body", "yaml", "definitions", 0, "color"),
    }  # fmt: skip
    assert [message.partition(":")[0] for _, message in told] == ["line 2", "line 3", "line 6"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: &x [1]\nb: *x\n", "anchors"),
        ("- !!python/object/apply:os.system [id]\n", "tags"),
        ("- !!str x\n", "tags"),
        ("[" * 50 + "]" * 50, "more than a list"),
        ("--- []\n--- []\n", "more than one document"),
        ("a: [\n", "line 2"),
        ("text", "give a list"),
        ("more: 1\n", "no field more"),
        ("definitions: {a: 1}\n", "give a list"),
        ("definitions:\n- id: a\ndefinitions:\n- id: a\n- id: b\n", "twice"),
        ("- 3\n", "line 1"),
        ("- {id: a, kind: language, name: A}\n", "give files or dependencies"),
        ("- {id: a, kind: language, name: A, files: ['*']}\n", "fits every file"),
        ("- {id: a, kind: language, name: A, files: [/etc/passwd]}\n", "not a pattern"),
        ("- {id: a, kind: language, name: A, files: ['../x']}\n", "not a pattern"),
        ("- {id: a, kind: language, name: A, files: [x], weight: .nan}\n", "line 1"),
        ("- {id: no, kind: language, name: off, files: [x]}\n", "must be text"),
        ("- {id: a, kind: language, name: A, files: [x]}\n- {id: a, kind: language, name: B, files: [y]}\n", "two"),
        ("x: \x00\n", "not valid YAML"),
        ("# " + "x" * (256 << 10), "256 kB"),
        ("".join(f"- {{id: a{n}, kind: language, name: A, files: [x{n}]}}\n" for n in range(201)), "200"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(text: str, why: str) -> None:
    assert why in "; ".join(message for _, message in refused(text))


def test_nested_aliases_are_refused_before_anything_is_built() -> None:
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 20))
    assert "anchors" in refused(bomb)[0][1]


def test_what_is_written_is_what_was_read() -> None:
    definitions = read_definitions(BLORB)
    assert read_definitions(written(definitions)) == definitions


NEW = Definition(id="zorp", kind="language", name="Zorp", files=["*.zorp"])


@pytest.mark.parametrize("text", [BLORB, BLORB.partition("  - id: acme")[0], "", "# only a comment\n"])
def test_a_text_goes_on_with_its_comments_where_it_can(text: str) -> None:
    longer = extended(text, read_definitions(text), NEW)
    assert read_definitions(longer) == [*read_definitions(text), NEW]
    assert longer.startswith(text.partition("\n")[0])


def test_a_text_in_flow_style_is_written_anew() -> None:
    text = "definitions: [{id: a, kind: language, name: A, files: [x.a]}]\n"
    assert read_definitions(extended(text, read_definitions(text), NEW)) == [*read_definitions(text), NEW]
