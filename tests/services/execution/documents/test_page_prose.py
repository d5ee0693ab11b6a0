"""A page to share: title block, contents, footnotes, callouts, references, captions, formulas."""

from __future__ import annotations

import re

import pytest

from services.execution.documents.page.directives import directives
from services.execution.documents.page.formulas import Formulas
from services.execution.documents.page.front_matter import front_of
from services.execution.documents.page.labels import Labels
from services.execution.documents.page.markdown import Reading, prose
from services.execution.documents.page.style import style
from tests.services.execution.documents.support import DocumentJobs, python
from tests.services.execution.documents.test_page import page_of, wrong_in

FRONT = """---
title: "Sales & *costs*"
subtitle: 2026
author:
  - name: Ada <b>Lovelace</b>
    affiliation: London
  - Grace Hopper
date: 2026-11-23
abstract: What was sold.
toc: true
---
"""


def html_of(text: str, flavour: str = "stencila", **labels: str) -> str:
    formulas = Formulas("mark")
    return formulas.placed(prose(text, Reading(flavour, Labels(known=labels), formulas)).html)


def test_front_matter_is_the_title_block_and_no_heading(jobs: DocumentJobs) -> None:
    page = page_of(jobs, jobs.run(FRONT + "\n# One\n\n## Two\n\nText.\n\n# One\n"))
    assert (
        '<header><h1>Sales &amp; *costs*</h1><p class="subtitle">2026</p>'
        '<p class="by">Ada &lt;b&gt;Lovelace&lt;/b&gt; · Grace Hopper · 2026-11-23</p>'
        '<p class="abstract">What was sold.</p></header>'
    ) in page
    assert "<title>Sales &amp; *costs*</title>" in page
    assert "toc: true" not in page
    assert re.findall(r'<a href="#([\w-]+)"', page) == ["one", "two", "one-2"]
    assert re.findall(r'<h\d id="([\w-]+)"', page) == ["one", "two", "one-2"]
    assert wrong_in(page) == []


def test_two_rules_at_the_beginning_are_no_front_matter(jobs: DocumentJobs) -> None:
    assert "Not YAML" in page_of(jobs, jobs.run("---\n\nNot YAML, only text\n\n---\n\nMore.\n"))


def test_a_footnote_is_found_behind_the_blocks_and_leads_there_and_back(jobs: DocumentJobs) -> None:
    text = f"One[^a] and two[^b].\n\n{python('print(1)')}\n[^a]: The *first*.\n\n[^b]: The second.\n"
    page = page_of(jobs, jobs.run(text))
    assert "[^" not in page
    for place in re.findall(r'href="#([\w:-]+)"', page):
        assert f'id="{place}"' in page
    assert len(re.findall(r'href="#fn\d', page)) == 2
    assert "<em>first</em>" in page
    assert page.index("<pre>1") < page.index("<em>first</em>")
    assert wrong_in(page) == []


@pytest.mark.parametrize(
    ("flavour", "text", "kind", "title"),
    [
        ("quarto", "::: {.callout-tip}\nText.\n:::\n", "tip", "Tip"),
        ("quarto", '::: {.callout-warning title="Mind <this>"}\nText.\n:::\n', "warning", "Mind &lt;this&gt;"),
        ("quarto", ":::: {.column}\n::: {.callout-note}\nText.\n:::\n::::\n", "note", "Note"),
        ("myst", ":::{note} My title\nText.\n:::\n", "note", "My title"),
        ("myst", "```{seealso}\nText.\n```\n", "note", "Note"),
    ],
)
def test_callouts_of_each_spelling(jobs: DocumentJobs, flavour: str, text: str, kind: str, title: str) -> None:
    page = page_of(jobs, jobs.run(f"Before.\n\n{text}\nAfter.\n", flavour=flavour))
    aside = rf'<aside class="callout {kind}"><p class="callout-title">(.*?)</p>\s*<p>Text.</p>\s*</aside>'
    assert re.findall(aside, page) == [title], page
    assert ":::" not in page
    assert "```" not in page


