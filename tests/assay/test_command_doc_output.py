"""Documents as notebooks, PDF and Word, and the preview of one that is being written."""

from __future__ import annotations

import json
import re
import shutil
import signal
import zipfile
from pathlib import Path

import httpx2 as httpx
import pytest

from assay.commands.doc_output import _CHROMIUM, _for_word, content_of
from assay.commands.doc_preview import Preview
from assay.commands.session import UsageError
from tests.assay.terminal import Shell, written
from tests.support.wait import until

DOCUMENT = """---
title: Ships
bibliography: refs.bib
---

See [@doe, p. 3].

```python exec
print(6 * 7)
```

```sql exec
SELECT 1 AS a
```

```python exec
1 / 0
```
"""
BIB = "@book{doe, author = {Doe, Jane}, title = {Hulls}, year = 2020}\n"


def shipped(shell: Shell, target: str) -> int:
    written(shell, "refs.bib", BIB)
    ran = shell("doc", "run", written(shell, "ships.md", DOCUMENT), "--file", "refs.bib", "-o", target)
    assert "ZeroDivisionError" in ran.talk, ran.talk
    return ran.status


@pytest.mark.slow
def test_a_document_becomes_a_notebook_and_a_page_with_its_citations(shell: Shell) -> None:
    assert shipped(shell, "ships.ipynb") == 1
    made = json.loads((shell.folder / "ships.ipynb").read_text())
    assert (made["nbformat"], made["metadata"]["kernelspec"]["name"]) == (4, "python3")
    cells = made["cells"]
    assert [cell["cell_type"] for cell in cells] == ["markdown", "code", "code", "code"]
    assert cells[1]["outputs"] == [{"output_type": "stream", "name": "stdout", "text": "42\n"}]
    assert cells[2]["source"].startswith("%%sql\nSELECT 1")
    assert (cells[3]["outputs"][0]["output_type"], cells[3]["outputs"][0]["ename"]) == ("error", "ZeroDivisionError")
    assert shipped(shell, "ships.html") == 1
    page = (shell.folder / "ships.html").read_text()
    assert '(<a href="#ref-doe" rel="noopener noreferrer">Doe, 2020</a>, p. 3)' in page
    assert "Doe, J. (2020). <em>Hulls</em>." in page


@pytest.mark.slow(seconds=4)
def test_a_document_is_printed(shell: Shell) -> None:
    if not any(map(shutil.which, _CHROMIUM)):
        pytest.skip("Chromium is not installed; scripts/install-optional does")
    assert shipped(shell, "ships.pdf") == 1
    assert (shell.folder / "ships.pdf").read_bytes().startswith(b"%PDF-")


@pytest.mark.slow(seconds=2)
def test_a_document_becomes_a_word_file(shell: Shell) -> None:
    if shutil.which("pandoc") is None:
        pytest.skip("pandoc is not installed")
    assert shipped(shell, "ships.docx") == 1
    with zipfile.ZipFile(shell.folder / "ships.docx") as packed:
        assert "Hulls" in packed.read("word/document.xml").decode()


def test_a_word_file_has_every_picture_of_a_figure_and_its_title_once() -> None:
    page = (
        "<title>T</title></head><body><main><header><h1>T</h1></header>"
        '<figure id="fig-a"><img src="data:a"><img src="data:b"><figcaption>Figure 1: Both</figcaption></figure>'
        '<aside class="callout note"><p class="callout-title">Note</p></aside>'
    )
    made = _for_word(page.encode()).decode()
    assert made.count("T<") == 1
    assert '<div id="fig-a"><img src="data:a"><img src="data:b"><div data-custom-style="Image Caption">' in made
    assert "<p><strong>Note</strong></p>" in made
    assert _for_word(b"<title>T</title><main><h1>T</h1>") == b"<main><h1>T</h1>"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("a.xyz", "its ending may be .md, "), ("a", ".ipynb, .pdf, .docx"),
        ("a.docx", "apt-get install pandoc"), ("a.pdf", "apt-get install chromium-headless-shell"),
    ],
)  # fmt: skip
def test_what_cannot_be_written_is_refused_before_anything_runs(
    name: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UsageError, match=re.escape(told)):
        content_of(Path(name))


@pytest.mark.slow
def test_a_notebook_is_run_as_it_is(shell: Shell) -> None:
    cells: list[dict[str, object]] = [
        {
            "cell_type": "code",
            "id": "a",
            "source": "1 + 1",
            "metadata": {"tags": ["x"]},
            "outputs": [],
            "execution_count": None,
        }
    ]
    source = {"nbformat": 4, "nbformat_minor": 5, "metadata": {"own": 1}, "cells": cells}
    ran = shell("doc", "run", written(shell, "in.ipynb", json.dumps(source)), "-o", "out.ipynb")
    assert ran.status == 0, ran.talk
    made = json.loads((shell.folder / "out.ipynb").read_text())
    assert made["metadata"] == {"own": 1}
    (cell,) = made["cells"]
    assert cell["metadata"] == {"tags": ["x"]}
    assert cell["outputs"] == [
        {"output_type": "execute_result", "execution_count": 1, "data": {"text/plain": "2"}, "metadata": {}}
    ]


@pytest.mark.slow(seconds=4)
def test_a_preview_follows_the_document_and_answers_nobody_else(shell: Shell) -> None:
    document = shell.folder / written(shell, "live.md", "# One\n\n```python exec\nprint(40 + 2)\n```\n")
    process = shell.start("doc", "preview", "live.md")
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")

        def state() -> dict[str, object]:
            told: dict[str, object] = httpx.get(f"{address}state", timeout=30).json()
            return told

        until(lambda: state()["version"] == 1, "the first page")
        page = httpx.get(f"{address}page", timeout=30)
        assert "<h1" in page.text
        assert "42" in page.text
        assert "sandbox" in page.headers["content-security-policy"]
        shell_page = httpx.get(address, timeout=30)
        assert "frame-ancestors 'none'" in shell_page.headers["content-security-policy"]
        document.write_text("# Two\n\n```python exec\n1 / 0\n```\n")
        until(lambda: state()["version"] == 2, "the next page")
        assert state()["wrong"] is True
        assert "ZeroDivisionError" in str(state()["text"])
        assert "Two" in httpx.get(f"{address}page", timeout=30).text
        root = address.rsplit("/", 2)[0]
        assert httpx.get(f"{root}/guessed/page", timeout=30).status_code == 404
        assert httpx.get(f"{address}page", headers={"Host": "evil.example"}, timeout=30).status_code == 404
        process.send_signal(signal.SIGINT)
        assert process.wait(60) in (0, 130)
    finally:
        process.kill()
        process.communicate()


def test_a_preview_that_fails_keeps_the_last_page() -> None:
    preview = Preview("a.md")
    preview.show(b"page", "made", wrong=False)
    preview.show(None, "not made: no", wrong=True)
    assert (preview.page, preview.version, preview.wrong) == (b"page", 1, True)
