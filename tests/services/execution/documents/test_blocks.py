"""Blocks that steer: calls with arguments, assertions, parameters of each spelling, accepted changes."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from shared.contracts.document import DocumentInput, DocumentResult
from tests.services.execution.documents.support import DocumentJobs, block, codes, python


def texts(result: DocumentResult, identity: str) -> list[str | None]:
    return [output.text for output in block(result, identity).outputs]


def test_a_call_gives_a_file_its_values(jobs: DocumentJobs) -> None:
    part = "&[n]{int min=1 def=1} &[word]{str def=none}\n\n" + python("print(n, word)")
    files = [{"id": jobs.files.add("part.md", part.encode()), "path": "part.md"}]
    text = python("x = [1, 2]") + "::: call part.md (n=`sum(x, 2)`, word='a b')\n\n::: include part.md\n"
    result = jobs.run(text, files=files)
    assert texts(result, "call-1/chunk-1") == ["5 a b\n"]
    assert texts(result, "include-1/chunk-1") == ["1 none\n"]
    assert block(result, "call-1/chunk-1").lines == (4, 4)
    bad = jobs.run(text.replace("sum(x, 2)", "nothing + 1"), files=files)
    assert (block(bad, "call-1").status, codes(block(bad, "call-1"))) == ("error", ["code_failed"])
    assert "call-1/chunk-1" not in [one.id for one in bad.blocks]
    wrong = jobs.run(text.replace("`sum(x, 2)`", "0"), files=files)
    assert codes(block(wrong, "call-1/parameter-1")) == ["bad_parameter"]


def test_cyclic_calls_end(jobs: DocumentJobs) -> None:
    files = [
        {"id": jobs.files.add("a.md", b"::: call b.md (n=1)\n"), "path": "a.md"},
        {"id": jobs.files.add("b.md", b"::: include a.md\n"), "path": "b.md"},
    ]
    result = jobs.run("::: include a.md\n\nEnd.\n", files=files)
    assert codes(result.blocks[-1]) == ["include_cycle"]


def test_an_assertion_holds_or_is_an_error_in_its_place(jobs: DocumentJobs) -> None:
    text = (
        python("x = 4") + "::: assert x > 3\n\n::: assert `x > 4` {python} :::\n\n::: assert nothing\n\n" + python("1")
    )
    result = jobs.run(text)
    assert [(one.kind, one.status, codes(one)) for one in result.blocks[1:4]] == [
        ("expression", "ok", []),
        ("expression", "error", ["assertion_failed"]),
        ("expression", "error", ["code_failed"]),
    ]
    assert "x > 4" in result.blocks[2].messages[0].text
    assert result.blocks[4].status == "ok"
    jobs.keep("one", result)
    again = jobs.run(text, previous_job_id="one")
    assert [one.status for one in again.blocks[1:4]] == ["fresh", "error", "error"]


QUARTO = """---
params:
  n: 3
  region: {enum: [north, south], default: north}
---

```{python}
#| tags: [parameters]
rate = 0.5
```

