"""Code in document order: errors in their place, values across languages, conditions, loops, includes."""

from __future__ import annotations

import pytest

from shared.contracts.document import DocumentInput
from shared.loop import Budget
from tests.services.execution.documents.support import DocumentJobs, block, codes, python
from tests.support.languages import skip_unless_installed


def texts(result: object, identity: str) -> list[str | None]:
    return [output.text for output in block(result, identity).outputs]  # type: ignore[arg-type]


def test_an_error_stands_in_its_place_dependants_are_skipped_and_the_rest_goes_on(jobs: DocumentJobs) -> None:
    text = python("a = 1 / 0") + "\n" + python("b = a + 1") + "\n" + python("c = b") + "\n" + python("d = 5\nd")
    result = jobs.run(text)
    assert [one.status for one in result.blocks] == ["error", "skipped", "skipped", "ok"]
    assert "ZeroDivisionError" in block(result, "chunk-1").messages[0].text
    assert "chunk-1" in block(result, "chunk-2").messages[0].text
    assert codes(block(result, "chunk-3")) == ["dependency_failed"]
    assert texts(result, "chunk-4") == ["5"]
    assert result.markdown == text


def test_a_name_that_is_set_again_is_whole_again(jobs: DocumentJobs) -> None:
    result = jobs.run(python("a = 1 / 0") + python("a = 2") + python("a + 1"))
    assert [one.status for one in result.blocks] == ["error", "ok", "ok"]


@pytest.mark.slow(seconds=1)
def test_tables_cross_from_sql_to_python_and_back(jobs: DocumentJobs) -> None:
    text = (
        "```sql exec\ncreate table t as select range as n from range(4)\n```\n"
        + python("total = int(t.n.sum())\nmore = t.assign(m=t.n * 2)")
        + "```sql exec\nselect sum(m) as s, getvariable('total') as v from more\n```\n"
        + "::: describe {{ total }} :::\n"
    )
    result = jobs.run(text)
    assert [one.status for one in result.blocks] == ["ok"] * 4
    assert "12" in str(texts(result, "chunk-3")[0])
    assert jobs.sent() == ["6"]


def test_a_condition_without_a_language_is_asked_of_the_last_one_with_variables(jobs: DocumentJobs) -> None:
    result = jobs.run(python("x = 4") + "```sql exec\nselect 1 as one\n```\n::: if x > 3\n" + python("x * 2") + ":::\n")
    assert [one.status for one in result.blocks] == ["ok"] * 4
    assert texts(result, "chunk-3") == ["8"]


def test_a_kernel_that_dies_leaves_the_rest_of_the_document(jobs: DocumentJobs) -> None:
    text = python("x = 1") + python("import os\nos._exit(3)") + python("y = x") + python("z = 7\nz")
    result = jobs.run(text)
    assert [one.status for one in result.blocks] == ["ok", "error", "skipped", "ok"]
    assert codes(block(result, "chunk-2")) == ["code_failed"]
    assert codes(block(result, "chunk-3")) == ["dependency_failed"]
    assert texts(result, "chunk-4") == ["7"]


def test_a_language_without_a_kernel_is_a_message(jobs: DocumentJobs) -> None:
    result = jobs.run("```fortran exec\nx\n```\n" + python("1 + 1"))
    assert codes(block(result, "chunk-1")) == ["language_unavailable"]
    assert block(result, "chunk-2").status == "ok"


@pytest.mark.parametrize(("x", "taken"), [(5, "big"), (3, "middle"), (1, "small")])
def test_only_the_clause_that_holds_runs(jobs: DocumentJobs, x: int, taken: str) -> None:
    text = (
        python(f"x = {x}") + "::: if x > 4\n" + python("print('big')") + "::: elif `x > 2` {python}\n"
        "" + python("print('middle')") + "::: else\n" + python("print('small')") + ":::\n"
    )
    result = jobs.run(text)
    assert [output.text for one in result.blocks for output in one.outputs] == [f"{taken}\n"]
    assert block(result, "if-1").lines == (4, 16)


