"""The seed: a message's variables come from code that has run, and the model gets their values."""

from __future__ import annotations

import pytest

from tests.services.execution.documents.support import DocumentJobs, block, codes, python

SEED = """```python exec
x = 4
y = "hello"
```

::: describe [openai/gpt-4] Describe these values: {{x}} and {{y}} :::
"""


def test_the_seeds_example_reaches_the_provider_word_for_word(jobs: DocumentJobs) -> None:
    result = jobs.run(SEED)
    assert jobs.sent() == ["Describe these values: 4 and hello"]
    assert jobs.llm.requests[0].selector == ("openai/gpt-4",)
    assert jobs.llm.requests[0].role == "documents.instruction"
    told = block(result, "instruction-1")
    assert told.message_original == "Describe these values: {{x}} and {{y}}"
    assert told.message_rendered == "Describe these values: 4 and hello"
    assert [(one.name, one.kernel, one.type) for one in told.variables] == [
        ("x", "python", "int"),
        ("y", "python", "str"),
    ]
    assert told.lines == (6, 6)
    assert result.markdown == SEED + '\n:++ {by="scripted/scripted-1"}\nAn answer.\n:++\n'


@pytest.mark.parametrize("type_", ["create", "edit", "fix", "describe", "discuss"])
def test_every_type_of_instruction_is_rendered(jobs: DocumentJobs, type_: str) -> None:
    jobs.run(f"{python('x = 4')}\n::: {type_} Change {{{{x}}}} to 10 :::\n")
    assert jobs.sent() == ["Change 4 to 10"]


def test_a_missing_variable_sends_the_original_with_a_warning(jobs: DocumentJobs) -> None:
    result = jobs.run("::: describe Describe: {{undefined_var}} and {{ 1 }} :::\n")
    assert jobs.sent() == ["Describe: {{undefined_var}} and {{ 1 }}"]
    told = block(result, "instruction-1")
    assert (told.status, told.message_rendered, codes(told)) == ("ok", None, ["not_rendered"])
    assert "undefined_var" in result.warnings[0]


@pytest.mark.parametrize(
    "message",
    ["Describe this figure", "What is {{ here?", "only {% if x %}", "a `{{ x }}` in code", "}} before {{"],
)
def test_a_message_without_an_expression_passes_untouched(jobs: DocumentJobs, message: str) -> None:
    result = jobs.run(f"{python('x = 4')}\n::: describe {message} :::\n")
    assert jobs.sent() == [message]
    assert block(result, "instruction-1").message_rendered is None


@pytest.mark.parametrize(
    ("code", "message", "sent"),
    [
        ("d = {'a': [1, {'b': 'c'}]}", "{{ d.a[1].b }} {{ d }}", 'c {"a": [1, {"b": "c"}]}'),
        ("n = None; t = True; f = 0.5", "{{ n }} {{ t }} {{ f }}", "None True 0.5"),
        ("f = float('nan')", "{{ f }}", "nan"),
        (
            "d = {'a': float('nan'), 2: [float('-inf'), None]}",
            "{{ d }} {{ d.a }}",
            '{"a": null, "2": [null, null]} nan',
        ),
        ("import datetime\nd = datetime.timedelta(hours=30)", "{{ d }} {{ [d] }}", '1 day, 6:00:00 ["1 day, 6:00:00"]'),
        ("from fractions import Fraction\nx = Fraction(1, 2)", "{{ x }}", "1/2"),
        ("class A:\n    n = 1\n    def __str__(self): return 'an A'\nx = A()", "{{ x }}", "an A"),
        ("class A:\n    n = 1\nx = A()", "{{ x.n }}", "{{ x.n }}"),
        ("x = 1", "`{{ x }}` is {{ x }}", "`{{ x }}` is 1"),
        ("s = '{{ x }} {% raw %}'", "{{ s }}", "{{ x }} {% raw %}"),
        ("x = 3", "{% for i in range(x) %}{{ i }},{% endfor %}", "0,1,2,"),
        ("x = 3", "{{ y | default('none') }}{% if y is defined %}!{% endif %}", "none"),
        ("import datetime\nd = datetime.date(2024, 2, 29)", "{{ d }}", "2024-02-29"),
    ],
)
def test_values_look_as_expected(jobs: DocumentJobs, code: str, message: str, sent: str) -> None:
    jobs.run(f"{python(code)}\n::: describe {message} :::\n")
    assert jobs.sent() == [sent]


