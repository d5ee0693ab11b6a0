"""A check of a document that runs nothing: its blocks, its parameters, and what would go wrong, with lines."""

from __future__ import annotations

import pytest

from tests.services.execution.documents.support import DocumentJobs, block, codes, python


def test_nothing_runs_and_every_block_is_told(jobs: DocumentJobs) -> None:
    text = (
        "\ufeff&[n]{int def=3}\r\n\r\n"
        + python("x = n + 1").replace("\n", "\r\n")
        + "::: describe [openai/gpt-5] It is {{ x }} :::\r\n\r\n::: prompt @p Words :::\r\n"
    )
    result = jobs.run(text, execute="none")
    assert result.markdown == text
    assert (jobs.sent(), jobs.report.events) == ([], [])
    assert [(one.id, one.kind, one.status, one.lines) for one in result.blocks] == [
        ("parameter-1", "parameter", "skipped", (1, 1)),
        ("chunk-1", "chunk", "skipped", (3, 5)),
        ("instruction-1", "instruction", "skipped", (6, 6)),
        ("prompt-1", "prompt", "skipped", (8, 8)),
    ]
    told = block(result, "instruction-1")
    assert (told.instruction_type, told.message_original, told.messages) == ("describe", "It is {{ x }}", [])
    assert result.parameters_schema["properties"] == {"n": {"type": "integer", "default": 3}}


@pytest.mark.parametrize(
    ("text", "status", "code"),
    [
        (python("x = = 1"), "error", "syntax_error"),
        ("```fortran exec\nx\n```\n", "error", "language_unavailable"),
        ("```python exec\nx\n", "error", "unclosed_block"),
        ("::: describe {{ x :::\n", "skipped", None),
        ("::: describe {{ x }} :::\n", "skipped", "unknown_variable"),
        ("::: describe {{ x | default(1) }}{% if y is defined %}{% endif %} :::\n", "skipped", None),
        ("::: describe {% for a in range(3) %}{{ a }}{{ loop.index }}{% endfor %} :::\n", "skipped", None),
        ("::: describe {{ x + }} :::\n", "skipped", "not_rendered"),
        ("::: describe :::\n", "error", "empty_message"),
        ("::: describe [bad!] x :::\n", "error", "bad_selector"),
        ("::: describe schema=nowhere x :::\n", "error", "bad_schema"),
        ("::: describe @nobody x :::\n", "skipped", "no_such_prompt"),
        ("::: polish [a/b] x :::\n", "error", "unknown_instruction"),
        ("::: include ../a.md\n", "error", "include_not_allowed"),
        ("::: include https://example.org/a.md\n", "error", "include_not_allowed"),
        ("::: include a.md\n", "error", "include_not_found"),
        ("&[n]{int def=x}\n", "error", "bad_parameter"),
        ("::: if\n:::\n", "error", "bad_block"),
        ("::: for x\n:::\n", "error", "bad_block"),
        ("It is `1 +`{python exec}.\n", "error", "syntax_error"),
    ],
)
def test_what_would_go_wrong_is_said_in_its_place(jobs: DocumentJobs, text: str, status: str, code: str | None) -> None:
    result = jobs.run(f"First.\n\n{text}", execute="none")
    (one,) = result.blocks
    assert (one.status, codes(one), one.lines[0]) == (status, [code] if code else [], 3)
    assert result.markdown == f"First.\n\n{text}"


def test_names_that_code_may_set_unseen_are_not_missed(jobs: DocumentJobs) -> None:
    for code in ("exec('x = 1')", "from math import *"):
        result = jobs.run(python(code) + "::: describe {{ x }} :::\n", execute="none")
        assert codes(block(result, "instruction-1")) == []


def test_the_line_of_a_mistake_in_code_is_the_documents(jobs: DocumentJobs) -> None:
    result = jobs.run("One.\n\n" + python("x = 1\ny = = 2"), execute="none")
    assert block(result, "chunk-1").messages[0].text.startswith("Line 5: SyntaxError")
