"""Pictures that code saves to files, and that the document's text shows."""

from __future__ import annotations

import base64
import shutil
import subprocess

import pytest

from services.execution.documents.notebooks.reading import as_markdown, notebook_in
from tests.services.execution.documents.support import DocumentJobs, block, codes, python
from tests.services.execution.documents.test_notebooks import code, notebook, prose, written
from tests.services.execution.documents.test_page import page_of

PLOT = "import matplotlib.pyplot as plt\nplt.plot([1, {0}])\nplt.savefig('{1}')\nplt.close()"
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def writing(path: str, content: bytes = PNG) -> str:
    return f"with open({path!r}, 'wb') as handle:\n    _ = handle.write({content!r})"


def kept(path: str, content: bytes) -> str:
    """As ``writing``, without an open file as a name: nothing compares these."""
    return f"import pathlib\npathlib.Path({path!r}).write_bytes({content!r});"


def address(content: bytes, kind: str = "png") -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("a.png", "![Text](a.png)"),
        ("figs/deep/a b.png", "![Text](./figs/deep/a%20b.png)"),
        ("a.PNG", "![Text](a.PNG)"),
        ("a.png", "![Text][one]\n\n[one]: a.png"),
        ("a.png", '<img src="a.png" alt="Text">'),
        ("a.png", "![Text](a.png){#fig-a}"),
    ],
)
def test_a_picture_that_code_writes_is_in_the_page(jobs: DocumentJobs, path: str, shown: str) -> None:
    chunk = python(f"import os\nos.makedirs('figs/deep')\n{writing(path)}").replace("```python exec", "```{python}")
    result = jobs.run(f"{chunk}\n{shown}\n", flavour="quarto")
    assert result.warnings == []
    assert f'src="{address(PNG)}"' in page_of(jobs, result)


@pytest.mark.parametrize("ending", ["png", "svg", "jpg", "webp"])
def test_what_matplotlib_saves_is_shown_wherever_the_text_names_it(jobs: DocumentJobs, ending: str) -> None:
    chunk = python(PLOT.format(2, f"p.{ending}"))
    result = jobs.run(f"![before](p.{ending})\n\n{chunk}\n> ![](p.{ending})\n")
    assert (result.blocks[0].status, result.warnings) == ("ok", [])
    kind = {"svg": "svg+xml", "jpg": "jpeg"}.get(ending, ending)
    assert page_of(jobs, result).count(f'src="data:image/{kind};base64,') == 2


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="there is no R")
@pytest.mark.parametrize(("device", "kind"), [("png", "png"), ("jpeg", "jpeg"), ("svg", "svg+xml")])
def test_what_r_draws_into_a_file_is_shown_and_kept(jobs: DocumentJobs, device: str, kind: str) -> None:
    chunk = f"```r exec\n{device}('r.{device}')\nplot(1:3)\ninvisible(dev.off())\n```\n"
    text = f"{chunk}\n![](r.{device})\n"
    for status in ("ok", "fresh"):
        result = jobs.run(text, previous_job_id="one" if status == "fresh" else None)
        assert (result.blocks[0].status, result.warnings) == (status, [])
        assert f'src="data:image/{kind};base64,' in page_of(jobs, result)
        jobs.keep("one", result)


def test_a_chart_that_matplotlib_saves_is_kept(jobs: DocumentJobs) -> None:
    text = python(PLOT.format(2, "a.png")) + python("after = 1") + "\n![](a.png)\n"
    jobs.keep("one", jobs.run(text))
    again = jobs.run(text, previous_job_id="one")
    assert [one.status for one in again.blocks] == ["fresh", "fresh"]
    assert 'src="data:image/png;base64,' in page_of(jobs, again)


_HAS_GGPLOT = 'if (!requireNamespace("ggplot2", quietly = TRUE)) quit(status = 1)'


@pytest.mark.skipif(
    shutil.which("Rscript") is None or subprocess.run(["Rscript", "-e", _HAS_GGPLOT], check=False).returncode != 0,
    reason="there is no ggplot2",
)
def test_what_ggplot_saves_is_shown(jobs: DocumentJobs) -> None:
    plot = (
        "library(ggplot2)\np <- ggplot(mtcars, aes(wt, mpg)) + geom_point()\nggsave('g.png', p, width = 4, height = 3)"
    )
    result = jobs.run(f"```{{r}}\n{plot}\n```\n\n![Weight](g.png){{#fig-g}}\n", flavour="quarto")
    assert result.blocks[0].status == "ok"
    assert 'src="data:image/png;base64,' in page_of(jobs, result)


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="there is no R")
def test_what_r_includes_as_graphics_is_shown(jobs: DocumentJobs) -> None:
    draw = "```{r}\npng('r.png')\nplot(1:3)\ninvisible(dev.off())\n```\n"
    result = jobs.run(draw + "\n```{r}\nknitr::include_graphics('r.png')\n```\n", flavour="quarto")
    assert result.warnings == []
    assert 'src="data:image/png;base64,' in page_of(jobs, result)