def test_a_loop_sets_its_variable_each_time(jobs: DocumentJobs) -> None:
    text = python("items = ['a', 'b']") + "::: for item in items\n" + python("print(item)") + ":::\n"
    result = jobs.run(text)
    assert texts(result, "chunk-2") == ["a\n", "b\n"]
    empty = jobs.run("::: for item in []\n" + python("1") + "::: else\n" + python("print('none')") + ":::\n")
    assert [output.text for one in empty.blocks for output in one.outputs] == ["none\n"]


def test_inline_code_has_its_value_as_output(jobs: DocumentJobs) -> None:
    result = jobs.run(python("x = 4") + "It is `x + 1`{python exec}, not `x`.\n")
    assert texts(result, "expression-1") == ["5"]
    assert block(result, "expression-1").lines == (4, 4)


def test_includes_come_from_the_documents_files_only(jobs: DocumentJobs) -> None:
    inner = jobs.files.add("inner.md", python("shared = 8").encode())
    loop = jobs.files.add("loop.md", b"::: include loop.md\n")
    text = (
        "::: include parts/inner.md\n\n::: include ../../etc/passwd\n\n::: include https://example.org/a.md\n\n"
        "::: include parts/none.md\n\n::: include parts/loop.md\n\n::: describe {{ shared }} :::\n"
    )
    files = [{"id": inner, "path": "parts/inner.md"}, {"id": loop, "path": "parts/loop.md"}]
    result = jobs.run(text, files=files)
    assert jobs.sent() == ["8"]
    assert [codes(block(result, f"include-{n}")) for n in range(1, 6)] == [
        [], ["include_not_allowed"], ["include_not_allowed"], ["include_not_found"], [],
    ]  # fmt: skip
    assert codes(block(result, "include-5/include-1")) == ["include_cycle"]


def test_parameters_are_values_and_wrong_ones_are_refused_at_submit(jobs: DocumentJobs) -> None:
    text = "How many: &[n]{int min=1 max=5 def=2}\n\n" + python("m = n * 10") + "\n::: describe {{ n }} {{ m }} :::\n"
    jobs.run(text)
    assert jobs.sent() == ["2 20"]
    jobs.run(text, parameters={"n": 3})
    assert jobs.sent() == ["3 30"]
    for wrong in ({"n": 9}, {"n": "3"}, {"n": 1.5}, {"m": 1}):
        with pytest.raises(ValueError, match="parameter"):
            DocumentInput.model_validate({"markdown": text, "parameters": wrong})


def test_without_a_provider_the_code_still_runs(jobs: DocumentJobs) -> None:
    result = jobs.run(python("x = 1\nx") + "::: describe {{ x }} :::\n", answer=None)
    assert texts(result, "chunk-1") == ["1"]
    told = block(result, "instruction-1")
    assert (told.status, codes(told), told.message_rendered) == ("error", ["no_provider_configured"], "1")


def test_a_spent_budget_leaves_a_message_in_each_block_left(jobs: DocumentJobs) -> None:
    text = "::: describe one :::\n\n::: describe two :::\n\n" + python("1") + "\n::: describe three :::\n"
    result = jobs.run(text, budget=Budget(turns=1))
    assert jobs.sent() == ["one"]
    assert [one.status for one in result.blocks] == ["ok", "skipped", "skipped", "skipped"]
    assert all("budget_spent" in codes(one) for one in result.blocks[1:])


def test_a_dry_run_renders_and_asks_nobody(jobs: DocumentJobs) -> None:
    text = python("x = 4") + "::: describe x2 It is {{ x }} :::\n"
    result = jobs.run(text, dry_run=True)
    assert jobs.sent() == []
    assert result.markdown == text
    assert block(result, "instruction-1").message_rendered == "It is 4"
    assert result.estimate is not None
    assert result.estimate.calls == 2
    assert result.estimate.input_tokens > 0


def test_none_gives_the_document_back(jobs: DocumentJobs) -> None:
    text = "\ufeff" + python("x = 4").replace("\n", "\r\n") + "::: describe {{ x }} :::"
    result = jobs.run(text, execute="none")
    assert result.markdown == text
    assert jobs.sent() == []


