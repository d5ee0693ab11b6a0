"""A page as a whole: its head, its title block, its table of contents, its body."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

from services.execution.documents.page.body import PageBody
from services.execution.documents.page.citations.citations import Citations
from services.execution.documents.page.citations.library import library
from services.execution.documents.page.clean import cleaned
from services.execution.documents.page.front_matter import Front, front_of
from services.execution.documents.page.markdown import Prose
from services.execution.documents.page.style import style
from services.execution.documents.page.value_spans import Span
from services.execution.documents.parse.nodes import DocumentTree, Expression
from services.execution.documents.run.running import RunningDocument

#: Of a longer page places are not looked for.
_PLACE = '<a id="refs"></a>'  #: where the author places the list of works
_HEADING = re.compile(r"\A<h2[^>]*>.*?</h2>", re.S)
_MAX_MARKED = 2_000_000


@dataclass(frozen=True)
class Page:
    html: bytes
    spans: list[Span]


def page(document: RunningDocument, tree: DocumentTree) -> Page:
    """Return the written document with the outputs of its blocks, in the order of its lines."""
    front = front_of(_with_values(document, tree))
    is_myst = document.request.notation == "myst"
    works = library(front.values, document.kernels.files, document.warn, all_files=is_myst)

    def main(*, marked: bool) -> tuple[str, PageBody]:
        citations = Citations(works) if works or "bibliography" in front.values else None
        body = PageBody(document, tree, front, citations, marked=marked)
        made = body.prose()
        contents = _toc(made) if front.toc else ""
        references = "" if citations is None else citations.references(front.references_title)
        if citations is not None and citations.unknown:
            document.warn(f"The bibliography has no {', '.join(list(citations.unknown)[:20])}.")
        titled = any(heading.level == 1 and heading.text == front.title for heading in made.headings[:1])
        whole = (
            front.html(body.fragment, titled=titled, is_quarto=document.request.notation == "quarto")
            + contents
            + _with_references(made, references)
        )
        return body.formulas.placed(cleaned(whole, body.pictures.address, ids=True)), body

    clean, _ = main(marked=False)
    spans: list[Span] = []
    if len(clean) <= _MAX_MARKED and any(block.outputs for block in document.blocks.values()):
        marked, body = main(marked=True)
        spans = [] if body.places is None else body.places.found(marked, clean)
    return Page(_whole(clean, front), spans)


def _with_values(document: RunningDocument, tree: DocumentTree) -> list[str]:
    """Return the document's lines with the values of code in its front matter, as texts of YAML."""
    lines = list(tree.lines)
    in_front = [node for node in tree.content if isinstance(node, Expression) and node.start < front_of(lines).lines]
    for node in sorted(in_front, key=lambda one: -one.columns[0]):
        block = document.blocks.get(node.id)
        if block is not None and block.outputs:
            value = " ".join(str(block.outputs[-1].text).replace("\\", "").replace('"', "'").split())
            line = lines[node.start]
            lines[node.start] = f"{line[: node.columns[0]]}{value}{line[node.columns[1] :]}"
    return lines


def _whole(clean: str, front: Front) -> bytes:
    title = html.escape(front.title) or _title(clean)
    return (
        f'<!doctype html><html lang="{html.escape(front.language)}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'\">"
        f"<title>{title}</title><style>{style(front.theme)}</style></head><body><main>{clean}</main></body></html>"
    ).encode("utf-8", "replace")


def _with_references(made: Prose, references: str) -> str:
    """Insert the list of works: where the author places it, else at the end, before the footnotes."""
    if not references:
        return made.html
    if _PLACE in made.html:
        return made.html.replace(_PLACE, _HEADING.sub("", references), 1)
    body, rule, notes = made.html.partition('<hr class="footnotes-sep"')
    if made.headings and f'id="{made.headings[-1].id}"' in body[body.rfind("<h") :]:
        after = body[body.rfind("</h") :].partition(">")[2]
        if not after.strip():  # a heading of the author's, with nothing below
            references = _HEADING.sub("", references)
    return body + references + rule + notes


def _title(clean: str) -> str:
    """Return the first heading's text, which is escaped already."""
    heading = re.search(r"<h1[^>]*>(.{1,2000}?)</h1>", clean, re.S)
    return re.sub(r"<[^>]*>", "", heading[1]) if heading else "Document"


def _toc(body: Prose) -> str:
    """Headings as nested lists."""
    parts, depth = ["<nav class='toc'>"], 0
    for heading in body.toc():
        while depth < heading.level:
            parts.append("<ul>")
            depth += 1
        while depth > heading.level:
            parts.append("</ul>")
            depth -= 1
        parts.append(f'<li><a href="#{html.escape(heading.id)}">{html.escape(heading.numbered)}</a></li>')
    return "".join([*parts, "</ul>" * depth, "</nav>"])
