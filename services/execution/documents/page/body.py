"""The body of a page: the prose of the document, with what its blocks have shown in their places."""

from __future__ import annotations

import html
import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace

from services.execution.documents.page.citations.citations import Citations
from services.execution.documents.page.clean import cleaned
from services.execution.documents.page.formulas import Formulas
from services.execution.documents.page.front_matter import Front, front_of
from services.execution.documents.page.labels import Labels, kind_of, words_of
from services.execution.documents.page.layout import columns_of
from services.execution.documents.page.markdown import Prose, Reading, prose
from services.execution.documents.page.pictures import Pictures
from services.execution.documents.page.source import SourceWriter
from services.execution.documents.page.value_spans import ValueMarks
from services.execution.documents.parse.nodes import (
    Assertion,
    Chunk,
    DocumentNode,
    DocumentTree,
    Expression,
    Include,
    Instruction,
    Suggestion,
    walk,
)
from services.execution.documents.parse.reader import parse
from services.execution.documents.run.chunks import EXPECTED_ERROR
from services.execution.documents.run.hiding import not_chosen
from services.execution.documents.run.running import RunningDocument
from shared.contracts.document import Block
from shared.contracts.execute import Display

_PICTURES = ("image/png", "image/jpeg", "image/svg+xml", "image/gif", "image/webp")
_SIGNS = re.compile(r"[\\`*_{}\[\]<>()#+!|~&$@^\"'.-]")  #: that Markdown reads
_ESCAPED = {sign: f"&#{ord(sign)};" for sign in "()[]"}  #: behind a backslash they would begin a formula
_NEEDS_SCRIPTS = "(An interactive output, which needs scripts: a page runs none.)"
_NOT_SHOWN = re.compile(r"<(?!img\b|table\b)[^>]*>")  #: tags that show nothing by themselves
_READ_AS_TEXT = ("text/html", "text/markdown", "text/latex", "text/plain", "application/json")
_MATHS = re.compile(r"\s*\$\$?(?:\\displaystyle)?(.*?)\$?\$\s*", re.S)
_OPTIONS = re.compile(r"\A(?:[ \t]*(?:#|//|--)\|[^\n]*\n)+")  #: options of a cell, which are not code