```{python}
print(n, region, rate, params["n"])
```
"""


def test_quarto_parameters_come_from_the_front_matter_and_from_a_tagged_cell(jobs: DocumentJobs) -> None:
    assert texts(jobs.run(QUARTO, flavour="quarto"), "chunk-2") == ["3 north 0.5 3\n"]
    given = {"n": 7, "region": "south", "rate": 0.25}
    result = jobs.run(QUARTO, flavour="quarto", parameters=given)
    assert texts(result, "chunk-2") == ["7 south 0.25 7\n"]
    assert [(one.kind, one.lines) for one in result.blocks[:2]] == [("parameter", (3, 3)), ("parameter", (4, 4))]
    assert result.parameters_schema == {
        "type": "object",
        "properties": {
            "n": {"type": "integer", "default": 3},
            "region": {"enum": ["north", "south"], "default": "north"},
            "rate": {"type": "number", "default": 0.5},
        },
        "additionalProperties": False,
    }


def test_myst_runs_cells_directives_and_roles(jobs: DocumentJobs) -> None:
    text = (
        "```{code-cell} ipython3\n:tags: [parameters]\nx = 4\n```\n\n+++\n\nIt is {eval}`x + 1`.\n\n"
        ":::{describe} Say {{x}}\n:as: said\n:::\n\n```{create}\nSay {{ said }}\n```\n"
    )
    result = jobs.run(text, flavour="myst", parameters={"x": 6}, answer="Six.")
    assert [one.status for one in result.blocks] == ["ok"] * 4
    assert texts(result, "expression-1") == ["7"]
    assert jobs.sent() == ["Say 6", "Say Six."]
    assert result.markdown.count(':++ {by="scripted/scripted-1"}\nSix.\n:++\n') == 2
    jobs.keep("one", result)
    again = jobs.run(result.markdown, flavour="myst", parameters={"x": 6}, previous_job_id="one")
    assert (jobs.sent(), again.markdown) == ([], result.markdown)


def test_quarto_runs_divs_and_shortcodes(jobs: DocumentJobs) -> None:
    files = [{"id": jobs.files.add("_part.qmd", b"```{python}\ny = x + 1\n```\n"), "path": "_part.qmd"}]
    text = (
        "```{python}\n#| label: first\nx = 4\n```\n\n{{< include _part.qmd >}}\n\n"
        '::: {.describe model="openai/gpt-5"}\nSay {{ x }} and {{ y }}.\n:::\n\n'
        "```{python}\n#| eval: false\n1 / 0\n```\n"
    )
    result = jobs.run(text, flavour="quarto", files=files)
    assert jobs.sent() == ["Say 4 and 5."]
    assert jobs.llm.requests[0].selector == ("openai/gpt-5",)
    assert block(result, "first").status == "ok"
    assert block(result, "chunk-1").status == "skipped"


@pytest.mark.parametrize(
    ("declared", "value", "words"),
    [
        ("int min=1 max=5", 9, "at most 5"),
        ("int", "3", "number"),
        ("int", 1.5, "whole number"),
        ("int", True, "number"),
        ("num emin=0", 0, "more than 0"),
        ("num mult=0.5", 0.7, "steps of 0.5"),
        ("bool", 1, "true or false"),
        ("str maxlen=2", "abc", "at most 2"),
        ('str pattern="^[A-Z]{2}$"', "abc", "match"),
        ("date min=2024-01-01", "2023-12-31", "at least 2024-01-01"),
        ("date", "yesterday", "ISO 8601"),
        ('enum vals=["a, b", c]', "a", "one of a, b, c"),
        ("min=2", 1, "at least 2"),
    ],
)
def test_a_wrong_parameter_is_refused_by_its_name(declared: str, value: object, words: str) -> None:
    with pytest.raises(ValidationError) as error:
        DocumentInput.model_validate({"markdown": f"&[n]{{{declared}}}\n", "parameters": {"n": value}})
    (found,) = error.value.errors()
    assert found["loc"] == ("parameters", "n")
    assert words in found["msg"]


@pytest.mark.parametrize("pattern", [r"^(a)\1$", "(?=a)a", "("])
def test_a_pattern_that_takes_more_than_linear_time_is_not_applied(pattern: str) -> None:
    text = f'&[n]{{str pattern="{pattern}"}}\n'
    given = {"n": "a" * 5000 + "!"}
    assert DocumentInput.model_validate({"markdown": text, "parameters": given}).parameters == given


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^a*a*a*a*a*$"])
def test_a_pattern_that_others_take_for_ever_over_is_applied(pattern: str) -> None:
    with pytest.raises(ValidationError, match="has to match"):
        DocumentInput.model_validate(
            {"markdown": f'&[n]{{str pattern="{pattern}"}}\n', "parameters": {"n": "a" * 5000 + "!"}}
        )


def test_parameters_fit_with_their_defaults(jobs: DocumentJobs) -> None:
    text = (
        "&[a]{int def=3} &[b]{def=2.5} &[c]{bool def=true} &[d]{vals=[x, y] def=y} &[e]{date def=2024-02-29} &[f]{}\n\n"
    )
    result = jobs.run(text + python("print(a, b, c, d, e, f)"))
    assert texts(result, "chunk-1") == ["3 2.5 True y 2024-02-29 None\n"]
    bad = jobs.run("&[a]{int def=x}\n\n" + python("a"))
    assert (codes(bad.blocks[0]), bad.blocks[1].status) == (["bad_parameter"], "error")


def test_a_deletion_that_nobody_accepted_still_runs(jobs: DocumentJobs) -> None:
    text = f":--\n{python('x = 1')}:--\n\n:~~ accept\n{python('y = 1')}:~>\n{python('y = 2')}:~~\n\n" + python(
        "print(x, y)"
    )
    result = jobs.run(text)
    assert [output.text for one in result.blocks for output in one.outputs] == ["1 2\n"]
    assert result.markdown == text
