"""What Quarto's, R Markdown's and MyST's authors write in everyday documents, as their page shows it."""

from __future__ import annotations

import datetime
import re
import shutil
from collections.abc import Sequence

import pytest

from services.execution.documents.page.dates import written
from services.execution.documents.page.macros import Macros
from services.execution.documents.page.pandoc_lists import common_lists
from tests.services.execution.documents.support import DocumentJobs
from tests.services.execution.documents.test_page import page_of

BIB = "@book{tukey, author = {Tukey, John}, title = {Exploring}, year = 1977}\n"


def main_of(jobs: DocumentJobs, markdown: str, flavour: str = "quarto", files: Sequence[dict[str, str]] = ()) -> str:
    page = page_of(jobs, jobs.run(markdown, flavour=flavour, files=list(files)))
    return re.sub(r"\s+", " ", page[page.index("<main>") :])


QUARTO = {
    "quotes": ('"It\'s" -- well---so...\n', "<p>“It’s” – well—so…</p>"),
    "code keeps its signs": ('`a--b "c"`\n', '<code>a--b "c"</code>'),
    "date": ("---\ntitle: T\ndate: 2025-11-20\n---\n", "November 20, 2025"),
    "date of R Markdown": ("---\ntitle: T\ndate: 2025-11-20\noutput: html_document\n---\n", ">2025-11-20<"),
    "date format": ('---\ntitle: T\ndate: 2025-11-20\ndate-format: "D MMM YYYY"\n---\n', ">20 Nov 2025<"),
    "date in German": ("---\ntitle: T\nlang: de\ndate: 2025-03-01\n---\n", ">1. März 2025<"),
    "code in the front matter": ('---\ntitle: "`{python} 6 * 7` ships"\n---\n', "<h1>42 ships</h1>"),
    "lettered list": ("a) one\nb) two\n", '<ol type="a"> <li>one</li> <li>two</li> </ol>'),
    "Roman list": ("i. one\nii. two\n", '<ol type="i"> <li>one</li>'),
    "list within a list": ("1. one\n   a. inner\n", '<li>one <ol type="a"> <li>inner</li>'),
    "examples": ("(@) First.\n(@ex) Second.\n\nAs (@ex) shows.\n", "<p>As (2) shows.</p>"),
    "an initial is no list": ("A. Smith wrote.\n", "<p>A. Smith wrote.</p>"),
    "simple table": ("  n  name\n---  -----\n  1  Oslo\n\n: Cities {#tbl-c}\n", '<td align="right">1</td>'),
    "macros": ("\\newcommand{\\R}{\\mathbb{R}}\n\n$x \\in \\R$\n", "<mi>ℝ</mi>"),
    "operators": ("$\\operatorname*{arg\\,min}_x f$\n", "<munder>"),
    "folded callout": ('::: {.callout-tip collapse="true"}\n## More\nText\n:::\n', "<details><summary>More</summary>"),
    "open callout": ('::: {.callout-tip collapse="false"}\n## More\nText\n:::\n', '<details open=""><summary>More'),
    "minimal callout": (
        '::: {.callout-note appearance="minimal"}\nText\n:::\n',
        '<aside class="callout note"> <p>Text',
    ),
    "appendix": ("---\nnumber-sections: true\n---\n# One\n\n# More {.appendix}\n", ">More</h1>"),
    "attributes of a slide": ('## New {background-color="red"}\n', ">New</h2>"),
    "marked": ("[x]{.mark} [y]{.underline}\n", "<mark>x</mark> <u>y</u>"),
    "attributes between single quotes": ("[x](https://a.b){title='more'} [y]{.mark k='v'}\n", "<mark>y</mark>"),
    "page break": ("{{< pagebreak >}}\n", '<hr class="pagebreak">'),
    "words of captions": (
        '---\ncrossref: {fig-title: "Abb.", fig-prefix: "Abb."}\n---\n![Cap](a.png){#fig-a}\n\nSee @fig-a.\n',
        'See <a href="#fig-a" rel="noopener noreferrer">Abb. 1</a>.',
    ),
    "parts of a figure": (
        "::: {#fig-p layout-ncol=2}\n![One](a.png){#fig-a}\n\n![Two](b.png){#fig-b}\n\nBoth\n:::\n\nSee @fig-b.\n",
        ">Figure 1 (b)</a>.",
    ),
    "a query within a line": ("`{sql} SELECT 6 * 7` ships\n", "<p>42 ships</p>"),
}


@pytest.mark.parametrize("name", sorted(QUARTO))
def test_a_convention_of_quarto(jobs: DocumentJobs, name: str) -> None:
    text, shown = QUARTO[name]
    assert shown in main_of(jobs, text)


def test_a_pause_of_slides_is_not_shown(jobs: DocumentJobs) -> None:
    assert ". . ." not in main_of(jobs, "One\n\n. . .\n\nTwo\n")


