"""Documents as people write them: each runs as it is, and nothing of its notation is left in the page."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from services.execution.languages.table import language_specs
from shared.contracts.document import DocumentResult
from tests.services.execution.documents.support import DocumentJobs
from tests.services.execution.documents.test_notebooks import written
from tests.services.execution.documents.test_page import page_of, wrong_in

FOLDER = Path(__file__).parent / "wild"
_QUARTO = (".qmd", ".rmd")
_LEFT = re.compile(
    r":::|\{#|\{\{<|\$\$|\\begin|\]\{|@(?:fig|tbl|eq|sec)-|\+\+\+ |\{(?:note|math|ref|eval|code-cell)\}|`r "
)


@dataclass(frozen=True)
class Expected:
    pictures: int
    tables: int
    formulas: int
    words: list[str]
    hidden: list[str]  #: words that are not in the page
    failed: dict[str, str] = field(default_factory=dict)  #: status of the blocks that are not ok


_DOCUMENTS: dict[str, Expected] = {
    "lab_report.qmd": Expected(
        2, 2, 6, ["Table 1: Lengths", "Figure 2: ", ">Equation 1<", ">Section 2<", ">Apparatus</h2>"],
        ["default_rng", "2.1 "],
    ),
    "course_notebook.ipynb": Expected(
        1, 1, 3, ["☑ Read the code", "epoch 3/3", "TypeError: unsupported"], ["epoch 1/3", "alert("]
    ),
    "myst_chapter.md": Expected(
        2, 2, 7, ["Figure 1: Runge", "The answer is 42.", "Theorem 1", ">(1)<", "Table 1: Nodes"], ["41", "nobody"]
    ),
    "rmarkdown_report.Rmd": Expected(
        2, 2, 0, ["We look at 32 cars; 11 have 4", "Figure 1: Heavier", "Best: Toyota"], ["opts_chunk", "&lt;gg&gt;"]
    ),
    "sql_report.qmd": Expected(
        0, 4, 0, ["billing system", "Table 1: Share", "60 rows in all"], ["_common.qmd", "label: tbl"]
    ),
    "js_report.md": Expected(1, 3, 0, ["The slowest took 140.9 s", "Float64Array(4)"], ["(index)"]),
    "deutscher_bericht.qmd": Expected(
        1, 1, 1, ["Abbildung 1", "Tabelle 1: Verbrauch", "Gleichung 1", "Wichtig", "5,1"], ["Figure"]
    ),
    "nihongo.qmd": Expected(1, 1, 0, ["図 1: 月別売上", "表 1: 明細", "コード", "過去最高"], ["Figure"]),
    "many_plots.qmd": Expected(
        9, 0, 0, ["(a) Normal", "(b) Uniform", "Figure 1: Two panels", "Figure 2: Base"], ["default_rng"]
    ),
    "with_errors.qmd": Expected(
        0, 0, 0, ["ValueError: invalid literal", "in the item", "in the quotation", "last year", "did not run"],
        ["hidden</pre>"], {"chunk-2": "error", "chunk-3": "skipped", "chunk-6": "error", "include-1": "error"},
    ),
}  # fmt: skip


def run(jobs: DocumentJobs, name: str) -> tuple[dict[str, object], DocumentResult]:
    files = []
    for path in sorted((FOLDER / "files").iterdir()):
        saved = jobs.files.save(path.name, path.read_bytes(), "application/octet-stream")
        files.append({"id": saved.id, "path": path.name})
    flavour = "quarto" if name.lower().endswith(_QUARTO) else None
    return written(jobs, (FOLDER / name).read_text(), flavour=flavour, files=files)


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize("name", _DOCUMENTS)
def test_a_document_of_the_wild_runs_and_reads_well(jobs: DocumentJobs, name: str) -> None:
    if name in ("rmarkdown_report.Rmd", "many_plots.qmd") and language_specs()["r"].versions() is None:
        pytest.skip("R is not installed")
    expected = _DOCUMENTS[name]
    _, result = run(jobs, name)
    assert {each.id: each.status for each in result.blocks if each.status != "ok"} == expected.failed
    page = page_of(jobs, result)
    assert [wrong for wrong in wrong_in(page) if wrong != "math"] == []
    body = re.sub(r"<pre>.*?</pre>", "", page.partition("<main>")[2], flags=re.S)
    assert _LEFT.findall(body) == (["@fig-"] if name == "with_errors.qmd" else [])
    assert page.count("<img ") == expected.pictures
    assert page.count("<table") == expected.tables
    assert page.count("<math ") == expected.formulas
    text = re.sub(r"</?(?:code|em|strong|span|math|m\w+)\b[^>]*>", "", page)
    assert [word for word in expected.words if word not in text] == []
    assert [word for word in expected.hidden if word in text.partition("<main>")[2]] == []


@pytest.mark.slow(seconds=2)
def test_a_second_run_of_a_notebook_keeps_every_block(jobs: DocumentJobs) -> None:
    text = (FOLDER / "course_notebook.ipynb").read_text()
    first = jobs.run(text)
    jobs.keep("one", first)
    again = jobs.run(text, previous_job_id="one")
    assert {each.id for each in again.blocks if each.status != "fresh"} <= {"err"}
    assert page_of(jobs, again) == page_of(jobs, first)
