"""Notebooks of nbformat 2 and 3: their cells run, and they are written as nbformat 4.5."""

from __future__ import annotations

import json

import pytest

from services.execution.documents.notebooks.reading import as_markdown, notebook_in
from tests.services.execution.documents.support import DocumentJobs
from tests.services.execution.documents.test_notebooks import Json, written
from tests.services.execution.documents.test_page import page_of


def old(*cells: object, version: int = 3, sheets: int = 1, **metadata: object) -> str:
    share = -(-len(cells) // sheets) or 1
    parts = [list(cells[at : at + share]) for at in range(0, len(cells), share)]
    worksheets = [{"cells": part, "metadata": {}} for part in parts]
    return json.dumps({"metadata": metadata, "nbformat": version, "nbformat_minor": 0, "worksheets": worksheets})


def code(source: str | list[str], **more: object) -> Json:
    outputs = [
        {"output_type": "pyout", "prompt_number": 7, "text": ["old"], "html": ["<b>old</b>"], "metadata": {}},
        {"output_type": "stream", "stream": "stdout", "text": ["old"]},
        {"output_type": "pyerr", "ename": "E", "evalue": "old", "traceback": []},
        {"output_type": "display_data", "png": "b2xk", "metadata": {}},
    ]
    return {
        "cell_type": "code", "collapsed": False, "input": source, "language": "python", "metadata": {},
        "outputs": outputs, "prompt_number": 7, **more,
    }  # fmt: skip


def test_a_notebook_of_nbformat_3_runs_and_is_written_as_4_5(jobs: DocumentJobs) -> None:
    text = old(
        {"cell_type": "heading", "level": 2, "metadata": {}, "source": ["A\n", "title"]},
        {"cell_type": "markdown", "metadata": {"own": 1}, "source": ["Some *text*"]},
        code(["x = 20 + 1\n", "print('new')\n", "x * 2"]),
        {"cell_type": "raw", "metadata": {}, "source": "raw"},
        code("x", collapsed=True, metadata={"tags": ["kept"]}),
        name="Untitled0", signature="sha256:1",
    )  # fmt: skip
    made, result = written(jobs, text)
    assert (made["nbformat"], made["nbformat_minor"]) == (4, 5)
    assert "worksheets" not in made
    assert made["metadata"] == {"name": "Untitled0", "language_info": {"name": "python"}}
    assert [(cell["cell_type"], cell["source"]) for cell in made["cells"]] == [
        ("markdown", "## A title"),
        ("markdown", "Some *text*"),
        ("code", "x = 20 + 1\nprint('new')\nx * 2"),
        ("raw", "raw"),
        ("code", "x"),
    ]
    stream, value = made["cells"][2]["outputs"]
    assert stream == {"output_type": "stream", "name": "stdout", "text": "new\n"}
    assert (value["output_type"], value["data"], value["execution_count"]) == (
        "execute_result",
        {"text/plain": "42"},
        1,
    )
    assert made["cells"][4]["metadata"] == {"tags": ["kept"], "collapsed": True}
    assert result.warnings == ["The notebook has nbformat 3; it is read, and written, as nbformat 4.5."]
    assert "A title</h2>" in page_of(jobs, result)
    assert "old" not in json.dumps(made)


def test_worksheets_follow_each_other(jobs: DocumentJobs) -> None:
    made, result = written(jobs, old(code("a = 1"), code("b = a + 1"), code("b"), sheets=2))
    assert [one.status for one in result.blocks] == ["ok", "ok", "ok"]
    assert made["cells"][2]["outputs"][0]["data"] == {"text/plain": "2"}


def test_a_notebook_of_nbformat_2_is_read(jobs: DocumentJobs) -> None:
    html: Json = {"cell_type": "html", "source": "<b>bold</b>"}
    cells = [code("5"), html, {"cell_type": "markdown", "source": ["a\n", "b"]}]
    made, result = written(jobs, old(*cells, version=2))
    assert [cell["cell_type"] for cell in made["cells"]] == ["code", "markdown", "markdown"]
    assert result.warnings == ["The notebook has nbformat 2; it is read, and written, as nbformat 4.5."]
    assert "<b>bold</b>" in page_of(jobs, result)


def test_the_language_of_the_cells_counts(jobs: DocumentJobs) -> None:
    text = old(code("const a = 3; a", language="javascript"), code("a", language="JavaScript"), code("1"))
    made, result = written(jobs, text)
    assert [one.language for one in result.blocks] == ["javascript", "javascript", "python"]
    assert made["metadata"]["language_info"] == {"name": "javascript"}


def test_magics_and_checks_work_as_in_newer_notebooks(jobs: DocumentJobs) -> None:
    text = old(code(["%pylab inline\n", "plot([1, 2])"]), code("print(1"))
    checked = jobs.run(text, execute="none")
    assert checked.blocks[1].status == "error"
    assert "The notebook has nbformat 3; it is read, and written, as nbformat 4.5." in checked.warnings


def test_a_second_run_keeps_what_has_not_changed(jobs: DocumentJobs) -> None:
    jobs.keep("one", jobs.run(old(code("a = 1"), code("a + 1"))))
    again = jobs.run(old(code("a = 1"), code("a + 2")), previous_job_id="one")
    assert [one.status for one in again.blocks] == ["fresh", "ok"]


@pytest.mark.parametrize(
    "cells",
    [
        [1, None, [], "x"],
        [{"cell_type": "code"}, {"cell_type": "heading"}, {"cell_type": []}, {"cell_type": "unknown", "source": "x"}],
        [{"cell_type": "heading", "level": "2", "source": 5}, {"cell_type": "heading", "level": 99, "source": "deep"}],
        [code("1", language=5, metadata=[], collapsed="no")],
    ],
)
def test_cells_that_are_not_as_they_should_be_are_read_as_far_as_they_go(cells: list[object]) -> None:
    held = notebook_in(old(*cells))
    assert held is not None
    assert all(isinstance(cell["source"], str) for cell in held["cells"])
    assert isinstance(as_markdown(held), str)
