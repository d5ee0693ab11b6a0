"""Reading: exact lines, nothing lost, nothing raised, whatever the text."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from importlib import metadata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.execution.documents.parse.changes import ModelAnswer, answer_splices, spliced
from services.execution.documents.parse.nodes import Chunk, DocumentNode, Expression, If, Instruction, walk
from services.execution.documents.parse.reader import parse
from shared.declarations.documents import declarations
from shared.declarations.parameters import parse_declaration
from tests.services.execution.documents.support import python

_PIECES = st.sampled_from(
    [
        "```python exec\n",
        "```\n",
        "~~~\n",
        "````\n",
        ":::\n",
        "::::\n",
        "::: describe x :::\n",
        "::: edit [m] y >>>\n",
        "::: fix z\n",
        "::: if x\n",
        "::: elif y\n",
        "::: else\n",
        "::: for a in b\n",
        "::: include a.md\n",
        ":++\n",
        ":--\n",
        ":~~\n",
        ":~>\n",
        "text\n",
        "\n",
        "  ",
        "\r\n",
        "`x`{python exec}",
        "&[n]{int}",
        "{{ x }}",
        "---\n",
        ":",
        "`",
        "\u2028",
        "\ufeff",
        "<!-- x\n",
        "-->\n",
    ]
)


@pytest.mark.slow(seconds=1.5)
@given(
    st.lists(_PIECES | st.text(max_size=5), max_size=40).map("".join), st.sampled_from(["stencila", "quarto", "myst"])
)
def test_any_text_reads_and_is_written_back_as_it_was(text: str, flavour: str) -> None:
    tree = parse(text, flavour)
    assert tree.source == text
    assert spliced(tree.lines, []) == text
    nodes = walk(tree.content)
    assert all(0 <= node.start <= node.end <= len(tree.lines) for node in nodes)
    assert len({node.id for node in nodes}) == len(nodes)


@pytest.mark.slow
@given(st.lists(_PIECES, max_size=30).map("".join), st.text(max_size=80) | st.lists(_PIECES, max_size=9).map("".join))
def test_an_answer_changes_nothing_but_its_own_place_and_stays_in_it(text: str, answer: str) -> None:
    lines = parse(text).lines
    before = f"::: create it :::\n\n{text}"
    tree = parse(before)
    first = next(node for node in tree.content if isinstance(node, Instruction))
    if first.suggestions:
        return
    written = spliced(tree.lines, answer_splices(first, [ModelAnswer(answer, "m")]))
    after = parse(written)
    assert written.startswith('::: create it :::\n\n:++ {by="m"}\n')
    assert written.endswith("".join(lines))
    again = next(node for node in after.content if isinstance(node, Instruction))
    assert again.suggestions[0].by == "m"
    assert [type(n) for n in after.content if not isinstance(n, Instruction)] == [
        type(n) for n in tree.content if not isinstance(n, Instruction)
    ]


def real_documents() -> list[str]:
    """The Markdown that installed packages ship: of Python, of Node's npm, of R (its vignettes are executable)."""
    found = {path.read_bytes() for path in Path(sysconfig.get_paths()["purelib"]).rglob("*.md")}
    for package in metadata.distributions():
        head, _, body = (package.read_text("METADATA") or "").partition("\n\n")
        if "\nDescription-Content-Type: text/markdown" in head:
            found.add(body.encode())
    for folder in [*_node_folders(), *_r_folders()]:
        for suffix in ("*.md", "*.markdown", "*.Rmd", "*.qmd"):
            found |= {path.read_bytes() for path in folder.rglob(suffix) if path.is_file()}
    return sorted(content.decode(errors="replace") for content in found)


def _node_folders() -> list[Path]:
    node = shutil.which("node")
    folder = Path(node).resolve().parent.parent / "lib" / "node_modules" if node else None
    return [folder] if folder and folder.is_dir() else []


def _r_folders() -> list[Path]:
    script = shutil.which("Rscript")
    if script is None:
        return []
    said = subprocess.run([script, "-e", "cat(.libPaths(), sep = '\\n')"], check=True, capture_output=True, text=True)
    return [Path(line) for line in said.stdout.splitlines() if Path(line).is_dir()]


