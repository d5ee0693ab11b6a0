"""Quarto's and MyST's spellings of the same blocks."""

from __future__ import annotations

import pytest

from services.execution.documents.parse.flavours import recognised
from services.execution.documents.parse.nodes import (
    Assertion,
    Chunk,
    DocumentNode,
    Expression,
    For,
    If,
    Include,
    Instruction,
    Parameter,
    PromptBlock,
    Section,
    walk,
)
from services.execution.documents.parse.reader import parse
from tests.services.execution.documents.support import DocumentJobs


def nodes(text: str, flavour: str) -> list[DocumentNode]:
    return walk(parse(text, flavour).content)


def only(text: str, flavour: str) -> DocumentNode:
    (node,) = parse(text, flavour).content
    return node


def test_quarto_chunks_have_their_options_in_comments_or_in_the_braces() -> None:
    text = "```{python}\n#| label: first\n#| eval: false\n#| tags:\n#|   - parameters\nx = 1\n```\n"
    first = only(text, "quarto")
    assert isinstance(first, Chunk)
    assert (first.id, first.language, first.options["eval"]) == ("first", "python", "false")
    assert "parameters" in first.options["tags"]
    assert first.code.endswith("x = 1\n")
    other = only("```{r setup, echo=FALSE}\nx <- 1\n```\n", "quarto")
    assert isinstance(other, Chunk)
    assert (other.id, other.language, other.options["echo"]) == ("setup", "r", "false")


@pytest.mark.parametrize("info", ["{.python}", "{=html}", "{{python}}", "python", "text", "{}"])
def test_quarto_code_that_is_shown_does_not_run(info: str) -> None:
    assert nodes(f"```{info}\nx\n```\n", "quarto") == []


def test_quarto_inline_code() -> None:
    node = only("It is `{python} x + 1`, not `{python}`.\n", "quarto")
    assert isinstance(node, Expression)
    assert (node.language, node.code, node.columns) == ("python", "x + 1", (6, 22))


def test_quarto_divs_with_a_class() -> None:
    text = '::: {.describe model="openai/gpt-5" as=y message="Say {{x}}"}\nSome text.\n:::\n'
    node = only(text, "quarto")
    assert isinstance(node, Instruction)
    assert (node.type, node.models, node.message, node.inner) == ("describe", ("openai/gpt-5",), "Say {{x}}", (1, 2))
    assert node.options == {"as": "y"}
    body = only("::: {.create #id replicates=2}\nSay {{x}}\n:::\n", "quarto")
    assert isinstance(body, Instruction)
    assert (body.message, body.replicates, body.id) == ("Say {{x}}", 2, "id")
    assert isinstance(only("::: {.callout-note}\nx\n:::\n", "quarto"), Section)
    assert isinstance(only("::: {.describe}\nx\n:::\n", "stencila"), Section)


def test_quarto_control() -> None:
    text = '::: {.if expr="x > 1" lang=python}\na\n::: {.else}\nb\n:::\n'
    node = only(text, "quarto")
    assert isinstance(node, If)
    assert [(one.kind, one.expression, one.language) for one in node.clauses] == [
        ("if", "x > 1", "python"),
        ("else", "", ""),
    ]
    loop = only('::: {.for each="i in [1, 2]"}\na\n:::\n', "quarto")
    assert isinstance(loop, For)
    assert (loop.name, loop.clauses[0].expression) == ("i", "[1, 2]")
    include = only("{{< include _part.qmd >}}\n", "quarto")
    assert isinstance(include, Include)
    assert include.source == "_part.qmd"


def test_myst_cells_have_their_options_before_the_code() -> None:
    for options in (":label: first\n:tags: [parameters]\n", "---\nlabel: first\ntags: [parameters]\n---\n"):
        node = only(f"```{{code-cell}} ipython3\n{options}x = 1\n```\n", "myst")
        assert isinstance(node, Chunk)
        assert (node.id, node.language, node.code) == ("first", "python", "x = 1\n")
        assert node.options["tags"] == "[parameters]"
    assert nodes('```{code} python\nx\n```\n\n```python exec\nx\n```\n\n+++ {"a": 1}\n', "myst") == []


def test_myst_inline_code() -> None:
    node = only("It is {eval}`x + 1`, not `x`.\n", "myst")
    assert isinstance(node, Expression)
    assert (node.language, node.code) == ("python", "x + 1")
    assert node.columns == (6, 19)