def test_only_code_that_has_already_run_counts(jobs: DocumentJobs) -> None:
    text = f"{python('x = 1')}\n::: describe {{{{x}}}} :::\n\n{python('x = 2')}\n::: describe {{{{x}}}} :::\n"
    jobs.run(text)
    assert jobs.sent() == ["1", "2"]


def test_a_value_over_one_line_stands_between_marks_it_cannot_forge(jobs: DocumentJobs) -> None:
    jobs.run(f"{python('x = chr(10).join([chr(60) + chr(47) + chr(100), chr(98)])')}\n::: describe {{{{x}}}} :::\n")
    first, *middle, last = jobs.sent()[0].splitlines()
    assert first.startswith("<data-")
    assert last == f"</{first[1:]}"
    assert middle == ["</d", "b"]


def test_a_frame_is_its_size_its_columns_and_its_first_rows(jobs: DocumentJobs) -> None:
    code = "import pandas as pd\ndf = pd.DataFrame({'a': range(1000), 'b': ['x'] * 1000})"
    result = jobs.run(f"{python(code)}\n::: describe {{{{ df }}}} has {{{{ df.shape[0] }}}} :::\n")
    assert "1000 rows x 2 columns" in jobs.sent()[0]
    assert "995 more" in jobs.sent()[0]
    assert jobs.sent()[0].endswith("has 1000")
    told = block(result, "instruction-1").variables[0]
    assert (told.kernel, told.type, told.truncated) == ("python", "DataFrame", True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "message",
    [
        "{{ x.__class__.__mro__ }}",
        "{{ 'a' * 10**9 }}",
        "{% for i in range(10000) %}{% for j in range(10000) %}{{ '' }}{% endfor %}{% endfor %}",
        "{% set n = namespace(s='a') %}{% for i in range(60) %}{% set n.s = n.s ~ n.s %}{% endfor %}{{ n.s }}",
        "{{ x }",
    ],
)
def test_a_hostile_template_ends_and_the_original_is_sent(jobs: DocumentJobs, message: str) -> None:
    result = jobs.run(f"{python('x = 1')}\n::: describe {message} :::\n")
    assert jobs.sent() == [message]
    assert codes(block(result, "instruction-1")) in (["not_rendered"], [])
    assert block(result, "instruction-1").status == "ok"


@pytest.mark.parametrize(
    ("message", "spans"),
    [
        ("{{ x }} is `{{ x }}` or {{ y | upper }}!", [("4", "x"), ("HELLO", "y")]),
        ("é {% for i in [1, 2] %}{{ x * i }},{% endfor %}", [("4", "x, i"), ("8", "x, i")]),
        ("{% set z %}{{ x }}{% endset %}words {{ z }} {{ 7 }}", [("4", "z")]),
        ("{% macro m(a) %}<{{ a }}>{% endmacro %}{{ m(y) }}", [("<hello>", "m, y")]),
        ("`code` and `more` {{ x }}", [("4", "x")]),
    ],
)
def test_a_rendered_message_says_where_each_value_stands(
    jobs: DocumentJobs, message: str, spans: list[tuple[str, str]]
) -> None:
    chunk = python("x = 4\ny = 'hello'")
    result = jobs.run(f"{chunk}\n::: describe {message} :::\n")
    told = block(result, "instruction-1")
    text = told.message_rendered or ""
    assert [(text[start:end], names) for start, end, names in told.message_spans] == spans


def test_each_variable_of_a_message_says_which_block_set_it(jobs: DocumentJobs) -> None:
    text = (
        "&[n]{int def=3}\n\n"
        + python("x = n + 1")
        + "::: describe as=told {{ x }} :::\n\n::: describe {{ n }} {{ x }} {{ told }} :::\n"
    )
    first = jobs.run(text)
    wanted = {"n": "parameter-1", "x": "chunk-1", "told": "instruction-1"}
    assert {one.name: one.block for one in block(first, "instruction-2").variables} == wanted
    jobs.keep("one", first)
    again = jobs.run(python("0") + text, previous_job_id="one")
    told = block(again, "instruction-2")
    assert (told.status, {one.name: one.block for one in told.variables}) == ("fresh", {**wanted, "x": "chunk-2"})
