"""Notebooks given as documents, and documents written as notebooks that nbformat's own schema accepts."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from services.execution.documents.notebooks.reading import as_markdown, notebook_in
from shared.contracts.document import DocumentResult
from shared.errors import InvalidRequest
from tests.services.execution.documents.support import DocumentJobs, block
from tests.services.execution.documents.test_page import page_of

Json = dict[str, Any]
SCHEMA = json.loads((Path(__file__).parent / "nbformat" / "nbformat.v4.5.schema.json").read_text())


def code(source: str, id: str = "", **metadata: object) -> Json:
    cell: Json = {"cell_type": "code", "source": source, "metadata": metadata, "outputs": [], "execution_count": None}
    return {**cell, "id": id} if id else cell


def prose(source: str | list[str], id: str = "", **more: object) -> Json:
    return {"cell_type": "markdown", "source": source, "metadata": {}, **({"id": id} if id else {}), **more}


def notebook(*cells: Json, minor: int = 5, **metadata: object) -> str:
    return json.dumps({"nbformat": 4, "nbformat_minor": minor, "metadata": metadata, "cells": cells})


def written(jobs: DocumentJobs, text: str, **wanted: object) -> tuple[Json, DocumentResult]:
    """The notebook that a document becomes, which the schema accepts."""
    result = jobs.run(text, "An answer.", None, None, notebook=True, **wanted)
    assert result.notebook_file_id is not None
    made: Json = json.loads(jobs.files.contents[result.notebook_file_id][1])
    if made["nbformat_minor"] >= 5:
        jsonschema_rs.validator_for(SCHEMA).validate(made)
    return made, result


def test_the_cells_of_a_notebook_run(jobs: DocumentJobs) -> None:
    text = notebook(code("print(1)"))
    result = jobs.run(text)
    assert [(each.kind, each.status, each.outputs[0].text) for each in result.blocks] == [("chunk", "ok", "1\n")]
    assert "<pre>1" in page_of(jobs, result)


def test_a_notebook_keeps_its_cells_and_metadata_and_gains_outputs(jobs: DocumentJobs) -> None:
    cells = [
        prose("# Title\n\n:::{note}\nMind this.\n:::", "head"),
        code(
            "import pandas as pd\ntable = pd.DataFrame({'a': [1, 2]})\ntable", "table", tags=["keep"], custom={"x": 1}
        ),
        code("import sys\nprint('out')\nprint('err', file=sys.stderr)", "streams"),
        code(
            "from IPython.display import Markdown, JSON, display\ndisplay(Markdown('*m*'), JSON({'k': [1]}))", "shows"
        ),
        code("import matplotlib.pyplot as plt\nplt.plot([1, 2]);", "plots"),
        code("1 / 0", "fails"),
        code("", "empty"),
        code("x = 5", "silent"),
    ]
    made, result = written(
        jobs,
        notebook(*cells, kernelspec={"name": "python3", "language": "python", "display_name": "P"}, own={"deep": True}),
    )
    assert made["metadata"]["own"] == {"deep": True}
    assert [(cell["id"], cell["source"], cell["metadata"]) for cell in made["cells"]] == [
        (cell["id"], cell["source"], cell["metadata"]) for cell in cells
    ]
    outputs = {cell["id"]: cell.get("outputs") for cell in made["cells"]}
    (table,) = outputs["table"]
    assert table["output_type"] == "execute_result"
    assert table["execution_count"] == made["cells"][1]["execution_count"] == 1
    assert "<table" in table["data"]["text/html"]
    assert table["data"]["text/plain"].startswith("   a")
    assert [(each["output_type"], each["name"], each["text"]) for each in outputs["streams"]] == [
        ("stream", "stdout", "out\n"), ("stream", "stderr", "err\n"),
    ]  # fmt: skip
    assert [each["data"] for each in outputs["shows"]] == [{"text/markdown": "*m*"}, {"application/json": {"k": [1]}}]
    (plot,) = outputs["plots"]
    assert base64.b64decode(plot["data"]["image/png"]).startswith(b"\x89PNG")
    (error,) = outputs["fails"]
    assert (error["output_type"], error["ename"], error["evalue"]) == ("error", "ZeroDivisionError", "division by zero")
    assert outputs["silent"] == []
    assert [cell["execution_count"] for cell in made["cells"] if cell["cell_type"] == "code"] == [1, 2, 3, 4, 5, 6, 7]
    assert '<aside class="callout note">' in page_of(jobs, result)


def test_magics_tags_and_languages_of_notebooks(jobs: DocumentJobs) -> None:
    cells = [
        code("%matplotlib inline\n%load_ext autoreload\nsecret = 1", "setup", tags=["remove-cell"]),
        code("%%time\nsecret + 1", "timed", tags=["remove-input"]),
        code("%%sql\nselect 40 + 2 as n", "query"),
        code("#| echo: false\nprint('quarto here')", "quarto"),
        code("1/0", "raises", tags=["raises-exception"]),
    ]
    made, result = written(jobs, notebook(*cells, minor=4))
    assert made["nbformat_minor"] == 4
    assert [each.status for each in result.blocks] == ["ok"] * 5
    assert made["cells"][0]["source"] == cells[0]["source"]
    assert made["cells"][4]["outputs"][0]["output_type"] == "error"
    page = page_of(jobs, result)
    assert "secret" not in page
    assert "quarto here" in page
    assert "print(" not in page
    assert "42</td>" in page


def test_the_language_of_a_notebook_is_its_kernels(jobs: DocumentJobs) -> None:
    result = jobs.run(
        notebook(
            code("const x = [1, 2]; x.length"),
            kernelspec={"name": "deno", "display_name": "Deno", "language": "javascript"},
        )
    )
    assert [(each.language, each.status) for each in result.blocks] == [("javascript", "ok")]
    unknown = jobs.run(
        notebook(code("x = 1"), kernelspec={"name": "julia-1.9", "display_name": "J", "language": "julia"})
    )
    assert [each.code for each in unknown.blocks[0].messages] == ["language_unavailable"]


def test_a_cell_that_never_ends_its_code_ends_with_itself(jobs: DocumentJobs) -> None:
    pixel = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
    cells = [
        prose("```python\nnot run"), prose("![p](attachment:p.png)", attachments={"p.png": {"image/png": pixel}}),
        code("print('```')\nprint('````')"), prose(["two ", "lines"]),
    ]  # fmt: skip
    result = jobs.run(notebook(*cells, minor=4))
    page = page_of(jobs, result)
    assert result.blocks[0].outputs[0].text == "```\n````\n"
    assert f"data:image/png;base64,{pixel}" in page
    assert "<p>two lines</p>" in page
    assert "+++" not in page


def test_instructions_of_a_notebook_are_answered_in_their_cell(jobs: DocumentJobs) -> None:
    made, _ = written(jobs, notebook(code("x = 4", "a"), prose("::: describe Say {{x}} :::", "b"), prose("End.", "c")))
    assert jobs.sent() == ["Say 4"]
    assert "An answer." in made["cells"][1]["source"]
    assert made["cells"][2]["source"] == "End."


def test_parameters_of_papermill_are_set(jobs: DocumentJobs) -> None:
    text = notebook(code("n = 1", "p", tags=["parameters"]), code("print(n)", "q"))
    assert block(jobs.run(text, parameters={"n": 7}), "q").outputs[0].text == "7\n"


@pytest.mark.parametrize(
    "text",
    [
        '{"nbformat": 1, "cells": []}',
        '{"nbformat": 3, "cells": []}',
        '{"nbformat": "3", "worksheets": []}',
        '{"nbformat": 4, "worksheets": []}',
        '{"nbformat": [3], "worksheets": []}',
    ],
)
def test_json_that_claims_to_be_a_notebook_and_is_not_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest, match="nbformat"):
        notebook_in(text)


def test_other_json_is_text() -> None:
    assert notebook_in('{"a": 1}') is None
    assert notebook_in("{not json") is None
    assert notebook_in("# Text") is None
    assert as_markdown({"nbformat": 4, "cells": []}) == ""


def test_a_document_becomes_a_notebook_without_what_is_hidden(jobs: DocumentJobs) -> None:
    text = (
        "---\ntitle: Ships\nauthor: Doe\n---\n\nSee `{python} 6 * 7`.\n\n"
        "```{python}\n#| include: false\nhidden_name = 1\n```\n\n"
        "```{python}\n#| echo: false\nprint('seen')\n```\n\n"
        "```{python}\n#| output: false\nprint('unseen' + 'output')\n```\n\n"
        "{{< include part.md >}}\n\n> ```{python}\n> 1 + 1\n> ```\n\n```{sql}\nselect 1\n```\n"
    )
    part = jobs.files.save("part.md", b"Of the *part*.\n\n```{python}\nprint('from part')\n```\n", "text/markdown")
    made, _ = written(jobs, text, flavour="quarto", files=[{"id": part.id, "path": "part.md"}])
    cells = [(cell["cell_type"], cell["source"]) for cell in made["cells"]]
    assert cells == [
        ("markdown", "# Ships\n\nDoe\n\n\nSee 42."), ("code", ""), ("code", "print('unseen' + 'output')\n"),
        ("markdown", "Of the *part*."), ("code", "print('from part')\n"), ("code", "1 + 1\n"),
        ("code", "%%sql\nselect 1\n"),
    ]  # fmt: skip
    outputs = [cell["outputs"] for cell in made["cells"] if cell["cell_type"] == "code"]
    assert [len(each) for each in outputs] == [1, 0, 1, 1, 1]
    assert outputs[3][0]["data"] == {"text/plain": "2"}
    assert "hidden_name" not in json.dumps(made)
    assert "unseenoutput" not in json.dumps(made)


def test_chunks_of_a_second_language_keep_their_outputs_and_run_again(jobs: DocumentJobs) -> None:
    text = (
        "```python exec\nrows = [{'a': 1}, {'a': 2}]\nlen(rows)\n```\n\n"
        "```sql exec\nselect sum(a) as total from rows\n```\n\n"
        "```javascript exec\nconsole.log('from JS'); 1 + 1\n```\n\n"
        "```python exec\nlen(rows) + 1\n```\n"
    )
    made, _ = written(jobs, text)
    cells = [cell for cell in made["cells"] if cell["cell_type"] == "code"]
    assert [cell["source"].partition("\n")[0] for cell in cells] == [
        "rows = [{'a': 1}, {'a': 2}]", "%%sql", "console.log('from JS'); 1 + 1", "len(rows) + 1",
    ]  # fmt: skip
    assert [cell["metadata"] for cell in cells] == [{}, {}, {"vscode": {"languageId": "javascript"}}, {}]
    assert "<td" in cells[1]["outputs"][0]["data"]["text/html"]
    assert [each["output_type"] for each in cells[2]["outputs"]] == ["stream", "execute_result"]
    again, _ = written(jobs, json.dumps(made))
    assert [cell["outputs"] for cell in again["cells"]] == [cell["outputs"] for cell in made["cells"]]


def test_a_notebook_keeps_pictures_and_unclosed_fences_and_the_notations(jobs: DocumentJobs) -> None:
    for flavour, text in (
        ("quarto", "a\n\n```{python}\n1\n```\n\n~~~~{python}\n'~~~'\n~~~~\n"),
        ("myst", "a\n\n```{code-cell} python\n1\n```\n\n~~~~{code-cell} python\n'~~~'\n~~~~\n"),
        ("stencila", "a\n\n```python exec\n1\n```\n\n~~~~python exec\n'~~~'\n~~~~\n"),
    ):
        made, _ = written(jobs, text, flavour=flavour)
        assert [cell["source"] for cell in made["cells"]] == ["a", "1\n", "'~~~'\n"]
        assert made["cells"][1]["outputs"][0]["data"] == {"text/plain": "1"}
    made, _ = written(jobs, "```python exec\n3", flavour="stencila")
    assert [cell["source"] for cell in made["cells"]] == ["3"]


def test_cells_without_an_id_get_one_that_no_other_cell_has(jobs: DocumentJobs) -> None:
    cells = [code("a = 1"), code("b = 2", "cell-4"), code("c = 3", "cell-4"), code("print(a + b + c)"), prose("End.")]
    made, result = written(jobs, notebook(*cells))
    ids = [cell["id"] for cell in made["cells"]]
    assert ids == ["cell-1", "cell-4", "cell-3", "cell-4-2", "cell-5"]
    assert [each.id for each in result.blocks] == ids[:4]
    assert block(result, "cell-4-2").outputs[0].text == "6\n"
    old, _ = written(jobs, notebook(*cells, minor=4))
    assert ["id" in cell for cell in old["cells"]] == [False, True, True, False, False]


@pytest.mark.parametrize(
    "odd",
    [
        {"metadata": {"tags": "remove-input"}}, {"metadata": {"tags": True}}, {"metadata": {"tags": [1, None, "a"]}},
        {"metadata": None}, {"metadata": []}, {"metadata": {"vscode": {"languageId": {"a": 1}}}},
        {"metadata": {"vscode": {"languageId": "python\nimport os"}}}, {"metadata": {"vscode": None}},
        {"metadata": {"jupyter": 3}}, {"id": 7}, {"id": "with space"}, {"source": ["print(1)", None]},
    ],
)  # fmt: skip
def test_a_cell_with_odd_metadata_runs(jobs: DocumentJobs, odd: Json) -> None:
    result = jobs.run(notebook(code("print(1)", "a") | odd), notebook=True)
    assert [(each.status, each.outputs[0].text) for each in result.blocks] == [("ok", "1\n")]


@pytest.mark.parametrize("odd", [{"source": None}, {"source": 3}, {"metadata": None}])
def test_what_a_cell_lacks_is_empty_in_the_notebook(jobs: DocumentJobs, odd: Json) -> None:
    made, _ = written(jobs, notebook(code("", "a") | odd))
    assert (made["cells"][0]["source"], made["cells"][0]["metadata"]) == ("", {})
    assert made["cells"][0]["outputs"] == []


@pytest.mark.parametrize(
    ("metadata", "language"),
    [
        ({"kernelspec": {"name": "conda-env-base-py", "display_name": "Python [conda env:base]"}}, "python"),
        ({"kernelspec": {"name": "python38-azureml", "display_name": "Python 3.8 - AzureML"}}, "python"),
        ({"kernelspec": {"name": "4fe1b2", "display_name": "Python 3 (venv)"}}, "python"),
        ({"kernelspec": {"name": "conda-env-stats-r", "display_name": "R [conda env:stats]"}}, "r"),
        ({"kernelspec": {"name": "julia-1.9", "display_name": "Julia 1.9"}}, "julia-1.9"),
        ({"kernelspec": {"name": ["x"], "language": ["python"]}}, "python"),
        ({"kernelspec": {"language": None}, "language_info": {"name": "R"}}, "r"),
        ({"application/vnd.databricks.v1+notebook": {"language": "sql"}}, "sql"),
        ({}, "python"),
    ],
)
def test_the_language_is_read_from_what_editors_write(metadata: Json, language: str) -> None:
    text = as_markdown({"nbformat": 4, "metadata": metadata, "cells": [code("1", "a")]})
    assert text.startswith(f"```{{code-cell}} {language}\n")


@pytest.mark.parametrize(
    "own", [{"vscode": {"languageId": "javascript"}}, {"polyglot_notebook": {"kernelName": "javascript"}}]
)
def test_a_cell_has_the_language_that_its_editor_set(own: Json) -> None:
    assert as_markdown({"nbformat": 4, "cells": [code("1", "a", **own)]}).startswith("```{code-cell} javascript\n")


def test_cells_of_databricks_are_in_the_language_of_their_magic(jobs: DocumentJobs) -> None:
    cells = [
        code("%sql\nselect 40 + 2 as n", "query"), code("%md # Head\nand *more*", "head"),
        code("%md\nonly **this**", "prose"), code("\n%python\nprint(3)", "python"), code("%sh\nls -l", "shell"),
        code("mod = 7\nprint(9\n%mod)", "modulo"),
    ]  # fmt: skip
    result = jobs.run(notebook(*cells, minor=0))
    assert [each.status for each in result.blocks] == ["ok"] * 6
    assert [each.text for each in block(result, "python").outputs] == ["3\n"]
    assert block(result, "python").messages == []
    assert [each.text for each in block(result, "modulo").outputs] == ["2\n"]
    assert [each.code for each in block(result, "shell").messages] == ["magic"]
    page = page_of(jobs, result)
    assert "42</td>" in page
    assert "<em>more</em>" in page
    assert "<strong>this</strong>" in page


def test_half_a_surrogate_pair_in_a_notebook_is_a_replacement_character(jobs: DocumentJobs) -> None:
    made, result = written(jobs, notebook(code("print(len('\ud83d'))", "a"), prose("\ude00 alone", "b")))
    assert block(result, "a").outputs[0].text == "1\n"
    assert "<p>\ufffd alone</p>" in page_of(jobs, result)
    assert [cell["id"] for cell in made["cells"]] == ["a", "b"]


def test_a_notebook_nested_too_deeply_is_refused(jobs: DocumentJobs) -> None:
    deep: Json = {}
    for _ in range(900):
        deep = {"a": deep}
    with pytest.raises(InvalidRequest, match="within each other"):
        jobs.run(notebook(code("1", "a", deep=deep)), notebook=True)
    kept: Json = {}
    for _ in range(90):
        kept = {"a": kept}
    made, _ = written(jobs, notebook(code("1", "a", deep=kept)))
    assert made["cells"][0]["metadata"] == {"deep": kept}


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        ([code("n = 1"), code("print(n)")], "the document's code assigns n itself"),
        ([code("n = 1\nprint(n)")], "the document's code assigns n itself"),
        ([code("print(1)")], "nothing uses it"),
    ],
)
def test_a_parameter_that_a_notebook_does_not_take_is_reported(jobs: DocumentJobs, cells: list[Json], why: str) -> None:
    for execute in ("all", "none"):
        (warning,) = jobs.run(notebook(*cells), parameters={"n": 7}, execute=execute).warnings
        assert warning.startswith(f"Parameter n has no effect: {why}.")
        assert "tag the cell" in warning


@pytest.mark.parametrize(
    "cells",
    [
        [code("n = 1", tags=["parameters"]), code("print(n)")],
        [code("print(n)")],
        [code("n = n + 1\nprint(n)")],
        [prose("The number is `n`{python exec}.")],
    ],
)
def test_a_parameter_that_has_an_effect_is_not_reported(jobs: DocumentJobs, cells: list[Json]) -> None:
    assert jobs.run(notebook(*cells), parameters={"n": 7}).warnings == []