@pytest.mark.parametrize("fence", ["```", ":::", "~~~", "::::"])
def test_myst_directives_between_backticks_or_colons(fence: str) -> None:
    text = f"{fence}{{describe}} Say {{{{x}}}}\n:model: openai/gpt-5\n:as: y\n\nSome text.\n{fence}\n"
    node = only(text, "myst")
    assert isinstance(node, Instruction)
    assert (node.type, node.message, node.models) == ("describe", "Say {{x}}", ("openai/gpt-5",))
    assert node.options == {"as": "y"}
    assert node.inner == (3, 5)
    assert (node.start, node.end) == (0, 6)
    body = only(f"{fence}{{create}}\n:replicates: 2\n\nSay {{{{x}}}}\n{fence}\n", "myst")
    assert isinstance(body, Instruction)
    assert (body.message, body.replicates, body.inner) == ("Say {{x}}", 2, None)


def test_myst_control_and_what_stands_in_admonitions() -> None:
    text = ":::{if} x > 1\n```{code-cell} python\n1\n```\n:::{else}\nb\n:::\n"
    node = only(text, "myst")
    assert isinstance(node, If)
    assert [len(one.content) for one in node.clauses] == [1, 0]
    found = nodes("````{note} Title\n```{code-cell} python\nx = 1\n```\n````\n", "myst")
    assert [(type(one), one.start, one.end) for one in found] == [(Section, 0, 5), (Chunk, 1, 4)]
    assert nodes("```{figure} a.png\n{eval}`x`\n```\n", "myst") == []
    for text in ("```{include} part.md\n```\n", ":::{include} part.md\n:::\n"):
        include = only(text, "myst")
        assert isinstance(include, Include)
        assert (include.source, include.end) == ("part.md", 2)


def test_a_front_matter_declares_parameters() -> None:
    text = "---\ntitle: A\nparams:\n  n: 3\n  region: {enum: [north, south], default: north}\n---\n\nText.\n"
    for flavour in ("quarto", "myst", "stencila"):
        found = nodes(text, flavour)
        assert [
            (one.declared.name, one.declared.default, one.start) for one in found if isinstance(one, Parameter)
        ] == [
            ("n", 3, 3),
            ("region", "north", 4),
        ]


@pytest.mark.parametrize("front", ["params: [", "params: &a [*a, *a]", "params: 3", "params:\n  2x: 1", "x: " * 9000])
def test_a_front_matter_that_cannot_be_read_declares_nothing(front: str) -> None:
    assert nodes(f"---\n{front}\n---\n", "quarto") == []


def test_prompts_and_assertions_and_calls() -> None:
    one, two = parse("::: prompt @tone Be kind. :::\n\n::: prompt @long\n\nBe\nlong.\n\n:::\n").content
    assert isinstance(one, PromptBlock)
    assert isinstance(two, PromptBlock)
    assert [(each.name, each.message) for each in (one, two)] == [("tone", "Be kind."), ("long", "Be\nlong.")]
    check = only("::: assert `x > {1: 2}[1]` {python} :::\n", "stencila")
    assert isinstance(check, Assertion)
    assert (check.expression, check.language) == ("x > {1: 2}[1]", "python")
    call = only("::: call part.md (a=1, b=`f(2, 3)`, c='x, y', d=true, e=[1, 2.5], f=north) {python}\n", "stencila")
    assert isinstance(call, Include)
    assert (call.source, call.call, call.language) == ("part.md", True, "python")
    assert {name: one.value for name, one in call.arguments.items()} == {
        "a": 1, "b": None, "c": "x, y", "d": True, "e": [1, 2.5], "f": "north"
    }  # fmt: skip
    assert call.arguments["b"].code == "f(2, 3)"


@pytest.mark.parametrize(
    ("markdown", "flavour"),
    [
        ("```python exec\nx = 1\n```\n", "stencila"),
        ("```{python}\n#| label: one\nx = 1\n```\n", "quarto"),
        ("::: {.callout-note}\nText.\n:::\n", "quarto"),
        ("```{code-cell} python\nx = 1\n```\n", "myst"),
        (":::{note}\nText.\n:::\n", "myst"),
        ("```python\nx = 1\n```\n", "stencila"),
        ("```python exec\nx = 1\n```\n\n```{python}\nx = 2\n```\n", "stencila"),
        ("Only text with `{python}` in it.\n", "stencila"),
    ],
)
def test_the_flavour_is_recognised_by_the_first_block_that_tells(markdown: str, flavour: str) -> None:
    assert recognised(markdown) == flavour


@pytest.mark.parametrize("opening", ["```{python}", "```{code-cell} python", "```python exec"])
def test_code_of_every_flavour_runs_without_a_word_about_it(jobs: DocumentJobs, opening: str) -> None:
    result = jobs.run(f"# Title\n\n{opening}\nprint(6 * 7)\n```\n")
    assert [block.outputs[0].text for block in result.blocks] == ["42\n"]
