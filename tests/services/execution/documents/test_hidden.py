"""What its author hid is in no page, whichever notation says so; errors that are expected are not failures."""

from __future__ import annotations

import pytest

from services.execution.documents.parse.nodes import Chunk, walk
from services.execution.documents.parse.reader import parse
from services.execution.languages.table import language_specs
from tests.services.execution.documents.support import DocumentJobs
from tests.services.execution.documents.test_page import page_of

_CODE = "source_text = 'printed'\nprint(source_text)\n"


def cell(flavour: str, option: str) -> str:
    if flavour == "myst":
        return f"```{{code-cell}} python\n{option}\n{_CODE}```\n"
    if option.startswith("#|"):
        return f"```{{python}}\n{option}\n{_CODE}```\n"
    return f"```{{python, {option}}}\n{_CODE}```\n"


@pytest.mark.parametrize(
    ("flavour", "option", "code", "output"),
    [
        ("quarto", "#| label: a", True, True),
        ("quarto", "#| include: false", False, False),
        ("quarto", "#| output: false", True, False),
        ("quarto", "#| echo: false", False, True),
        ("quarto", "#| echo: false\n#| output: false", False, False),
        ("quarto", "#| eval: false", True, False),
        ("quarto", "#| tags: [remove-cell]", False, False),
        ("quarto", "echo=FALSE", False, True),
        ("quarto", "include=FALSE", False, False),
        ("quarto", "results='hide'", True, False),
        ("quarto", "eval=F", True, False),
        ("myst", ":tags: [remove-cell]", False, False),
        ("myst", ":tags: remove-input", False, True),
        ("myst", ":tags: [remove_output]", True, False),
        ("myst", "---\ntags:\n  - remove-input\n  - hide-output\n---", False, True),
        ("myst", "#| include: false", False, False),
        ("myst", ":tags: [remove-stdout]", True, False),
        ("myst", ":tags: [skip-execution]", True, False),
    ],
)
def test_options_hide_code_and_outputs(jobs: DocumentJobs, flavour: str, option: str, code: bool, output: bool) -> None:
    result = jobs.run(cell(flavour, option), flavour=flavour)
    page = page_of(jobs, result)
    assert ("source_text" in page, "<pre>printed" in page) == (code, output)
    (one,) = result.blocks
    assert one.code_hidden is not code
    assert all(each.hidden is not output for each in one.outputs)


@pytest.mark.parametrize(
    ("front", "code"),
    [
        ("execute:\n  echo: false\n", False),
        ("format:\n  html:\n    echo: false\n", False),
        ("knitr:\n  opts_chunk:\n    echo: false\n", False),
        ("execute:\n  echo: true\n", True),
        ("title: x\n", True),
    ],
)
def test_the_front_matter_hides_for_all_chunks_and_a_chunk_says_otherwise(
    jobs: DocumentJobs, front: str, code: bool
) -> None:
    text = f"---\n{front}---\n\n{cell('quarto', '#| label: a')}\n```{{python}}\n#| echo: true\nkept_name = 1\n```\n"
    page = page_of(jobs, jobs.run(text, flavour="quarto"))
    assert ("source_text" in page) is code
    assert "kept_name" in page
    assert "<pre>printed" in page


def test_folded_code_and_folded_output(jobs: DocumentJobs) -> None:
    text = cell("quarto", "#| code-fold: true\n#| code-summary: Look & see")
    assert "<details><summary>Look &amp; see</summary><pre><code>source" in page_of(
        jobs, jobs.run(text, flavour="quarto")
    )
    page = page_of(jobs, jobs.run(cell("myst", ":tags: [hide-cell]"), flavour="myst"))
    assert "<details><summary>Code</summary>" in page
    assert "<details><summary>Output</summary><pre>printed" in page