@pytest.mark.parametrize(
    "show",
    ["from IPython.display import Markdown\nMarkdown('![](a.png)')", "#| output: asis\nprint('![](a.png)')"],
)
def test_markdown_that_code_writes_names_them(jobs: DocumentJobs, show: str) -> None:
    text = (python(writing("a.png")) + python(show)).replace("```python exec", "```{python}")
    assert address(PNG) in page_of(jobs, jobs.run(text, flavour="quarto"))


def test_an_included_document_shows_and_writes_them(jobs: DocumentJobs) -> None:
    part = jobs.files.save("part.md", (python(writing("b.png", b"b")) + "\n![](a.png)\n").encode(), "text/markdown")
    text = python(writing("a.png")) + "\n::: include part.md\n\n![](b.png)\n"
    page = page_of(jobs, jobs.run(text, files=[{"path": "part.md", "id": part.id}]))
    assert address(PNG) in page
    assert address(b"b") in page


def test_a_picture_written_before_an_error_is_shown(jobs: DocumentJobs) -> None:
    result = jobs.run(python(f"{writing('a.png')}\n1 / 0") + "\n![](a.png)\n")
    assert result.blocks[0].status == "error"
    assert address(PNG) in page_of(jobs, result)


def test_javascript_writes_pictures_too(jobs: DocumentJobs) -> None:
    svg = '<svg xmlns="http://www.w3.org/2000/svg"/>'
    result = jobs.run(f"```js exec\nrequire('fs').writeFileSync('a.svg', '{svg}')\n```\n\n![](a.svg)\n")
    assert address(svg.encode(), "svg+xml") in page_of(jobs, result)


def test_html_that_code_displays_names_them(jobs: DocumentJobs) -> None:
    text = python(f"{writing('a.png')}\nfrom IPython.display import HTML\nHTML('<img src=\"a.png\">')")
    assert f'src="{address(PNG)}"' in page_of(jobs, jobs.run(text))


def test_the_last_to_write_a_file_wins_over_the_given_one(jobs: DocumentJobs) -> None:
    given = jobs.files.save("a.png", b"given", "image/png")
    text = "![](a.png)\n" + python(writing("a.png", b"one")) + python(writing("a.png", b"two"))
    files = [{"path": "a.png", "id": given.id}]
    assert address(b"two") in page_of(jobs, jobs.run(text, files=files))
    assert address(b"given") in page_of(jobs, jobs.run("![](a.png)\n" + python("1"), files=files))


@pytest.mark.parametrize("name", ["no.png", "../a.png", "/etc/passwd.png", "work/.hidden.png", "link.png"])
def test_only_files_that_code_wrote_into_the_work_folder_are_shown(jobs: DocumentJobs, name: str) -> None:
    code = f"import os\n{writing('/tmp/a.png')}\n{writing('.hidden.png')}\nos.symlink('/tmp/a.png', 'link.png')"
    result = jobs.run(python(code) + f"\n![]({name})\n")
    assert block(result, "chunk-1").status == "ok"
    assert "data:image" not in page_of(jobs, result)
    assert any("no code has written it" in warning for warning in result.warnings)


def test_large_and_many_pictures_are_left_out_with_a_warning(jobs: DocumentJobs) -> None:
    text = (
        python("with open('big.png', 'wb') as handle:\n    _ = handle.write(bytes(11_000_000))")
        + python("for n in range(30):\n    with open(f'{n}.png', 'wb') as handle:\n        _ = handle.write(b'x')")
        + python("with open('data.csv', 'wb') as handle:\n    _ = handle.write(bytes(60_000_000))\n" + writing("a.png"))
        + "\n![](big.png) ![](a.png)\n"
    )
    result = jobs.run(text)
    assert [codes(one) for one in result.blocks] == [["picture_not_kept"], ["picture_not_kept"] * 3, []]
    assert "big.png: a picture may have 10 MB" in result.blocks[0].messages[0].text
    assert page_of(jobs, result).count("data:image") == 1


