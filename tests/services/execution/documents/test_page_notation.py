"""What Quarto, MyST and Stencila documents hold apart from code: formulas, references, figures, tables, includes."""

from __future__ import annotations

import re

import pytest

from services.execution.documents.page.formulas import Formulas
from services.execution.documents.page.labels import Labels
from services.execution.documents.page.markdown import Reading, prose
from services.execution.documents.parse.magics import runnable
from services.execution.documents.parse.nodes import Chunk, walk
from services.execution.documents.parse.reader import parse
from services.execution.documents.run.outputs import on_screen
from tests.services.execution.documents.support import DocumentJobs
from tests.services.execution.documents.test_page import page_of

TITLE = '<p class="callout-title">{}</p>'
PNG = b"\x89PNG\r\n\x1a\n"


def main_of(jobs: DocumentJobs, text: str, flavour: str, **files: bytes) -> str:
    """The page's content, without what cleaning adds to links."""
    saved = [
        {"id": jobs.files.save(name, content, "application/octet-stream").id, "path": name.replace("_dot_", ".")}
        for name, content in files.items()
    ]
    page = page_of(jobs, jobs.run(text, flavour=flavour, files=saved))
    return page.partition("<main>")[2].partition("</main>")[0].replace(' rel="noopener noreferrer"', "")


def inline(text: str, flavour: str = "quarto") -> str:
    formulas = Formulas("mark")
    made = formulas.placed(prose(text, Reading(flavour, Labels(), formulas)).html).strip()
    return re.sub(r"<math.*?</math>", "MATH", made).removeprefix("<p>").removesuffix("</p>")


@pytest.mark.parametrize(
    "environment",
    [
        "aligned", "align", "align*", "alignedat}{2", "split", "gathered", "gather", "eqnarray", "multline", "cases",
        "pmatrix", "array}{lr",
    ],
)  # fmt: skip
def test_environments_are_mathml(environment: str) -> None:
    end = environment.partition("}")[0]
    formula, mark = Formulas("m"), "" if "gather" in end or "multline" in end else "&"
    source = f"\\begin{{{environment}}} a {mark}= b \\\\ c {mark}= d \\end{{{end}}}"
    text = formula.placed(formula(source, {"display_mode": True}))
    assert text.startswith("<math"), text
    assert "<mtext>(1)" not in text


@pytest.mark.parametrize(
    "text",
    [
        r"\xrightarrow{f}", r"\ce{2H2 + O2 -> 2H2O}", r"\SI{5}{m}", r"\qty{5}{m}", r"\left( a \middle| b \right)",
        r"a \tag{3}", r"\label{x} a \nonumber", r"\bm{x}", r"\begin{equation} a \end{equation}",
    ],
)  # fmt: skip
def test_words_of_packages_are_mathml(text: str) -> None:
    formula = Formulas("m")
    made = formula.placed(formula(text, {}))
    assert made.startswith("<math"), made
    assert "\\" not in made


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (r"\(a + b\) and \[x^2\]", "MATH and MATH"),
        (r"\[1\] and \[see\]", "[1] and [see]"),
        ("H~2~O and x^2^", "H<sub>2</sub>O and x<sup>2</sup>"),
        ("~5 min and ~6 min, 2^10", "~5 min and ~6 min, 2^10"),
        ("~~gone~~", "<s>gone</s>"),
        ("[text]{.mark} and `x`{.python}", '<mark>text</mark> and <code class="python">x</code>'),
    ],
)
def test_signs_within_a_line(text: str, shown: str) -> None:
    assert inline(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{math}`a^2`", "MATH"),
        ("{sub}`2` {sup}`3` {kbd}`Ctrl`", "<sub>2</sub> <sup>3</sup> <kbd>Ctrl</kbd>"),
        ("{doc}`intro` {term}`a <b>`", "intro a"),
        ("{ref}`words <x>`", '<a href="#x">words</a>'),
    ],
)
def test_roles_of_myst(text: str, shown: str) -> None:
    assert inline(text, "myst") == shown