def test_events_tell_when_a_block_starts_and_ends(jobs: DocumentJobs) -> None:
    jobs.run(python("x = 4"))
    assert [(name, data["block_id"]) for name, data in jobs.report.events if name.startswith("block")] == [
        ("block_started", "chunk-1"),
        ("block_finished", "chunk-1"),
    ]


def test_edit_and_fix_send_their_content_and_fix_the_errors(jobs: DocumentJobs) -> None:
    jobs.run("::: edit Make it shorter >>>\n\nA long paragraph\nof text.\n\nAnother.\n")
    assert jobs.sent() == ["Make it shorter\n\nA long paragraph\nof text."]
    jobs.run("::: fix Repair it\n\n" + python("1 / 0") + "\n:::\n")
    assert "1 / 0" in jobs.sent()[0]
    assert "ZeroDivisionError" in jobs.sent()[0]


def test_an_answer_is_inert_whatever_it_holds(jobs: DocumentJobs) -> None:
    hostile = "Hi\n:++\n" + python("print('out')") + ":::\n```python exec\nprint(1)"
    result = jobs.run("::: create Something :::\n\nAfter.\n", answer=hostile)
    again = jobs.run(result.markdown, answer="Other.")
    assert not [one for one in again.blocks if one.kind == "chunk"]
    assert again.markdown == '::: create Something :::\n\n:++ {by="scripted/scripted-1"}\nOther.\n:++\n\nAfter.\n'


def test_replicates_give_several_answers_and_as_makes_one_a_variable(jobs: DocumentJobs) -> None:
    result = jobs.run(
        "::: create x2 as=word A word :::\n\n::: describe {{ word }} :::\n", answer=["one", "two", "three"]
    )
    assert jobs.sent()[-1] == "one"
    assert result.markdown.count(":++ {by=") == 3


def test_the_page_is_sanitised_and_stands_alone(jobs: DocumentJobs) -> None:
    code = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nprint('<script>alert(1)</script>')"
    text = "# Title\n\n<script>alert(2)</script> [a](javascript:alert(3))\n\n" + python(code) + "::: describe it :::\n"
    result = jobs.run(text, answer="![x](https://example.org/x.png) <img src=x onerror=alert(4)>")
    assert result.html_file_id is not None
    page = jobs.files.contents[result.html_file_id][1].decode()
    assert '<h1 id="title">Title</h1>' in page
    assert 'src="data:image/png;base64,' in page
    assert "<script" not in page
    assert "<img src=x" not in page
    assert 'href="javascript' not in page
    assert "default-src 'none'" in page


def test_generated_code_runs_only_when_asked_for_and_sees_its_errors(jobs: DocumentJobs) -> None:
    wrong, right = "```python\nmade = 1 / 0\n```", "```python\nmade = 41\n```"
    text = "::: create execute=true Code that sets made :::\n\n" + python("made + 1")
    result = jobs.run(text, answer=[wrong, right])
    assert len(jobs.sent()) == 2
    assert "ZeroDivisionError" in jobs.sent()[1]
    assert texts(result, "chunk-1") == ["42"]
    assert "made = 41" in result.markdown
    assert "1 / 0" not in result.markdown
    jobs.keep("one", result)
    again = jobs.run(result.markdown.replace("made + 1", "made + 2"), previous_job_id="one")
    assert jobs.sent() == []
    assert texts(again, "chunk-1") == ["43"]
    inert = jobs.run("::: create Code that sets made :::\n\n" + python("made + 1"), answer=right)
    assert block(inert, "chunk-1").status == "error"


def test_generated_code_that_never_works_is_a_message(jobs: DocumentJobs) -> None:
    result = jobs.run("::: create execute=true Code :::\n", answer="```python\n1 / 0\n```")
    assert len(jobs.sent()) == 3
    assert codes(block(result, "instruction-1")) == ["generated_code_failed"]
    assert "1 / 0" in result.markdown


