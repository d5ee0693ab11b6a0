"""The line of an instruction: type, models, options, message, and what the message is about."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from services.execution.documents.parse.nodes import Instruction
from services.execution.documents.parse.reader import parse


def read(header: str, flavour: str = "stencila") -> Instruction:
    tree = parse(f"Before.\n\n::: {header}\n\nAfter.\n\n:::\n", flavour)
    return next(node for node in tree.content if isinstance(node, Instruction))


@pytest.mark.parametrize(
    ("header", "type_", "models", "message", "extent"),
    [
        ("describe [openai/gpt-5] The {{ x }} :::", "describe", ("openai/gpt-5",), "The {{ x }}", "none"),
        ("describe [openai/gpt-5] The {{x}}:::", "describe", ("openai/gpt-5",), "The {{x}}", "none"),
        ("edit [a, b] x3 t20 Shorter >>>", "edit", ("a", "b"), "Shorter", "next"),
        ("edit Shorter >", "edit", (), "Shorter", "next"),
        ("edit Shorter <", "edit", (), "Shorter", "previous"),
        ("edit Is a > b", "edit", (), "Is a > b", "enclosed"),
        ("fix", "fix", (), "", "enclosed"),
        ("Describe It :::", "describe", (), "It", "none"),
        ("create table of planets :::", "create", (), "table of planets", "none"),
        ("create listing of x :::", "create", (), "listing of x", "none"),
        ("edit next figure [m] Bigger <<<", "edit", ("m",), "Bigger", "previous"),
        ("describe next steps :::", "describe", (), "next steps", "none"),
        ("discuss a [b] c :::", "discuss", (), "a [b] c", "none"),
        ("describe [see here] and go :::", "describe", (), "[see here] and go", "none"),
        ("describe @fig-1 What is it? :::", "describe", (), "What is it?", "none"),
        ("describe me@example.org is whose? :::", "describe", (), "me@example.org is whose?", "none"),
        ("describe {{ x }} :::", "describe", (), "{{ x }}", "none"),
        ("describe Set {a, b} :::", "describe", (), "Set {a, b}", "none"),
        ("create x3 [m] as=y A word :::", "create", ("m",), "A word", "none"),
        ("create [*] A word :::", "create", (), "A word", "none"),
    ],
)
def test_what_stands_in_the_line(header: str, type_: str, models: tuple[str, ...], message: str, extent: str) -> None:
    node = read(header)
    assert (node.type, node.models, node.message, node.extent) == (type_, models, message, extent)
    assert not node.broken


@pytest.mark.parametrize(
    ("header", "options"),
    [
        ("create as=word execute=true Go :::", {"as": "word", "execute": "true"}),
        ("create execute=true [m] as=word Go :::", {"as": "word", "execute": "true"}),
        ("create {as=word execute=true} Go :::", {"as": "word", "execute": "true"}),
        ("create Go {as=word} :::", {"as": "word"}),
        ("create {#answer} Go :::", {"id": "answer"}),
        ("create @tone t20 budget=500 Go :::", {"prompt": "tone", "t": "20", "budget": "500"}),
        ('create as=n schema={"type": "integer"} Go :::', {"as": "n", "schema": '{"type": "integer"}'}),
        ("create as=n schema=city.json Go :::", {"as": "n", "schema": "city.json"}),
        ("create always below paragraph [m] Go :::", {"mode": "always", "position": "below", "node": "paragraph"}),
    ],
)
def test_options_stand_before_the_message_in_any_order_or_in_braces(header: str, options: Mapping[str, str]) -> None:
    node = read(header)
    assert (node.message, node.options) == ("Go", options)


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ("describe [bad!] three :::", "bad_selector"),
        ("describe [] three :::", "bad_selector"),
        ("describe [a,,!] three :::", "bad_selector"),
        ("create as=class Go :::", "bad_option"),
        ("create as=2b Go :::", "bad_option"),
        ("create schema={nope Go :::", "bad_schema"),
        ("polish this text :::", "unknown_instruction"),
        ("polish [openai/gpt-5] this text", "unknown_instruction"),
    ],
)
def test_what_cannot_be_meant_is_a_message_in_its_place(header: str, code: str) -> None:
    node = read(header)
    assert node.broken
    assert [note.code for note in node.notes] == [code]


def test_weights_are_said_to_be_ignored() -> None:
    assert [note.code for note in read("describe [m] q50 c10 It :::").notes] == ["option_ignored"]


@pytest.mark.parametrize("type_", ["create", "edit", "describe", "discuss"])
def test_prose_alone_in_a_block_is_its_message(type_: str) -> None:
    tree = parse(f"::: {type_} [openai/gpt-5]\n\nTwo lines\nwith {{{{ x }}}}.\n\n:::\n")
    (node,) = tree.content
    assert isinstance(node, Instruction)
    assert (node.message, node.models, node.inner) == ("Two lines\nwith {{ x }}.", ("openai/gpt-5",), None)


@pytest.mark.parametrize("body", ["```python exec\n1\n```\n", "```text\n1\n```\n"])
def test_code_in_a_block_without_a_message_is_what_it_is_about(body: str) -> None:
    (node,) = parse(f"::: describe\n{body}:::\n").content
    assert isinstance(node, Instruction)
    assert (node.message, node.inner) == ("", (1, 4))


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ("::: edit A >>>\n\nOne\ntwo.\n\nThree.\n", (2, 4)),
        ("::: edit A >\n```python exec\n1\n```\nThree.\n", (1, 4)),
        ("::: edit A >\n\n```text\n1\n\n2\n```\nThree.\n", (2, 7)),
        ("Zero.\n\nOne\ntwo.\n\n::: edit A <\n\nThree.\n", (2, 4)),
        ("::: edit A\nOne\n\ntwo.\n:::\nThree.\n", (1, 4)),
        ("::: edit A >\n", (1, 1)),
        ("::: edit A <\n", (0, 0)),
        (":::: edit A\n::: if x\nOne\n:::\n::::\n", (1, 4)),
    ],
)
def test_a_message_is_about_the_lines_that_it_points_to(text: str, inner: tuple[int, int]) -> None:
    node = next(node for node in parse(text).content if isinstance(node, Instruction))
    assert node.inner == inner


def test_a_slip_in_the_word_is_said_and_a_section_is_not() -> None:
    (node,) = parse("::: descibe\nText.\n:::\n").content
    assert [note.code for note in node.notes] == ["unknown_block"]
    assert "did you mean describe?" in node.notes[0].text
    for word in ("note", "warning", "figure", "editor-note", "fixture"):
        assert [each.notes for each in parse(f"::: {word}\nText.\n:::\n").content] == [[]]