@pytest.mark.parametrize("flavour", ["stencila", "quarto", "myst"])
@pytest.mark.parametrize(
    "text",
    [
        "$$\na = b\n$$\n", "$$ a = b $$\n", "\\[\na = b\n\\]\n", "```math\na = b\n```\n",
        "\\begin{align}\na &= b\n\\end{align}\n",
    ],
)  # fmt: skip
def test_formulas_of_their_own_lines(jobs: DocumentJobs, flavour: str, text: str) -> None:
    if text.startswith("```") and flavour == "quarto":
        pytest.skip("Quarto has no fence for formulas")
    main = main_of(jobs, f"Before.\n\n{text}\nAfter.\n", flavour)
    assert main.count('<math display="block">') == 1, main
    assert "<p>After.</p>" in main


@pytest.mark.parametrize(
    ("text", "flavour"),
    [
        ("See @eq-a.\n\n$$\nx\n$$ {#eq-a}\n", "quarto"),
        ("See {eq}`a`.\n\n```{math}\n:label: a\nx\n```\n", "myst"),
        ("See {eq}`a`.\n\n:::{math}\n:label: a\nx\n:::\n", "myst"),
        ("See {eq}`a`.\n\n$$\nx\n$$ (a)\n", "myst"),
    ],
)
def test_equations_have_numbers_and_references_lead_there(jobs: DocumentJobs, text: str, flavour: str) -> None:
    main = main_of(jobs, text, flavour)
    (id,) = re.findall(r'<section class="equation" id="([\w-]+)"><math.*?</math><p>\(1\)</p></section>', main)
    assert re.search(rf'See <a href="#{id}">(?:Equation 1|\(1\))</a>', main)


@pytest.mark.parametrize(
    ("text", "flavour"),
    [
        ("![A *cap*](a.png){#fig-a width=50%}\n\nSee @fig-a.\n", "quarto"),
        ("::: {#fig-a}\n![](a.png)\n\nA *cap*\n:::\n\nSee @fig-a.\n", "quarto"),
        ("```{figure} a.png\n:name: fig-a\nA *cap*\n```\n\nSee {numref}`fig-a`.\n", "myst"),
        (":::{figure} a.png\n:label: fig-a\n\nA *cap*\n:::\n\nSee {ref}`fig-a`.\n", "myst"),
    ],
)
def test_figures_of_files(jobs: DocumentJobs, text: str, flavour: str) -> None:
    main = main_of(jobs, text, flavour, a_dot_png=PNG)
    figure = re.search(r'<figure id="fig-a">.*?</figure>', main, re.S)
    assert figure is not None, main
    assert 'src="data:image/png;base64,' in figure[0]
    assert "<figcaption>Figure 1: A <em>cap</em>" in figure[0]
    assert 'See <a href="#fig-a">Figure 1</a>.' in main


def test_a_picture_that_is_not_there_is_reported(jobs: DocumentJobs) -> None:
    result = jobs.run("![alt](no.png) ![out](https://example.org/x.png)\n", flavour="quarto")
    assert result.warnings == ["The picture no.png is not among the document's files, and no code has written it."]
    assert '<a href="https://example.org/x.png"' in page_of(jobs, result)


@pytest.mark.parametrize(
    ("text", "flavour"),
    [
        ("| a |\n|--:|\n| 1 |\n\n: A *cap* {#tbl-a}\n\nSee @tbl-a.\n", "quarto"),
        ("| a |\n|--:|\n| 1 |\n: A *cap* {#tbl-a}\n\nSee @tbl-a.\n", "quarto"),
        (": A *cap* {#tbl-a}\n\n| a |\n|--:|\n| 1 |\n\nSee @tbl-a.\n", "quarto"),
        ("::: {#tbl-a}\n| a |\n|--:|\n| 1 |\n\nA *cap*\n:::\n\nSee @tbl-a.\n", "quarto"),
        (":::{table} A *cap*\n:name: tbl-a\n| a |\n|--:|\n| 1 |\n:::\n\nSee {numref}`tbl-a`.\n", "myst"),
    ],
)
def test_tables_have_captions(jobs: DocumentJobs, text: str, flavour: str) -> None:
    main = main_of(jobs, text, flavour)
    assert re.search(r'<figure id="tbl-a">\s*<figcaption>Table 1: A <em>cap</em>\s*</figcaption>\s*<table>', main), main
    assert '<td align="right">1</td>' in main
    assert 'See <a href="#tbl-a">Table 1</a>.' in main
    assert "{#" not in main