@pytest.mark.slow(seconds=4)
def test_two_hundred_real_documents_are_read_without_a_change() -> None:
    documents = real_documents()
    for text in documents:
        for flavour in ("stencila", "quarto", "myst"):
            tree = parse(text, flavour)
            assert tree.source == text
            assert spliced(tree.lines, []) == text
    if len(documents) < 200:
        if os.environ.get("CI") == "true" and os.geteuid() == 0 and shutil.which("apt-get"):
            pytest.fail(f"only {len(documents)} documents: run scripts/install-optional")
        pytest.skip(f"all {len(documents)} here are read, but 200 are wanted; R and npm, if installed, bring the rest")


def kinds(text: str, flavour: str = "stencila") -> list[type[DocumentNode]]:
    return [type(node) for node in walk(parse(text, flavour).content)]


@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize(
    "piece",
    [
        "```python exec\nx=1\n```\n",
        "::: describe x\n",
        "::: describe x <<<\n",
        "::: foo\n",
        ":++ a\n\n:++\n",
        ":::\n",
        "`` ` ```",
        '&[a]{"',
        "::: if x\n::: else\n",
        "::: describe x :::\n:++\n:++\n",
        ":++\n:--\n",
        "::: edit a >>>\n",
    ],
)
def test_a_hundred_thousand_blocks_are_read(piece: str) -> None:
    text = piece * 100_000
    assert parse(text).source == text


def test_code_within_code_is_text() -> None:
    assert kinds("````\n```python exec\nx\n```\n::: describe x :::\n````\n") == []
    assert kinds("`` `x`{python exec} ``\n") == []
    assert kinds("```python\nx\n```\n") == []


def test_an_unclosed_block_is_a_message_and_what_it_held_still_counts() -> None:
    tree = parse("::: if x\n```python exec\n1\n```\n")
    assert [type(node) for node in tree.content] == [If, Chunk]
    assert [note.code for note in tree.content[0].notes] == ["unclosed_block"]
    assert [note.code for _, note in parse(":::\n").notes] == ["unmatched_end"]
    assert [note.code for _, note in parse(":::row:::\n").notes] == ["unknown_block"]
    assert parse("```python exec\n1\n").content[0].notes[0].code == "unclosed_block"


def test_nothing_in_a_comment_counts() -> None:
    inside = "```python exec\n1\n```\n::: describe x :::\n&[n]{int}\n:++\n"
    assert kinds(f"<!--\n{inside}-->\n\n  <!-- `x`{{python exec}} -->\n```python exec\n2\n```\n") == [Chunk]
    assert kinds(f"::: note\n<!-- a\n::: if x\n-->\n{python('1')}:::\n")[1:] == [Chunk]
    assert kinds("```python exec\n<!--\n```\n::: describe -->\n:::\n") == [Chunk, Instruction]
    text = f"&[a]{{int}}\n<!--\n{inside}-->\n&[b]{{int}}\n```\n<!--\n```\n&[c]{{int}}\n<!--\n&[d]{{int}}\n"
    assert declarations(text) == {name: parse_declaration(name, "int") for name in "abcd"}


def test_a_comment_without_an_end_is_text_with_a_warning() -> None:
    tree = parse("<!-- a\n" + python("1"))
    assert ([type(node) for node in tree.content], [note.code for _, note in tree.notes]) == (
        [Chunk],
        ["unclosed_comment"],
    )


@pytest.mark.parametrize(
    "text", ["```python exec\n1\n```\n::: describe x :::\n", "`x`{python exec} y\n", "::: create y :::", ""]
)
def test_a_byte_order_mark_is_part_of_no_block(text: str) -> None:
    tree, plain = parse(f"\ufeff{text}"), parse(text)
    assert tree.source == f"\ufeff{text}"
    assert [(type(node), node.start, node.end) for node in tree.content] == [
        (type(node), node.start, node.end) for node in plain.content
    ]
    for node in tree.content:
        if isinstance(node, Expression):
            assert tree.lines[0][slice(*node.columns)] == "`x`{python exec}"


@pytest.mark.parametrize(
    "front", ["params: [\n", "params:\n  a: &a [1]\n  b: [*a" + ", *a" * 3000 + "]\n", "params: {a: 1\n"]
)
def test_parameters_of_a_front_matter_that_cannot_be_read_are_missed_aloud(front: str) -> None:
    tree = parse(f"---\n{front}---\n")
    assert (tree.content, [note.code for _, note in tree.notes]) == ((), ["bad_front_matter"])
