"""The seed's own test cases and questions, one by one."""

from __future__ import annotations

import pytest

from tests.services.execution.documents.support import DocumentJobs, block, codes
from tests.support.languages import skip_unless_installed

X = "```python exec\nx = 4\n```\n\n"
BOTH = '```python exec\nx = 4\ny = "hello"\n```\n\n'


@pytest.mark.parametrize(
    ("document", "sent"),
    [
        pytest.param(X + "::: describe Describe this var: {{x}} :::", ["Describe this var: 4"], id="basic"),
        pytest.param(
            X + "::: describe [openai/gpt-5] Describe this var: {{x}} :::", ["Describe this var: 4"], id="with a model"
        ),
        pytest.param(
            BOTH + "::: describe Values: {{x}} and {{y}} :::", ["Values: 4 and hello"], id="multiple variables"
        ),
        pytest.param(
            BOTH + "::: describe [openai/gpt-4] Describe these values: {{x}} and {{y}} :::",
            ["Describe these values: 4 and hello"],
            id="the example",
        ),
        pytest.param("::: describe Describe: {{undefined_var}} :::", ["Describe: {{undefined_var}}"], id="missing"),
        pytest.param("::: describe Describe this figure :::", ["Describe this figure"], id="no variables"),
        pytest.param(
            '```python exec\nx = 4\nname = "total"\n```\n\n'
            "::: edit [model] Change {{x}} to 10 :::\n::: create [model] Create variable {{name}} :::\n",
            ["Change 4 to 10", "Create variable total"],
            id="other types",
        ),
        pytest.param(
            X + "::: describe\nDescribe this var:\n{{x}}\n:::\n", ["Describe this var:\n4"], id="several lines"
        ),
        pytest.param(X + "::: describe Describe this var: {{ x }} >>>\n\nText.\n", ["Describe this var: 4\n\nText."]),
    ],
)
def test_a_case_of_the_seed(jobs: DocumentJobs, document: str, sent: list[str]) -> None:
    result = jobs.run(document)
    assert jobs.sent() == sent
    assert {one.status for one in result.blocks} <= {"ok"}


@pytest.mark.parametrize("type_", ["create", "edit", "fix", "describe", "discuss"])
@pytest.mark.parametrize(
    ("message", "sent", "told"),
    [
        ("The {{x}}", "The 4", []),
        ("The {{x}} and {{missing}}", "The {{x}} and {{missing}}", ["not_rendered"]),
        ("The {{x", "The {{x", []),
        ("Nothing", "Nothing", []),
    ],
)
def test_every_type_renders_falls_back_and_passes_alike(
    jobs: DocumentJobs, type_: str, message: str, sent: str, told: list[str]
) -> None:
    result = jobs.run(X + f"::: {type_} {message} :::\n")
    one = block(result, "instruction-1")
    assert jobs.sent() == [sent]
    assert (one.instruction_type, one.message_original, one.status, codes(one)) == (type_, message, "ok", told)
    assert one.message_rendered == (sent if sent == "The 4" else None)
    assert bool(result.warnings) == bool(told)


def test_question_what_happens_when_a_variable_does_not_exist(jobs: DocumentJobs) -> None:
    text = X + "::: describe {{x}} {{nope}} :::\n\n::: describe {{x}} :::\n"
    result = jobs.run(text)
    assert jobs.sent() == ["{{x}} {{nope}}", "4"]
    assert "nope" in block(result, "instruction-1").messages[0].text
    assert any("nope" in warning for warning in result.warnings)


def test_question_which_kernels_variables_are_accessible(jobs: DocumentJobs) -> None:
    skip_unless_installed(jobs.sandbox, "javascript")
    text = (
        "```python exec\na = 1\n```\n\n```javascript exec\nvar b = 'two'\n```\n\n"
        "```sql exec\ncreate table c as select 3 as n\n```\n\n::: describe {{a}} {{b}} {{c.shape[0]}} :::\n"
    )
    result = jobs.run(text)
    assert jobs.sent() == ["1 two 1"]
    variables = block(result, "instruction-1").variables
    assert [(one.name, one.kernel) for one in variables] == [("a", "python"), ("b", "javascript"), ("c", "sql")]
    assert all(len(one.sha256) == 64 and one.bytes > 0 for one in variables)


@pytest.mark.parametrize(
    ("code", "message", "sent"),
    [
        ("d = {'a': [1, {'b': 'c'}]}", "{{ d }}", '{"a": [1, {"b": "c"}]}'),
        ("d = {'a': [1, {'b': 'c'}]}", "{{ d.a[1].b }}", "c"),
        ("d = [[1, 2], ['x']]", "{{ d }} {{ d[0][1] }}", '[[1, 2], ["x"]] 2'),
        ("d = {'items': 1}", "{{ d.items }}", "1"),
        ("d = {}", "{{ d }}", "{}"),
    ],
)
def test_question_how_complex_values_are_rendered(jobs: DocumentJobs, code: str, message: str, sent: str) -> None:
    jobs.run(f"```python exec\n{code}\n```\n\n::: describe {message} :::\n")
    assert jobs.sent() == [sent]


def test_question_when_variables_are_resolved(jobs: DocumentJobs) -> None:
    """From code that has run, above; never from code below."""
    text = (
        "::: describe {{x}} :::\n\n"
        + X
        + "::: describe {{x}} :::\n\n```python exec\nx = 5\n```\n\n::: edit {{x}} :::\n"
    )
    result = jobs.run(text)
    assert jobs.sent() == ["{{x}}", "4", "5"]
    assert codes(block(result, "instruction-1")) == ["not_rendered"]


def test_question_does_rendering_start_over_for_each_message(jobs: DocumentJobs) -> None:
    """A template leaves nothing behind for the next one, and the kernels stay as they are."""
    text = X + "::: describe {% set x = 9 %}{{x}} :::\n\n::: describe {{x}} :::\n\n```python exec\nx + 1\n```\n"
    result = jobs.run(text)
    assert jobs.sent() == ["9", "4"]
    assert block(result, "chunk-2").outputs[0].text == "5"


def test_parts_that_are_no_template_stay_as_they_are(jobs: DocumentJobs) -> None:
    message = "See ![a](b.png) and `{{ x }}`, \\{ 100 % } — ünï {{x}} \u2028 $x^{2}$"
    jobs.run(X + f"::: describe {message} :::\n")
    assert jobs.sent() == [message.replace("{{x}}", "4")]


def test_the_document_keeps_its_template(jobs: DocumentJobs) -> None:
    text = X + "::: describe Describe this var: {{x}} :::\n"
    result = jobs.run(text)
    assert result.markdown.startswith(text)
    assert "Describe this var: 4" not in result.markdown