def test_sections_have_numbers_where_the_document_says_so(jobs: DocumentJobs) -> None:
    text = "---\nnumber-sections: true\ntoc: true\n---\n\n# One {#sec-one}\n\n## Two\n\n"
    text += "# None {.unnumbered}\n\n# Three\n\n@sec-one\n"
    main = main_of(jobs, text, "quarto")
    assert re.findall(r"<h\d[^>]*>(.*?)</h\d>", main) == ["1 One", "1.1 Two", "None", "2 Three"]
    assert ">1.1 Two</a>" in main
    assert '<a href="#sec-one">Section 1</a>' in main
    plain = main_of(jobs, text.replace("number-sections: true\n", ""), "quarto")
    assert '<a href="#sec-one">One</a>' in plain


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ('::: {.content-visible when-format="pdf"}\nSECRET\n:::\n', False),
        ('::: {.content-visible when-format="html"}\nSECRET\n:::\n', True),
        ('::: {.content-hidden when-format="html"}\nSECRET\n:::\n', False),
        ('::: {.content-hidden unless-format="html"}\nSECRET\n:::\n', True),
        ("::: {.hidden}\nSECRET\n:::\n", False),
        ("::: {.panel-tabset}\n## SECRET\n\ntext\n:::\n", True),
        (':::: {.columns}\n::: {.column width="50%"}\nSECRET\n:::\n::::\n', True),
        ("```{=latex}\nSECRET\n```\n", False),
        ("```{=html}\n<b>SECRET</b>\n```\n", True),
        ("<!-- SECRET -->\n", False),
        ("{{< meta title >}}\n", False),
    ],
)
def test_divs_and_raw_parts(jobs: DocumentJobs, text: str, seen: bool) -> None:
    main = main_of(jobs, f"Before.\n\n{text}\nAfter.\n", "quarto")
    assert ("SECRET" in main) is seen
    assert "<p>After.</p>" in main
    assert ":::" not in main


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("::: {.callout-note}\n## A *title*\nText.\n:::\n",
         '<aside class="callout note">' + TITLE.format("A <em>title</em>")),
        (":::{admonition} Title\n:class: tip\nText.\n:::\n",
         '<aside class="callout tip">' + TITLE.format("Title")),
        ("```{danger}\nText.\n```\n", '<aside class="callout caution">' + TITLE.format("Caution")),
        ("```{attention} Look\n:class: dropdown\nText.\n```\n", "<details><summary>Look</summary>"),
        (":::{dropdown} More\nText.\n:::\n", "<details><summary>More</summary>"),
        ("::: {#thm-a}\n## Name\nText.\n:::\n", 'id="thm-a">' + TITLE.format("Theorem 1 (Name)")),
    ],
)  # fmt: skip
def test_admonitions(jobs: DocumentJobs, text: str, found: str) -> None:
    main = main_of(jobs, text, "myst" if "{" in text[:5] and "{." not in text and "{#" not in text else "quarto")
    assert found in main, main
    assert "<p>Text.</p>" in main
    assert ":class:" not in main


@pytest.mark.parametrize("flavour", ["stencila", "quarto", "myst"])
def test_an_include_is_in_the_page_as_if_it_stood_there(jobs: DocumentJobs, flavour: str) -> None:
    include = {
        "stencila": "::: include part.md\n",
        "quarto": "{{< include part.md >}}\n",
        "myst": "```{include} part.md\n```\n",
    }[flavour]
    chunk = {"stencila": "```python exec", "quarto": "```{python}", "myst": "```{code-cell} python"}[flavour]
    part = f"---\ntitle: no\n---\n\nIncluded **text**.\n\n{chunk}\nprint(7)\n```\n\n# Head of part\n".encode()
    main = main_of(jobs, f"---\ntoc: true\n---\n\nA\n\n{include}\nB\n", flavour, part_dot_md=part)
    assert (
        main.index("<p>A</p>")
        < main.index("Included <strong>text</strong>.")
        < main.index("<pre>7")
        < main.index("<p>B</p>")
    )
    assert ">Head of part</a>" in main
    assert "include" not in main
    assert "title: no" not in main


