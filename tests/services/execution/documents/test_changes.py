"""Proposed changes: what counts before and after a user has decided."""

from __future__ import annotations

import pytest

from services.execution.documents.parse.changes import ModelAnswer, answer_splices, spliced
from services.execution.documents.parse.nodes import Chunk, Instruction, Suggestion, walk
from services.execution.documents.parse.reader import parse

OLD, NEW = "```python exec\nold\n```\n", "```python exec\nnew\n```\n"


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        (f":++\n{NEW}:++\n", []),
        (f":++ accept\n{NEW}:++\n", ["new"]),
        (f":++ reject\n{NEW}:++\n", []),
        (f":--\n{OLD}:--\n", ["old"]),
        (f":-- reject\n{OLD}:--\n", ["old"]),
        (f":-- accept\n{OLD}:--\n", []),
        (f":~~\n{OLD}:~>\n{NEW}:~~\n", ["old"]),
        (f':~~ {{by="A; B"}} accept\n{OLD}:~>\n{NEW}:~~\n', ["new"]),
        (f":~~ reject\n{OLD}:~>\n{NEW}:~~\n", ["old"]),
    ],
)
def test_a_change_counts_when_it_is_accepted(text: str, runs: list[str]) -> None:
    chunks = [node for node in walk(parse(text).content) if isinstance(node, Chunk)]
    assert [chunk.code.strip() for chunk in chunks] == runs
    for chunk in chunks:
        assert parse(text).lines[chunk.start : chunk.end][1].strip() in runs


def test_only_answers_of_models_that_nobody_has_reviewed_give_way_to_new_ones() -> None:
    kept = ":-- {by=A}\nold\n:--\n"
    mine = ':++ {by="m"} accept\nreviewed\n:++\n\n:++\nby hand\n:++\n'
    text = f'::: create it :::\n\n:++ {{by="m"}}\nfirst\n:++\n\n{mine}\n{kept}'
    tree = parse(text)
    node = tree.content[0]
    assert isinstance(node, Instruction)
    assert len(node.suggestions) == 3
    written = spliced(tree.lines, answer_splices(node, [ModelAnswer("second", "m")]))
    assert written == text.replace("first", "second")


def test_a_change_without_an_end_is_text_with_a_warning() -> None:
    tree = parse(f":~~\n{OLD}:~>\n")
    assert [note.code for _, note in tree.notes] == ["unclosed_block"]
    assert not [node for node in tree.content if isinstance(node, Suggestion)]


@pytest.mark.parametrize("rule", [":--- | ---:", ":-- | --:", ":--|", ":---:", ":--x"])
def test_a_rule_of_a_table_is_no_change(rule: str) -> None:
    tree = parse(f"a | b\n{rule}\n1 | 2\n\n:--\n")
    assert (tree.content, [line for line, _ in tree.notes]) == ((), [4])


def test_changes_stand_within_each_other_and_none_reaches_out() -> None:
    text = f":~~\n:~~ x\na\n:~>\nb\n:~~\n{OLD}:~>\n{NEW}:~~\n:++ {{by=m}}\n:--\n:++\n:--\n{OLD}:--\n"
    found = [node for node in walk(parse(text).content) if isinstance(node, (Chunk, Suggestion))]
    assert [(node.start, node.end) for node in found if isinstance(node, Suggestion)] == [
        (0, 14),
        (1, 6),
        (14, 17),
        (17, 22),
    ]
    assert [node.code.strip() for node in found if isinstance(node, Chunk)] == ["old", "old"]


def test_marks_that_a_model_writes_are_text() -> None:
    before = "::: create it :::\n\nText.\n\n:--\nold\n:--\n"
    tree = parse(before)
    node = tree.content[0]
    assert isinstance(node, Instruction)
    answer = ":--\n:~~ accept\n:~>\n:++\n:--- | :--\n```text\n:--\n```"
    written = spliced(tree.lines, answer_splices(node, [ModelAnswer(answer, "m")]))
    assert "\n\\:--\n\\:~~ accept\n\\:~>\n\\:++\n:--- | :--\n```text\n:--\n```\n:++\n" in written
    assert [type(each) for each in parse(written).content] == [Instruction, Suggestion]


def _about(lines: tuple[str, ...], node: Instruction) -> str:
    return "".join(lines[slice(*node.inner)]).rstrip() if node.inner else ""


@pytest.mark.parametrize(
    ("above", "about"),
    [
        ("One.\n\nTwo\nlines.\n\n", "Two\nlines."),
        ("```python exec\n1\n\n2\n```\n", "```python exec\n1\n\n2\n```"),
        ("```text\n1\n\n2\n```\n\n", "```text\n1\n\n2\n```"),
        ("::: note\nOne.\n\nTwo.\n:::\n", "::: note\nOne.\n\nTwo.\n:::"),
        ("::: edit Shorter >>>\n\nOne.\n\n", "One."),
        ("::: create It :::\n", ""),
        ("", ""),
    ],
)
def test_what_stands_above_is_the_same_once_that_is_answered(above: str, about: str) -> None:
    text = f"{above}::: fix It <<<\n"
    for _ in range(3):
        tree = parse(text)
        asked = [node for node in tree.content if isinstance(node, Instruction)]
        assert _about(tree.lines, asked[-1]) == about
        text = spliced(
            tree.lines, [one for node in asked for one in answer_splices(node, [ModelAnswer("An answer.", "m")])]
        )


@pytest.mark.parametrize(
    "text",
    [
        "::: edit Shorter >>>\n```text\nx\n```\n",
        "::: edit Shorter >>>\n````text\n```\nx\n```\n````\nEnd.\n",
        "::: edit Shorter >>>\n\nOne\ntwo.\n\nEnd.\n",
        "::: edit Shorter >>>\n\nOne",
        "::: edit Shorter >>>\n\nOne `x`{python exec}\nand &[n]{int}\nmore.\n\nEnd.\n",
        "::: edit Shorter >>>\nOne\n`x`{python exec} more.\n",
        ":++\n::: edit Shorter >>>\n- item",
        ":++ accept\n\n::: create It <<<\n",
        "One.\n\n::: edit Shorter <\n\nTwo.\n",
        "::: edit\n\nOne.\n\n:::\n",
    ],
)
def test_an_answer_belongs_to_its_instruction_when_it_is_read_again(text: str) -> None:
    tree = parse(text)
    (node,) = [node for node in walk(tree.content) if isinstance(node, Instruction)]
    written = spliced(tree.lines, answer_splices(node, [ModelAnswer("An answer.", "m"), ModelAnswer("Another.", "m")]))
    (again,) = [node for node in walk(parse(written).content) if isinstance(node, Instruction)]
    assert [one.by for one in again.suggestions] == ["m", "m"]
    assert _about(parse(written).lines, again) == _about(tree.lines, node)
    assert again.message == node.message
    twice = spliced(
        parse(written).lines, answer_splices(again, [ModelAnswer("An answer.", "m"), ModelAnswer("Another.", "m")])
    )
    assert twice == written


def test_a_message_about_code_that_never_ends_is_not_asked() -> None:
    (node,) = parse("::: edit Shorter >>>\n```text\nx\n").content
    assert isinstance(node, Instruction)
    assert (node.broken, [note.code for note in node.notes]) == (True, ["unclosed_block"])