def test_a_quotation_of_github_is_a_callout() -> None:
    html = html_of("> [!WARNING]\n> Hot.\n\n> [!OTHER] thing\n")
    assert '<blockquote class="callout warning">\n<p><strong>Warning</strong><br />\nHot.</p>' in html
    assert "[!OTHER]" in html


def test_callouts_within_code_and_those_that_never_end_are_text() -> None:
    lines = ["```", "::: {.callout-note}", ":::", "```", "::: {.callout-note}", "Text."]
    found = directives(lines, [False] * len(lines), "quarto")
    assert [each.name for each in found.values()] == ["code"]


def test_a_figure_has_number_caption_and_what_refers_to_it_leads_there(jobs: DocumentJobs) -> None:
    draw = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\n"
    text = (
        "# Method {#sec-method}\n\nSee @fig-rise, @tbl-sum, @sec-method, @fig-none, a@fig-rise.org and `@fig-rise`.\n\n"
        f"```{{python}}\n#| label: fig-rise\n#| fig-cap: It <rises>\n{draw}```\n\n"
        "```{python}\n#| label: tbl-sum\n#| tbl-cap: Sums\n#| code-fold: true\n"
        "import pandas as pd\npd.DataFrame({'a': [1]})\n```\n"
    )
    page = page_of(jobs, jobs.run(text, flavour="quarto"))
    assert '<h1 id="sec-method">Method</h1>' in page
    assert [(place, words) for place, words in re.findall(r'<a href="#([\w-]+)"[^>]*>(.*?)</a>', page)] == [
        ("fig-rise", "Figure 1"), ("tbl-sum", "Table 1"), ("sec-method", "Method"),
    ]  # fmt: skip
    assert "@fig-none, a@fig-rise.org and <code>@fig-rise</code>" in page
    drawn = re.search(r'<figure id="fig-rise">.*?<img [^>]*>(.*?)</figure>', page, re.S)
    assert drawn is not None
    assert drawn[1].endswith("<figcaption>Figure 1: It &lt;rises&gt;</figcaption>")
    assert '<figure id="tbl-sum"><figcaption>Table 1: Sums</figcaption>' in page
    assert "<details><summary>Code</summary><pre><code>import pandas" in page
    assert wrong_in(page) == []


def test_an_output_cannot_take_the_place_of_another(jobs: DocumentJobs) -> None:
    shows = "class H:\n    def _repr_html_(self): return '<h1 id=\"one\">x</h1>'\ndisplay(H())\n"
    assert page_of(jobs, jobs.run("# One\n\n" + python(shows))).count('<h1 id="one">') == 1


def test_formulas_are_mathml_and_prices_are_prices() -> None:
    html = html_of("From $x^2$ to\n\n$$\\frac{a}{b}$$\n\nIt costs $5 or $6.\n")
    assert '<math display="inline">' in html
    assert "<mfrac><mrow><mi>a</mi></mrow><mrow><mi>b</mi></mrow></mfrac>" in html
    assert "It costs $5 or $6." in html


@pytest.mark.parametrize(
    "formula",
    [
        "\\text{<script>alert(1)</script>}", "\\href{javascript:alert(1)}{x}", "<img src=x onerror=alert(1)>",
        "\\style{background:url(https://example.org)}{x}", "\\class{x}{y}", "\\unknown{", "x" * 3_000, "{" * 900,
    ],
)  # fmt: skip
def test_no_formula_brings_anything_but_mathematics(formula: str) -> None:
    html = html_of(f"a ${formula}$ b\n")
    names = set(re.findall(r"</?([a-zA-Z]+)", html)) - {"p", "code", "em", "strong", "span"}
    assert all(name == "math" or name.startswith("m") for name in names), names
    assert not re.search(r"<[^>]*\b(href|style|on\w+)\s*=", html)
    assert not re.search(r"<m[^>]*\bclass\s*=", html)


def test_the_theme_is_the_documents_or_the_readers() -> None:
    assert "prefers-color-scheme" in style("auto")
    assert "color-scheme:dark" in style("dark")
    assert "dark" not in style("light")
    assert "@media print" in style("light")
    front = front_of("---\nformat:\n  html:\n    theme: dark\n    toc: true\n---\n".splitlines(keepends=True))
    assert (front.theme, front.toc) == ("dark", True)