def test_what_a_document_hides_is_hidden_in_what_it_includes(jobs: DocumentJobs) -> None:
    part = (
        b"```{python}\nname = 'shown'\nprint(name)\n```\n\n```{python}\n#| include: false\nprint('un' + 'seen')\n```\n"
    )
    text = "---\nexecute:\n  echo: false\n---\n\n{{< include part.md >}}\n"
    main = main_of(jobs, text, "quarto", part_dot_md=part)
    assert "<pre>shown" in main
    assert "name" not in main
    assert "unseen" not in main


@pytest.mark.parametrize(
    ("text", "around"),
    [
        ("- item\n\n  CHUNK\n", "li"), ("- CHUNK\n- other\n", "li"), ("1. CHUNK\n", "li"), ("> CHUNK\n", "blockquote"),
        ("> text\n>\n> CHUNK\n> more\n", "blockquote"),
        ("- a\n\n  > CHUNK\n", "blockquote"), ("> - CHUNK\n", "blockquote"),
        ("    CHUNK\n", "main"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("flavour", ["stencila", "quarto", "myst"])
def test_chunks_in_lists_and_quotations_run_in_their_place(
    jobs: DocumentJobs, flavour: str, text: str, around: str
) -> None:
    opening = {"stencila": "```python exec", "quarto": "```{python}", "myst": "```{code-cell} python"}[flavour]
    lead = text[: text.index("CHUNK")].rpartition("\n")[2]
    later = re.sub(r"[-*]|\d+\.", lambda sign: " " * len(sign[0]), lead)
    document = text.replace("CHUNK", f"{opening}\n{later}if True:\n{later}    print('in place')\n{later}```")
    (node,) = [each for each in walk(parse(document, flavour).content) if isinstance(each, Chunk)]
    assert node.code == "if True:\n    print('in place')\n"
    main = main_of(jobs, f"Before.\n\n{document}\nAfter.\n", flavour)
    shown = main.index("<pre>in place")
    if around != "main":
        assert main.rindex(f"<{around}>", 0, shown) < shown < main.index(f"</{around}>", shown)
    assert "<p>After.</p>" in main


def test_an_unclosed_quotation_ends_its_chunk() -> None:
    (node,) = parse("> ```python exec\n> x = 1\n\ny\n").content
    assert isinstance(node, Chunk)
    assert (node.code, node.start, node.end) == ("x = 1\n", 0, 2)


@pytest.mark.parametrize(
    ("language", "word"), [("de", "Abbildung"), ("fr", "Figure"), ("ja", "図"), ("pt-BR", "Figura"), ("xx", "Figure")]
)
def test_a_page_speaks_its_documents_language(jobs: DocumentJobs, language: str, word: str) -> None:
    text = f"---\nlang: {language}\n---\n\n![c](a.png){{#fig-a}}\n"
    page = page_of(jobs, jobs.run(text, flavour="quarto"))
    assert f"{word} 1: c" in page
    assert f'<html lang="{language}">' in page


def test_formulas_stay_in_their_list_and_links_without_words_get_them(jobs: DocumentJobs) -> None:
    text = "# Head {#sec-a}\n\n1. item\n\n   $$\n   a = b\n   $$\n\n2. see [](#sec-a) and this^[a note]\n"
    main = main_of(jobs, text, "quarto")
    assert main.count("<ol") == 2  # the list, and the footnotes
    assert '<a href="#sec-a">Head</a>' in main
    assert "a note" in main.partition('class="footnotes"')[2]


def test_figures_of_one_chunk_have_captions_of_their_own(jobs: DocumentJobs) -> None:
    code = "import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()\nplt.plot([2, 1]); plt.show()\n"
    for option in ("fig-subcap: [Up, Down]", "fig-cap: [Up, Down]"):
        main = main_of(jobs, f"```{{python}}\n#| label: fig-a\n#| {option}\n{code}```\n", "quarto")
        assert re.findall(r"\((\w)\) (\w+)</p>", main) == [("a", "Up"), ("b", "Down")]
        assert "<figcaption>Figure 1</figcaption>" in main


_N = 50_000
_HOSTILE = [
    "$$ x $$" + " " * _N + "y", "# a" + " " * _N + "b", ": a" + " " * _N + "b", "{{< a" + " " * _N + "b",
    ">" * _N + "`", "[" * _N, "[@fig-a" * (_N // 7), "{" * _N, "{width=" * (_N // 7), "x^" * (_N // 2),
    "H~" * (_N // 2), "\\(" * (_N // 2), "::: {.a}\n" * (_N // 9), ":::\n" * (_N // 4),
    "::: {#fig-a}\n" * (_N // 13) + "x\n" + ":::\n" * (_N // 13), "- ```python exec\n" * (_N // 17),
    "> ```python exec\n" * (_N // 17), "```{note}\n" * (_N // 10), "$$\n" * (_N // 3),
    "| a |\n|---|\n\n: b {#tbl-a}\n\n" * (_N // 40), "{a}`" * (_N // 4), "(a)=\n" * (_N // 5),
    "\\begin{align}\n" * (_N // 14), "+--+\n|a |\n" * (_N // 10) + "+---+\n",
]  # fmt: skip


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("flavour", ["stencila", "quarto", "myst"])
@pytest.mark.parametrize("number", range(len(_HOSTILE)))
def test_no_text_takes_more_time_than_its_length(jobs: DocumentJobs, flavour: str, number: int) -> None:
    assert jobs.run(_HOSTILE[number], flavour=flavour, execute="all").html_file_id is not None


@pytest.mark.parametrize(
    "code",
    [
        "!x\n" + " " * _N + "=", "!x\n" + "a" * _N, "!x\n" + "(" * _N, "%" * _N, "!x\n" * (_N // 3),
        '"' * _N + "\n!x",
    ],
)  # fmt: skip
def test_no_code_takes_more_time_than_its_length(code: str) -> None:
    assert runnable("python", code)[0]


def test_no_output_takes_more_time_than_its_length() -> None:
    assert on_screen("a" * _N + "\rb" * _N).startswith("b")


@pytest.mark.parametrize(
    ("flavour", "text", "shown", "left"),
    [
        ("quarto", "---\ntitle: T\nabstract: |\n  We look at **it**.\n---\n", "We look at <strong>it</strong>.", "**"),
        ("quarto", "Press {{< kbd Ctrl-C >}}.", "Press <kbd>Ctrl-C</kbd>.", "{{<"),
        ("quarto", "::: {.proof}\nTrivial.\n:::\n", "<em>Proof.</em>", ":::"),
        ("quarto", "| one\n|   two\n\nmore", "<p>one<br>\n&nbsp;&nbsp;two</p>", "|"),
        ("quarto", "```{mermaid}\nflowchart LR\n  A --> B\n```\n", "flowchart LR\n  A --&gt; B", "mermaid"),
        ("quarto", "---\nnumber-sections: true\nformat:\n  html:\n    toc: true\n---\n\n# A\n\n::: {.panel-tabset}\n"
         "## One\nx\n\n## Two\ny\n:::\n", ">One</h2>", "1.1"),
        ("quarto", "+---+-----+\n| a | b   |\n+===+=====+\n| 1 | - x |\n|   | - y |\n+---+-----+\n\n"
         ": Words {#tbl-a}\n\n@tbl-a", "<li>y</li>", "+--"),
        ("quarto", "+---+---+\n| a | b |\n+---+---+\n| spans |\n+---+---+\n", "spans", "<table"),
        ("myst", "````{tab-set}\n```{tab-item} One\nFirst\n```\n```{tab-item} Two\nSecond\n```\n````\n\nafter *it*\n",
         "after <em>it</em>", "```"),
        ("myst", "---\nmyst:\n  substitutions:\n    key: a **value**\n---\n\nIt is {{ key }}, not {{ other }}.\n",
         "It is a <strong>value</strong>, not {{ other }}.", "key"),
        ("myst", "```{csv-table} Data\n:header: a, b\n1, 2\n```\n", "<tr><th>a</th><th>b</th></tr></thead>", "```"),
    ],
)  # fmt: skip
def test_notation_of_the_wild_is_read(jobs: DocumentJobs, flavour: str, text: str, shown: str, left: str) -> None:
    result = jobs.run(text, flavour=flavour)
    assert result.warnings == []
    page = page_of(jobs, result).partition("<main>")[2]
    assert shown in page
    assert left not in page


@pytest.mark.parametrize(
    ("value", "seen", "unseen"),
    [("2", "Large", ["Middle", "Small"]), ("1", "Middle", ["Large", "Small"]), ("0", "Small", ["Large", "Middle"])],
)
def test_parts_that_no_condition_chose_are_not_in_the_page_and_the_notebook(
    jobs: DocumentJobs, value: str, seen: str, unseen: list[str]
) -> None:
    text = (
        f"```python exec\nx = {value}\n```\n\n::: if x > 1 {{python}}\nLarge\n::: elif x > 0 {{python}}\nMiddle\n"
        "::: else\nSmall\n:::\n\n::: assert x > 5 {python}\n\nThe end.\n"
    )
    result = jobs.run(text, notebook=True)
    assert result.notebook_file_id is not None
    notebook = jobs.files.contents[result.notebook_file_id][1].decode()
    page = page_of(jobs, result)
    for shown in (page, notebook):
        assert seen in shown
        assert not any(word in shown for word in unseen)
        assert "The end." in shown
    assert "This does not hold: x &gt; 5" in page


@pytest.mark.parametrize(
    ("flavour", "text", "shown"),
    [
        ("quarto", "::: {layout-ncol=2}\nOne\n\nTwo\n:::\n",
         '<section class="grid columns-2">\n<p>One</p>\n<p>Two</p>\n</section>'),
        ("quarto", '::: {layout="[[70, -5, 30], [100]]"}\nOne\n\nTwo\n:::\n', '<section class="grid columns-2">'),
        ("quarto", "::: {layout-nrow=1}\nOne\n\nTwo\n:::\n", '<section class="grid columns-1">'),
        ("quarto", ":::: {.columns}\n::: {.column width=40%}\nOne\n:::\n::: {.column}\nTwo\n:::\n::::\n",
         '<section class="grid columns-1">\n<section>\n<p>One</p>\n</section>\n<section>\n<p>Two</p>\n</section>\n'
         "</section>"),
        ("quarto", "::: {#fig-two layout-ncol=2}\n```{python}\n#| echo: false\n1\n```\n\n```{python}\n#| echo: false\n2"
         "\n```\n\nBoth\n:::\n", '</section>\n</section><figcaption>Figure 1: Both</figcaption></figure>'),
        ("quarto", "```{python}\n#| layout-ncol: 2\n#| echo: false\ndisplay(1)\ndisplay(2)\n```\n",
         '<section class="grid columns-2"><section><pre>1</pre></section><section><pre>2</pre></section></section>'),
        ("quarto", "```{python}\n#| lst-label: lst-x\n#| lst-cap: A *line*\nx = 1\n```\n\nSee @lst-x.\n",
         '<figcaption>Listing 1: A <em>line</em></figcaption><pre><code>x = 1\n</code></pre></figure>'),
        ("myst", "```{code-cell} python\n---\ntags: [remove-input]\nmystnb:\n  figure:\n    name: fig-a\n"
         "    caption: |\n      A *wave*\n---\n1\n```\n\nSee {numref}`fig-a`.\n",
         '<figure id="fig-a"><pre>1</pre><figcaption>Figure 1: A <em>wave</em></figcaption></figure>'),
    ],
)  # fmt: skip
def test_parts_are_laid_out_as_their_author_says(jobs: DocumentJobs, flavour: str, text: str, shown: str) -> None:
    main = main_of(jobs, text, flavour)
    assert shown in main.replace("\n\n", "\n"), main
    assert "refers to nothing" not in main