def test_parts_of_a_chunks_figure_have_references(jobs: DocumentJobs) -> None:
    chunk = (
        '```{python}\n#| label: fig-two\n#| fig-cap: Both\n#| fig-subcap: ["One", "Two"]\n'
        "import matplotlib.pyplot as plt\nfor n in (1, 2):\n    plt.plot([n]); plt.show()\n```\n\n@fig-two-2\n"
    )
    assert ">Figure 1 (b)</a>" in main_of(jobs, chunk)


def test_truth_values_of_sql_are_as_sql_writes_them(jobs: DocumentJobs) -> None:
    assert "<td>true</td>" in main_of(jobs, "```{sql}\nSELECT true AS yes\n```\n")


MYST = {
    "glossary": ("```{glossary}\nmean\n  The middle.\n```\n", "<dt>mean</dt> <dd>The middle.</dd>"),
    "solution": (
        "```{exercise}\n:label: ex\nRoll.\n```\n\n```{solution} ex\n:class: dropdown\nDone.\n```\n",
        "<details><summary>Solution to Exercise 1</summary> <p>Done.</p>",
    ),
    "a name before a formula": ("(mass)=\n$$\nE = m\n$$\n\nSee {eq}`mass`.\n", ">(1)</a>."),
    "abbreviation": ("{abbr}`SE (standard error)`\n", '<abbr title="standard error">SE</abbr>'),
    "folded admonition": ("```{note}\n:class: dropdown\nText\n```\n", "<details><summary>Note</summary>"),
    "macros": ('---\nmath:\n  "\\\\R": "\\\\mathbb{R}"\n---\n$\\R$\n', "<mi>ℝ</mi>"),
}


@pytest.mark.parametrize("name", sorted(MYST))
def test_a_convention_of_myst(jobs: DocumentJobs, name: str) -> None:
    text, shown = MYST[name]
    assert shown in main_of(jobs, text, "myst")


def test_myst_cites_from_the_files_of_the_document(jobs: DocumentJobs) -> None:
    file = jobs.files.save("refs.bib", BIB.encode(), "text/plain").id
    text = "See {cite:p}`tukey`.\n\n## Works\n\n```{bibliography}\n```\n\n## End\n"
    shown = main_of(jobs, text, "myst", files=[{"id": file, "path": "refs.bib"}])
    assert '(<a href="#ref-tukey" rel="noopener noreferrer">Tukey, 1977</a>)' in shown
    assert shown.index("<em>Exploring</em>") < shown.index(">End</h2>")


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_a_document_of_r_is_as_knitr_writes_it(jobs: DocumentJobs) -> None:
    text = (
        "---\ntitle: T\ndate: \"`r as.Date('2025-11-03')`\"\noutput: html_document\n---\n\n"
        '```{r}\nas.numeric("abc")\n```\n\n`r c(a = 1.5)` and `r 1:3`.\n'
    )
    shown = main_of(jobs, text)
    assert ">2025-11-03<" in shown
    assert '<pre class="stderr">Warning: NAs introduced by coercion' in shown
    assert "<p>1.5 and 1, 2, 3.</p>" in shown


@pytest.mark.parametrize(
    ("wanted", "shown"),
    [
        ("", "20 novembre 2025"), ("full", "jeudi, 20 novembre 2025"), ("medium", "nov 20, 2025"),
        ("short", "11/20/25"), ("iso", "2025-11-20"), ("dddd [le] D", "jeudi le 20"),
    ],
)  # fmt: skip
def test_a_date_is_written_in_the_format_that_is_wanted(wanted: str, shown: str) -> None:
    today = datetime.date(2026, 1, 2)
    assert written("2025-11-20", wanted, "fr", today) == shown
    assert written("today", "iso", "fr", today) == "2026-01-02"
    assert written("Spring 2025", wanted, "fr", today) == "Spring 2025"


def test_lists_continue_over_other_text_and_end_with_it() -> None:
    made = common_lists("a) one\n   more\n\nb) two\n\nText.\n\nc) no list\n\n```\na) code\n```\n")
    assert made.text == "1) one\n   more\n\n2) two\n\nText.\n\nc) no list\n\n```\na) code\n```\n"
    assert made.styles == {0: "a"}


@pytest.mark.parametrize(
    ("definition", "formula", "expanded"),
    [
        (r"\newcommand{\v}[1]{\mathbf{#1}}", r"\v{x}+\v y", r"{\mathbf{x}}+{\mathbf{y}}"),
        (r"\newcommand\E[2][P]{E_{#1}[#2]}", r"\E{X}\E[Q]{X}", r"{E_{P}[X]}{E_{Q}[X]}"),
        (r"\def\p#1#2{#1|#2}", r"\p{a}{b}", r"{a|b}"),
        (r"\DeclareMathOperator{\tr}{tr}", r"\tr A", r"{\operatorname{tr}} A"),
    ],
)
def test_macros_are_expanded(definition: str, formula: str, expanded: str) -> None:
    macros = Macros()
    assert macros.without_definitions(f"{definition} x") == " x"
    assert macros.expanded(formula) == expanded


def test_macros_without_an_end_are_refused() -> None:
    macros = Macros()
    macros.without_definitions(r"\newcommand{\a}{\a\a}")
    with pytest.raises(ValueError, match="do not end"):
        macros.expanded(r"\a")