@pytest.mark.parametrize(
    "written",
    [
        "It is `draw()`{python exec}.\n",
        "::: if draw() {python}\nyes\n:::\n",
        "::: for n in [draw()] {python}\n&[n]\n:::\n",
        "::: assert draw() {python}\n",
    ],
)
def test_what_code_outside_of_chunks_writes_is_shown_and_kept(jobs: DocumentJobs, written: str) -> None:
    chunk = python(f"def draw():\n    import pathlib\n    return pathlib.Path('a.png').write_bytes({PNG!r})")
    first = jobs.run(f"{chunk}\n{written}\n![](a.png)\n")
    assert first.warnings == []
    assert address(PNG) in page_of(jobs, first)
    jobs.keep("one", first)
    again = jobs.run(f"{chunk}\n{written}\nMore: ![](a.png)\n", previous_job_id="one")
    assert address(PNG) in page_of(jobs, again)


def test_a_kept_chunk_keeps_its_pictures_and_a_changed_one_writes_new_ones(jobs: DocumentJobs) -> None:
    text = python(kept("a.png", b"one")) + python(kept("b.png", b"two")) + "\n![](a.png) ![](b.png)\n"
    jobs.keep("one", jobs.run(text))
    again = jobs.run(text, previous_job_id="one")
    assert [one.status for one in again.blocks] == ["fresh", "fresh"]
    assert all(address(content) in page_of(jobs, again) for content in (b"one", b"two"))
    jobs.keep("two", again)
    changed = jobs.run(text.replace("b'two'", "b'three'"), previous_job_id="two")
    assert [one.status for one in changed.blocks] == ["fresh", "ok"]
    page = page_of(jobs, changed)
    assert (address(b"one") in page, address(b"two") in page, address(b"three") in page) == (True, False, True)
    jobs.keep("three", changed)
    gone = jobs.run(text.replace(kept("a.png", b"one"), "1"), previous_job_id="three")
    assert address(b"one") not in page_of(jobs, gone)


def test_a_picture_named_only_later_is_shown_without_running_again(jobs: DocumentJobs) -> None:
    text = python(writing("a.png"))
    jobs.keep("one", jobs.run(text))
    again = jobs.run(text + "\n![](a.png)\n", previous_job_id="one")
    assert again.blocks[0].status == "fresh"
    assert address(PNG) in page_of(jobs, again)


def test_a_chunk_that_reads_a_picture_is_stale_when_it_changes(jobs: DocumentJobs) -> None:
    text = python(writing("a.png", b"one")) + python("len(open('a.png', 'rb').read())")
    jobs.keep("one", jobs.run(text))
    again = jobs.run(text.replace("b'one'", "b'three'"), previous_job_id="one")
    assert [each.text for each in again.blocks[1].outputs] == ["5"]


def test_a_notebook_keeps_its_text_and_shows_the_picture_as_an_output(jobs: DocumentJobs) -> None:
    cells = [code(writing("a.png"), "writes"), prose("![](a.png)", "shows"), code(writing("b.png"), "unnamed")]
    made, result = written(jobs, notebook(*cells))
    assert address(PNG) in page_of(jobs, result)
    assert made["cells"][1]["source"] == "![](a.png)"
    data = {"image/png": base64.b64encode(PNG).decode()}
    assert [cell.get("outputs") for cell in made["cells"]] == [
        [{"output_type": "display_data", "data": data, "metadata": {}}],
        None,
        [],
    ]


def test_a_notebook_made_of_a_document_has_the_pictures_attached(jobs: DocumentJobs) -> None:
    shown = "![One](figs/a.png) and `![](figs/a.png)`\n\n```\n![](figs/a.png)\n```\n\n![Other](figs-a.png)"
    make = "import os\nos.makedirs('figs')\n"
    made, _ = written(jobs, python(make + writing("figs/a.png") + "\n" + writing("figs-a.png", b"b")) + f"\n{shown}\n")
    cell = made["cells"][-1]
    assert cell["source"] == (
        "![One](attachment:figs-a.png) and `![](figs/a.png)`\n\n```\n![](figs/a.png)\n```\n\n"
        "![Other](attachment:other-figs-a.png)"
    )
    assert cell["attachments"] == {
        "figs-a.png": {"image/png": base64.b64encode(PNG).decode()},
        "other-figs-a.png": {"image/png": base64.b64encode(b"b").decode()},
    }
    held = notebook_in(notebook(*made["cells"]))
    assert held is not None
    assert address(PNG) in as_markdown(held)