class PageBody:
    def __init__(
        self,
        document: RunningDocument,
        tree: DocumentTree,
        front: Front,
        citations: Citations | None = None,
        *,
        marked: bool = False,
    ) -> None:
        """``marked``: with a mark at each value of the document's code."""
        self._document, self._tree, self._front, self._citations = document, tree, front, citations
        self._blocks = document.blocks
        self._mark = secrets.token_hex(16)  #: no text can hold it
        self._shown: list[str] = []
        self.pictures = Pictures(document)
        self._flavour = document.request.notation
        words, own = words_of(front.language), front.crossref
        self.labels = Labels(
            {kind: own.get(f"{kind}-title", word) for kind, word in words.items()},
            {kind: own[f"{kind}-prefix"] for kind in words if f"{kind}-prefix" in own},
        )
        self.formulas = Formulas(self._mark)
        for name, text in front.macros.items():
            self.formulas.macros.define(name, text)
        self.places = ValueMarks(self._mark) if marked else None
        self._writer = SourceWriter(
            self._flavour, self.labels, self.formulas, self._marked, self.fragment, self.pictures.html,
            self.pictures.text, front.text,
        )  # fmt: skip

    def prose(self) -> Prose:
        """Return all of it: Markdown is read as a whole, so that footnotes and references find what they name."""
        source = self._text(self._tree, "", self._front.lines if self._front.values else 0)
        made = prose(source, self._reading(whole=True))
        made.html = self._placed(made.html)
        for id in list(made.unknown)[:20]:
            self._document.warn(f"@{id} refers to nothing in the document.")
        return made

    def _reading(self, *, whole: bool = False, raw: bool = True) -> Reading:
        """``whole``: the document, not a part of it; ``raw``: with HTML of its author's."""
        return Reading(
            self._flavour, self.labels, self.formulas, self._citations, self.pictures.html,
            raw_html=raw and self._flavour != "stencila", numbered=whole and self._front.numbered,
            headings=whole, mark=self._mark,
        )  # fmt: skip

    def fragment(self, markdown: str) -> str:
        """Return a separate piece of Markdown, such as a caption or a code's output, as HTML with closed tags."""
        return cleaned(prose(markdown, self._reading(raw=False)).html, self.pictures.address)

    def _placed(self, made: str) -> str:
        """Replace the marks by the HTML of their blocks, also marks within blocks."""
        mark = f"{self._mark}-"
        pattern = re.compile(
            rf"<p>{mark}(\d+)</p>|(?<=<li>){mark}(\d+)(?=\n?</li>)|<pre><code>{mark}(\d+)\n</code></pre>"
        )
        made = pattern.sub(lambda match: self._shown[int(match[1] or match[2] or match[3])], made)
        return re.sub(rf"{self._mark}-\d+", "", made)  # where Markdown has put it into something else

    def _text(self, tree: DocumentTree, prefix: str, first: int) -> str:
        """Return the lines of a document, with a mark in place of each block; ``prefix`` is that of an include's
        ids.
        """
        special: dict[int, DocumentNode] = {}
        inline: dict[int, list[Expression]] = {}
        for node in walk(tree.content):
            if isinstance(node, Expression):
                inline.setdefault(node.start, []).append(node)
            elif isinstance(node, (Assertion, Chunk, Instruction, Suggestion, Include)):
                special[node.start] = node

        def block(at: int) -> tuple[str, str, int] | None:
            node = special.get(at)
            if node is None:
                return None
            end = at + 1 if isinstance(node, Instruction) else node.end
            if isinstance(node, Include):
                return self._include(node, prefix), "", end
            lead = node.prefix if isinstance(node, Chunk) else ""
            return self._marked(self._block(node, prefix), lead), lead, end

        def line(at: int) -> str:
            return self._line(tree.lines[at], inline.get(at, []), prefix)

        skipped = {**not_chosen(self._document, tree, prefix), **dict(tree.comments)}
        return self._writer.write(tree.lines, _inside(tree), first, block, line, skipped)

    def _include(self, node: Include, prefix: str) -> str:
        """Return the lines of the file, as if they stood there; or why they do not."""
        block = self._blocks.get(f"{prefix}{node.id}")
        if block is None:
            return "\n"
        included = self._document.included.get(block.id)
        if included is None:
            messages = self._messages(block)
            return self._marked(messages, "") if messages else "\n"
        tree = parse(included(), self._flavour, self._document.defaults)
        front = front_of(tree.lines)
        return f"\n\n{self._text(tree, f'{block.id}/', front.lines if front.values else 0)}\n\n"

    def _marked(self, shown: str, lead: str) -> str:
        """Return a paragraph that stands for HTML; ``lead``: what its line begins with, in a list or a quotation."""
        self._shown.append(shown)
        mark = f"{self._mark}-{len(self._shown) - 1}"
        if not lead.strip():
            return f"\n\n{lead}{mark}\n\n"
        around = lead.rstrip() if set(lead) <= {">", " ", "\t"} else ""
        return f"{around}\n{lead}{mark}\n{around}\n"

    def _line(self, line: str, expressions: Sequence[Expression], prefix: str) -> str:
        """Return a line with the values of its code in place of the code."""
        for node in sorted(expressions, key=lambda one: -one.columns[0]):
            block = self._blocks.get(f"{prefix}{node.id}")
            if block is not None and block.outputs:
                written = str(block.outputs[-1].text)
                value = _SIGNS.sub(lambda sign: _ESCAPED.get(sign[0]) or f"\\{sign[0]}", written)
                if self.places is not None:
                    value = self.places.word(written, value, block.id)
                line = f"{line[: node.columns[0]]}{value}{line[node.columns[1] :]}"
        return line

    def _block(self, node: DocumentNode, prefix: str) -> str:
        if isinstance(node, Suggestion):
            inner = "".join(self._tree.lines[node.start + 1 : max(node.start + 1, node.end - 1)])
            by = f'<p class="by">{html.escape(node.by)}</p>' if node.by else ""
            answer = prose(inner, self._reading(raw=False))
            return f'<aside class="answer">{by}{answer.html}</aside>'
        block = self._blocks.get(f"{prefix}{node.id}")
        parts: list[str] = []
        if block is not None and any(message.code == "not_taken" for message in block.messages):
            return ""
        if isinstance(node, Chunk) and (block is None or not block.code_hidden):
            parts.append(self._code(node))
        if block is not None:
            parts += [self._outputs(node, block), self._messages(block)]
        return f"<section>{''.join(parts)}</section>" if any(parts) else ""

    def _code(self, node: Chunk) -> str:
        text = _OPTIONS.sub("", node.code)
        if not text.strip():
            return ""
        code = self._listing(node.options, f"<pre><code>{html.escape(text)}</code></pre>")
        if node.options.get("code-fold") not in ("true", "show"):
            return code
        opened = " open" if node.options["code-fold"] == "show" else ""
        summary = html.escape(node.options.get("code-summary") or self.labels.words["code"])
        return f"<details{opened}><summary>{summary}</summary>{code}</details>"

    def _listing(self, options: Mapping[str, str], code: str) -> str:
        """Return the code with number and caption, where its author gives it a label or a caption."""
        id, caption = options.get("lst-label", ""), options.get("lst-cap", "")
        if not id and not caption:
            return code
        text = self._caption(caption) if caption else ""
        heading = f"{self.labels.lead(id, 'lst', captioned=bool(text))}{text}"
        return f'<figure id="{html.escape(id)}"><figcaption>{heading}</figcaption>{code}</figure>'

    def _messages(self, block: Block) -> str:
        """Errors and warnings; of a block whose code is hidden the errors alone."""
        parts: list[str] = []
        for message in block.messages:
            if message.code == EXPECTED_ERROR:
                parts.append(f'<p class="error">{html.escape(message.text)}</p>')
            elif message.level == "error" or (message.level == "warning" and not block.code_hidden):
                parts.append(f'<p class="{message.level}">{html.escape(message.text)}</p>')
        return "".join(parts)

    def _outputs(self, node: DocumentNode, block: Block) -> str:
        options: Mapping[str, str] = node.options if isinstance(node, Chunk) else {}
        alt = _alternative_text(options, block)
        width = options.get("out-width") or options.get("width") or ""
        visible = [output for output in block.outputs if not output.hidden]
        captions = {kind: _subcaptions(options, kind) for kind in ("fig", "tbl")}
        cells: list[str] = []
        counts = {"fig": 0, "tbl": 0}
        for output in visible:
            made = self._output(output, alt, block.id, width)
            kind = "fig" if output.media_type in _PICTURES else "tbl" if "<table" in made else ""
            subcaption = ""
            if kind and counts[kind] < len(captions[kind]):
                letter = chr(ord("a") + counts[kind] % 26)
                subcaption = f"<p class='subcaption'>({letter}) {self._caption(captions[kind][counts[kind]])}</p>"
            cells.append(subcaption + made if kind == "tbl" else made + subcaption)
            if kind:
                counts[kind] += 1
        columns = columns_of(options) if len(cells) > 1 else 0
        shown = "".join(f"<section>{cell}</section>" for cell in cells) if columns else "".join(cells)
        if columns:
            shown = f'<section class="grid columns-{columns}">{shown}</section>'
        if shown and options.get("output-fold") == "true":
            shown = f"<details><summary>{html.escape(self.labels.words['output'])}</summary>{shown}</details>"
        return self._captioned(node, options, shown) if shown and isinstance(node, Chunk) else shown

    def _captioned(self, node: Chunk, options: Mapping[str, str], shown: str) -> str:
        """With number and caption, where the label or an option says that the output is a figure or table."""
        id = options.get("label") or node.id
        kind = kind_of(id)
        for each in ("tbl", "fig", "lst"):
            kind = each if f"{each}-cap" in options and kind is None else kind
        caption = options.get(f"{kind}-cap") or options.get("caption") or ""
        if kind is None and caption:
            kind = "fig"
        if kind is None:
            return shown
        text = self._caption(caption) if caption and not _listed(caption) else ""
        figcaption = f"<figcaption>{self.labels.lead(id, kind, captioned=bool(text))}{text}</figcaption>"
        for number in range(len(_subcaptions(options, kind))):
            self.labels.part(f"{id}-{number + 1}", id, number)
        below = kind == "fig" and options.get("fig-cap-location") not in ("top", "true")
        return f'<figure id="{html.escape(id)}">{shown + figcaption if below else figcaption + shown}</figure>'

    def _caption(self, text: str) -> str:
        made = self.fragment(text).strip()
        return made[3:-4] if made.startswith("<p>") and made.count("<p>") == 1 and made.endswith("</p>") else made

    def _output(self, output: Display, alt: str, block: str, width: str) -> str:
        text = output.text
        if text is None and output.file_id is not None and output.media_type in _READ_AS_TEXT:
            text = self.pictures.stored(output.file_id)
        if text is not None:
            return self._text_output(output, text, alt, block, width)
        if output.file_id is None or output.media_type not in _PICTURES:
            return ""
        return self.pictures.of_file(output.media_type, output.file_id, alt, width)

    def _text_output(self, output: Display, text: str, alt: str, block: str, width: str) -> str:
        kind = output.media_type
        if kind == "text/html":
            shown = cleaned(text, self.pictures.address)
            if "<script" in text.lower() and not _NOT_SHOWN.sub("", shown).strip():
                shown = f"<p>{_NEEDS_SCRIPTS}</p>"
            return f'<section class="output">{shown}</section>'
        if kind == "text/markdown":
            # Code writes for a page: HTML within its Markdown is HTML, cleaned as all of it.
            return cleaned(prose(text, replace(self._reading(), raw_html=True)).html, self.pictures.address)
        if kind == "text/latex":
            formula = _MATHS.fullmatch(text)
            source = formula[1] if formula else text
            return f"<p>{self.formulas(source.strip(), {'display_mode': True})}</p>"
        if kind == "image/svg+xml":
            return self.pictures.data(kind, text.encode("utf-8", "replace"), alt, width)
        if kind == "application/json":
            text = _indented(text)
        mark = "" if self.places is None else self.places.text(text, block)
        named = ' class="stderr"' if output.source == "stderr" else ""
        return f"<pre{named}>{mark}{html.escape(text)}</pre>"


def _inside(tree: DocumentTree) -> list[bool]:
    """Return for every line whether it belongs to a block."""
    inside = [False] * len(tree.lines)
    for node in walk(tree.content):
        if isinstance(node, (Chunk, Suggestion)):
            inside[node.start : node.end] = [True] * (node.end - node.start)
        elif isinstance(node, (Instruction, Include)):
            inside[node.start] = True
    return inside


def _listed(option: str) -> str:
    """Return an option that is a list; empty if it is a text."""
    return option if option.startswith("[") and option.endswith("]") else ""


def _subcaptions(options: Mapping[str, str], kind: str) -> list[str]:
    """Return the captions of the parts of a figure or table."""
    return _parts(options.get(f"{kind}-subcap") or _listed(options.get(f"{kind}-cap", "")))


def _parts(option: str) -> list[str]:
    """Return the parts of an option that is a list."""
    return [part.strip() for part in option.strip("[]").split(",") if part.strip()]


def _indented(text: str) -> str:
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def _alternative_text(options: Mapping[str, str], block: Block) -> str:
    """Return the alternative text of a picture: the author's, if given."""
    return options.get("fig-alt") or options.get("fig-cap") or options.get("caption") or f"A figure of {block.id}"