def test_the_page_holds_values_of_inline_code_and_not_what_was_not_chosen(jobs: DocumentJobs) -> None:
    text = "It is `'<b>*x*</b>'`{python exec}.\n\n::: if False {python}\n" + python("hidden = 1") + ":::\n"
    result = jobs.run(text)
    assert result.html_file_id is not None
    page = jobs.files.contents[result.html_file_id][1].decode()
    assert "It is &lt;b&gt;*x*&lt;/b&gt;." in page
    assert "hidden" not in page
    assert codes(block(result, "chunk-1")) == ["not_taken"]


@pytest.mark.slow
@pytest.mark.parametrize("source", ["python", "javascript", "r", "sql"])
@pytest.mark.parametrize("target", ["python", "javascript", "r"])
def test_tables_and_plain_values_cross_between_languages(jobs: DocumentJobs, source: str, target: str) -> None:
    skip_unless_installed(jobs.sandbox, source, target)
    makes = {
        "python": "import pandas as pd\ntab = pd.DataFrame({'n': [1, 2, 3]})",
        "javascript": "var tab = [{n: 1}, {n: 2}, {n: 3}]",
        "r": "tab <- data.frame(n = c(1L, 2L, 3L))",
        "sql": "create table tab as select range + 1 as n from range(3)",
    }
    reads = {
        "python": "sum(row['n'] for row in (tab if isinstance(tab, list) else tab.to_dict('records')))",
        "javascript": "tab.reduce((sum, row) => sum + row.n, 0)",
        "r": "sum(if (is.data.frame(tab)) tab$n else sapply(tab, function(row) row$n))",
    }
    text = f"```{source} exec\n{makes[source]}\n```\n\n```{target} exec\n{reads[target]}\n```\n"
    result = jobs.run(text)
    assert [one.status for one in result.blocks] == ["ok", "ok"], [one.messages for one in result.blocks]
    assert "6" in str(texts(result, "chunk-2")[0])


def test_a_value_of_a_gigabyte_and_one_that_holds_itself_are_looks_only(jobs: DocumentJobs) -> None:
    text = python("big = 'x' * 200_000_000") + "::: describe {{ big }} :::\n" + python("ring = []\nring.append(ring)")
    result = jobs.run(text + "::: describe {{ ring }} :::\n")
    assert [one.status for one in result.blocks] == ["ok"] * 4
    assert all(len(sent) < 20_000 for sent in jobs.sent())
    assert block(result, "instruction-1").variables[0].truncated


def test_what_is_to_be_fixed_runs_first(jobs: DocumentJobs) -> None:
    jobs.run("::: fix Repair it >>>\n\n" + python("1 / 0"))
    assert "ZeroDivisionError" in jobs.sent()[0]


@pytest.mark.slow
def test_a_wide_table_is_a_bounded_look(jobs: DocumentJobs) -> None:
    code = "import pandas as pd\nwide = pd.DataFrame({f'c{n}': ['x' * 10_000] for n in range(1000)})"
    jobs.run(python(code) + "::: describe {{ wide }} has {{ wide.columns | length }} :::\n")
    assert "1 rows x 1000 columns" in jobs.sent()[0]
    assert "800 more columns" in jobs.sent()[0]
    assert len(jobs.sent()[0]) < 20_000


def test_a_discussion_is_remembered(jobs: DocumentJobs) -> None:
    jobs.run(python("x = 4") + "::: discuss What is {{ x }}? :::\n", answer="Four.")
    assert jobs.report.said == [("What is 4?", "Four.")]


@pytest.mark.slow(seconds=1)
def test_a_table_that_is_too_large_to_cross_is_seen_by_its_first_rows_and_comes_back(jobs: DocumentJobs) -> None:
    code = "import pandas as pd\nlong = pd.DataFrame({'a': range(9_000_000)})"
    text = python(code) + "::: describe {{ long }} :::\n" + python("len(long)")
    result = jobs.run(text)
    assert "9000000 rows x 1 columns" in jobs.sent()[0]
    assert block(result, "instruction-1").variables[0].truncated
    jobs.keep("one", result)
    again = jobs.run(text.replace("len(long)", "len(long) + 1"), previous_job_id="one")
    assert [one.status for one in again.blocks if one.kind != "suggestion"] == ["fresh", "fresh", "ok"]
    assert texts(again, "chunk-2") == ["9000001"]
