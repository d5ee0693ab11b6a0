"""How text cites works, and how their list is printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import JsonValue

from services.execution.documents.page.citations.bibtex import works_of_bibtex
from services.execution.documents.page.citations.citations import Citations
from services.execution.documents.page.citations.library import library
from services.execution.documents.page.citations.work import Name, Work
from services.execution.documents.page.formulas import Formulas
from services.execution.documents.page.labels import Labels
from services.execution.documents.page.markdown import Reading, prose

BIB = r"""
@string{ jrnl = "Journal of Ships" }
@article{doe2020,
  author = {Doe, Jane and Roe, Richard},
  title  = {On {Hulls}},
  journal = jrnl # { and Boats}, volume = 12, number = {3}, pages = {1--20}, year = 2020, doi = "10.1000/182"
}
@book{godel, author = {Kurt G{\"o}del}, title = "Sätze \& Beweise", publisher = {Springer}, date = {1931-01}}
@misc{who, author = {{World Health Organization} and van der Berg, Ann-Marie and C. Third}, title = {Facts},
  year = {2020}, url = {https://example.org/a_b}}
@article(paren, author = {Doe, Jane}, title = {Later}, year = {2021})
@article{twin, author = {Doe, Jane}, title = {Earlier}, year = {2021}}
"""


def html_of(text: str, works: dict[str, Work] | None = None) -> tuple[str, Citations]:
    citations = Citations(works if works is not None else {work.key: work for work in works_of_bibtex(BIB)})
    formulas = Formulas("mark")
    made = prose(text, Reading("quarto", Labels(known={"fig-a": "Figure 1"}), formulas, citations))
    return re.sub(r"</?(?:a|p)\b[^>]*>", "", made.html).strip(), citations


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[@doe2020]", "(Doe &amp; Roe, 2020)"),
        ("[see @doe2020, p. 3; @godel]", "(see Doe &amp; Roe, 2020, p. 3; Gödel, 1931)"),
        ("Roe said so [-@doe2020].", "Roe said so (2020)."),
        ("@godel proved it.", "Gödel (1931) proved it."),
        ("@godel [p. 7] proved it.", "Gödel (1931, p. 7) proved it."),
        ("[@who]", "(World Health Organization et al., 2020)"),
        ("[@paren; @twin]", "(Doe, 2021b; Doe, 2021a)"),
        ("[@{godel}]", "(Gödel, 1931)"),
        ("[@nobody]", "(nobody?)"),
        ("@nobody is left, and a@b.org, and [x@y.org]", "@nobody is left, and a@b.org, and [x@y.org]"),
        ("`[@godel]`", "<code>[@godel]</code>"),
        ("@fig-a and [@fig-a]", "Figure 1 and Figure 1"),
        ("**[@godel]**", "<strong>(Gödel, 1931)</strong>"),
    ],
)
def test_citations_become_author_and_year(text: str, shown: str) -> None:
    assert html_of(text)[0] == shown


def test_what_was_cited_is_listed_by_author_with_its_link() -> None:
    _, citations = html_of("[@who] [@doe2020] @godel [@twin] [@nobody]")
    listed = citations.references("Works")
    assert re.findall(r'id="([\w-]+)"', listed) == ["references", "ref-twin", "ref-doe2020", "ref-godel", "ref-who"]
    assert (
        "Doe, J., &amp; Roe, R. (2020). On Hulls. <em>Journal of Ships and Boats</em>, <em>12</em>(3), 1–20. "
        '<a href="https://doi.org/10.1000/182">https://doi.org/10.1000/182</a>'
    ) in listed
    assert "Gödel, K. (1931). <em>Sätze &amp; Beweise</em>. Springer." in listed
    assert "World Health Organization, van der Berg, A.-M., &amp; Third, C. (2020). <em>Facts</em>." in listed
    assert list(citations.unknown) == ["nobody"]
    assert Citations({}).references("Works") == ""


def test_names_and_fields_of_bibtex() -> None:
    works = {work.key: work for work in works_of_bibtex(BIB)}
    assert list(works) == ["doe2020", "godel", "who", "paren", "twin"]
    assert works["doe2020"].authors == (Name("Doe", "Jane"), Name("Roe", "Richard"))
    assert (works["doe2020"].container, works["doe2020"].pages) == ("Journal of Ships and Boats", "1-20")
    assert works["godel"].authors == (Name("Gödel", "Kurt"),)
    accents = r"@misc{a, title = {\'{e}\`a\^{\i} \c{c} \v{S} \aa{} \ss{} {\O}re \~n 50\% \emph{x} $a_b$}}"
    assert next(works_of_bibtex(accents)).title == "éàî ç Š å ß Øre ñ 50% x $a_b$"


@pytest.mark.parametrize(
    "text",
    [
        "@article{" * 50_000, "@article{a, title={" + "{" * 200_000, '@article{a, title="' + '{"}' * 60_000,
        "@article{a" + "," * 200_000, "@" * 200_000, "@article{a, t = x # " * 20_000, "@comment{" * 30_000,
        "@article{a, title={" + "\\" * 200_000, "@article{a, author={" + "A and " * 50_000 + "B}}",
        "@string{" + "".join(f's{n} = "x" # s{n - 1}, ' for n in range(20_000)) + "}",
        "@article{a," + "".join(f"f{n}={{x}}," for n in range(20_000)) + "}",
        "@misc{a, title={" + "\\\"{o}" * 40_000 + "}}",
    ],
)  # fmt: skip
def test_hostile_bibliographies_end_at_once(text: str) -> None:
    for work in works_of_bibtex(text):
        assert len(work.title) <= 2_000
        assert len(work.authors) <= 200
    html_of("[@" * 3_000 + "a;" * 3_000 + "]" * 3_000)


def test_bibliographies_are_read_by_name_and_what_cannot_be_is_told(tmp_path: Path) -> None:
    files = {"a.bib": BIB.encode(), "b.json": b'[{"id": "csl", "type": "book", "title": "<b>T</b>", "author": '
             b'[{"family": "Ode", "given": "A"}], "issued": {"date-parts": [[1999, 2]]}, "URL": "javascript:x"}, 3]',
             "c.bib": b"\xff", "d.json": b"{", "e.bib": b"@" * 1_000_001}  # fmt: skip
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    told: list[str] = []
    names: list[JsonValue] = ["./a.bib", *list(files)[1:], "none.bib"]
    own: dict[str, JsonValue] = {"id": "mine", "title": "Mine", "issued": "2003"}
    works = library(
        {"bibliography": names, "references": [own], "csl": "ieee.csl"},
        {name: tmp_path / name for name in files},
        told.append,
    )
    assert {"doe2020", "csl", "mine"} < works.keys()
    named = [re.search(r"(\w+\.\w+|`csl`)", warning) for warning in told]
    assert [match and match[0] for match in named] == ["c.bib", "d.json", "e.bib", "none.bib", "`csl`"]
    shown, citations = html_of("[@csl; @mine]", works)
    assert shown == "(Ode, 1999; “Mine”, 2003)"
    listed = citations.references("R")
    assert "&lt;b&gt;T&lt;/b&gt;" in listed
    assert "javascript" not in listed