def test_output_as_it_is_and_markdown_of_code_are_markdown(jobs: DocumentJobs) -> None:
    text = (
        "```{python}\n#| output: asis\nprint('| a | b |\\n|---|---|\\n| 1 | 2 |')\n"
        "print('\\n<div>in</div><script>x</script>')\n"
        "```\n\nAfter.\n"
    )
    page = page_of(jobs, jobs.run(text, flavour="quarto"))
    assert page.count("<table>") == 1
    assert "<div>in</div>" in page
    assert "<script" not in page.partition("<main>")[2].replace("&lt;script", "")
    assert "<p>After.</p>" in page


@pytest.mark.parametrize(
    ("options", "warning", "message"),
    [
        ("", True, True),
        ("warning=FALSE", False, True),
        ("message=FALSE", True, False),
        ("warning=F, message=F", False, False),
    ],
)
def test_warnings_and_messages_of_r_are_hidden_apart(
    jobs: DocumentJobs, options: str, warning: bool, message: bool
) -> None:
    if language_specs()["r"].versions() is None:
        pytest.skip("R is not installed")
    text = f"```{{r, echo=FALSE, {options}}}\nmessage('told')\nf <- function() warning('careful')\nf()\n"
    text += "message('again')\n```\n"
    page = page_of(jobs, jobs.run(text, flavour="quarto"))
    assert ("careful" in page, "told" in page, "again" in page) == (warning, message, message)


def test_warnings_of_python_are_hidden(jobs: DocumentJobs) -> None:
    code = "import warnings\nwarnings.warn('careful')\n"
    for options, seen in (("#| echo: false\n", True), ("#| echo: false\n#| warning: false\n", False)):
        page = page_of(jobs, jobs.run(f"```{{python}}\n{options}{code}```\n", flavour="quarto"))
        assert ("careful" in page) is seen


def test_an_expected_error_is_shown_and_fails_nothing(jobs: DocumentJobs) -> None:
    text = "```{python}\n#| error: true\nx = 1\n1 / 0\n```\n\n```{python}\nprint(x + 1)\n```\n"
    result = jobs.run(text, flavour="quarto")
    assert [each.status for each in result.blocks] == ["ok", "ok"]
    assert [(each.level, each.code) for each in result.blocks[0].messages] == [("info", "expected_error")]
    assert "ZeroDivisionError: division by zero" in page_of(jobs, result)
    failed = jobs.run(text.replace("#| error: true\n", ""), flavour="quarto")
    assert [each.status for each in failed.blocks] == ["error", "skipped"]


def test_the_error_of_a_hidden_chunk_is_seen_all_the_same(jobs: DocumentJobs) -> None:
    page = page_of(jobs, jobs.run("```{python}\n#| include: false\n1 / 0\n```\n", flavour="quarto"))
    assert "ZeroDivisionError" in page


def test_options_change_what_is_seen_and_not_what_runs(jobs: DocumentJobs) -> None:
    first = jobs.run(cell("quarto", "#| label: a"), flavour="quarto")
    jobs.keep("one", first)
    code = first.markdown.replace("#| label: a", "#| output: false")
    again = jobs.run(code, flavour="quarto", previous_job_id="one")
    assert "<pre>printed" not in page_of(jobs, again)


@pytest.mark.parametrize(
    ("text", "flavour", "options"),
    [
        ("```{python}\n#| fig-cap: |\n#|   Two\n#|   lines\nx\n```\n", "quarto", {"fig-cap": "Two lines"}),
        (
            '```{r a, fig.cap="A, b", fig.width=8, echo=FALSE}\nx\n```\n', "quarto",
            {"fig-cap": "A, b", "fig-width": "8", "echo": "false", "id": "a"},
        ),
        ("```{python}\n#| tags: [a, b]\nx\n```\n", "quarto", {"tags": "[a, b]"}),
        ("```{python}\n#| : broken\n#| echo: false\nx\n```\n", "quarto", {}),
        ("```{code-cell}\n:tags: [a]\n:name: n\nx\n```\n", "myst", {"id": "n"}),
    ],
)  # fmt: skip
def test_options_have_one_spelling(text: str, flavour: str, options: dict[str, str]) -> None:
    (node,) = [each for each in walk(parse(text, flavour).content) if isinstance(each, Chunk)]
    assert options.items() <= dict(node.options).items()
