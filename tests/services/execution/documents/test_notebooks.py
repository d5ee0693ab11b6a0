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


def test_an_old_notebook_is_refused_and_other_json_is_text(jobs: DocumentJobs) -> None:
    with pytest.raises(InvalidRequest, match="nbformat 3"):
        notebook_in('{"nbformat": 3, "worksheets": []}')
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
        ("markdown", "```sql\nselect 1\n```"),
    ]  # fmt: skip
    outputs = [cell["outputs"] for cell in made["cells"] if cell["cell_type"] == "code"]
    assert [len(each) for each in outputs] == [1, 0, 1, 1]
    assert outputs[3][0]["data"] == {"text/plain": "2"}
    assert "hidden_name" not in json.dumps(made)
    assert "unseenoutput" not in json.dumps(made)


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
