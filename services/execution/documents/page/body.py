"""The body of a page: the prose of the document, with what its blocks have shown in their places."""

from __future__ import annotations

import base64
import html
import re
import secrets
from collections.abc import Sequence

from services.execution.documents.page.callouts import callouts
from services.execution.documents.page.citations.citations import Citations
from services.execution.documents.page.clean import cleaned
from services.execution.documents.page.formulas import Formulas
from services.execution.documents.page.front_matter import Front
from services.execution.documents.page.markdown import Prose, prose
from services.execution.documents.page.value_spans import ValueMarks
from services.execution.documents.parse.nodes import (
    Chunk,
    DocumentNode,
    DocumentTree,
    Expression,
    Instruction,
    Suggestion,
    walk,
)
from services.execution.documents.run.running import RunningDocument
from shared.contracts.document import Block
from shared.contracts.execute import Display
from shared.errors import NotFound

_PICTURES = ("image/png", "image/jpeg", "image/svg+xml")
_MOST_IMAGE, _MOST_PAGE = 10_000_000, 50_000_000
_FIGURE, _TABLE = "Figure", "Table"
_OPTIONS = re.compile(r"\A(?:[ \t]*(?:#|//|--)\|[^\n]*\n)+")  #: of a cell, which are no code


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
        self._blocks = {block.id: block for block in document.blocks.values()}
        self._captions = _captions(tree)
        self._size = 0
        self._mark = secrets.token_hex(16)  #: no text can hold it
        self._shown: list[str] = []
        self.formulas = Formulas(self._mark)
        self.places = ValueMarks(self._mark) if marked else None

    def prose(self) -> Prose:
        """All of it: Markdown is read as a whole, so that footnotes and references find what they name."""
        labels = {id: f"{word} {number}" for id, (word, number, _) in self._captions.items()}
        made = prose(self._source(), self._document.request.notation, labels, self.formulas, self._citations)
        made.html = re.sub(rf"<p>{self._mark}-(\d+)</p>", lambda match: self._shown[int(match[1])], made.html)
        made.html = re.sub(rf"{self._mark}-\d+", "", made.html)  # where Markdown has put it into something else
        return made

    def _source(self) -> str:
        """The document's lines, with a mark in the place of each block and callout."""
        special: dict[int, DocumentNode] = {
            node.start: node for node in walk(self._tree.content) if isinstance(node, (Chunk, Instruction, Suggestion))
        }
        inline: dict[int, list[Expression]] = {}
        for each in walk(self._tree.content):
            if isinstance(each, Expression):
                inline.setdefault(each.start, []).append(each)
        lines, comments = self._tree.lines, dict(self._tree.comments)
        asides = callouts(lines, self._inside())
        text: list[str] = []
        at = self._front.lines if self._front.values else 0
        while at < len(lines):
            if at in comments:
                at = comments[at]
            elif node := special.get(at):
                text.append(self._marked(self._block(node)))
                at = at + 1 if isinstance(node, Instruction) else max(node.end, at + 1)
            else:
                if at in asides:
                    text.append(self._marked(asides[at]))
                elif not lines[at].lstrip().startswith(":::"):
                    text.append(self._line(lines[at], inline.get(at, [])))
                at += 1
        return "".join(text)

    def _inside(self) -> list[bool]:
        """Of every line, whether it belongs to a block."""
        inside = [False] * len(self._tree.lines)
        for node in walk(self._tree.content):
            if isinstance(node, (Chunk, Suggestion)):
                inside[node.start : node.end] = [True] * (node.end - node.start)
            elif isinstance(node, Instruction):
                inside[node.start] = True
        return inside

    def _marked(self, shown: str) -> str:
        self._shown.append(shown)
        return f"\n\n{self._mark}-{len(self._shown) - 1}\n\n"

    def _line(self, line: str, expressions: Sequence[Expression]) -> str:
        """A line with the values of its code in place of the code."""
        for node in sorted(expressions, key=lambda one: -one.columns[0]):
            block = self._blocks.get(node.id)
            if block is not None and block.outputs:
                written = str(block.outputs[-1].text)
                value = re.sub(r"([\\`*_{}\[\]<>()#+!|~&$@])", r"\\\1", written)
                if self.places is not None:
                    value = self.places.word(written, value, block.id)
                line = f"{line[: node.columns[0]]}{value}{line[node.columns[1] :]}"
        return line

    def _block(self, node: DocumentNode) -> str:
        if isinstance(node, Suggestion):
            inner = "".join(self._tree.lines[node.start + 1 : max(node.start + 1, node.end - 1)])
            by = f'<p class="by">{html.escape(node.by)}</p>' if node.by else ""
            answer = prose(inner, self._document.request.notation, {}, self.formulas, self._citations)
            return f'<aside class="answer">{by}{answer.html}</aside>'
        block = self._blocks.get(node.id)
        parts: list[str] = []
        if block is not None and any(message.code == "not_taken" for message in block.messages):
            return ""
        if isinstance(node, Chunk) and "hide" not in node.options and node.options.get("echo") != "false":
            code = f"<pre><code>{html.escape(_OPTIONS.sub('', node.code))}</code></pre>"
            folded = node.options.get("code-fold") in ("true", "show")
            opened = " open" if node.options.get("code-fold") == "show" else ""
            parts.append(f"<details{opened}><summary>Code</summary>{code}</details>" if folded else code)
        if block is not None:
            parts.append(self._outputs(node, block))
            parts += [f'<p class="{m.level}">{html.escape(m.text)}</p>' for m in block.messages if m.level != "info"]
        return f"<section>{''.join(parts)}</section>" if any(parts) else ""

    def _outputs(self, node: DocumentNode, block: Block) -> str:
        alt = _alternative_text(node, block)
        shown = "".join(self._output(output, alt, block.id) for output in block.outputs)
        id = _label(node)
        if not shown or id not in self._captions:
            return shown
        word, number, caption = self._captions[id]
        told = f"<figcaption>{word} {number}{': ' if caption else ''}{html.escape(caption)}</figcaption>"
        body = told + shown if word == _TABLE else shown + told
        return f'<figure id="{html.escape(id)}">{body}</figure>'

    def _output(self, output: Display, alt: str, block: str) -> str:
        if output.text is not None:
            if output.media_type == "text/html":
                return cleaned(output.text)
            if output.media_type == "image/svg+xml":
                return self._picture(output.media_type, output.text.encode("utf-8", "replace"), alt)
            mark = "" if self.places is None else self.places.text(output.text, block)
            return f"<pre>{mark}{html.escape(output.text)}</pre>"
        if output.file_id is None or output.media_type not in _PICTURES:
            return ""
        try:
            with self._document.context.files.open(output.file_id) as stream:
                data = stream.read(_MOST_IMAGE + 1)
        except NotFound:
            return ""
        return self._picture(output.media_type, data, alt)

    def _picture(self, media_type: str, data: bytes, alt: str) -> str:
        self._size += len(data)
        if len(data) > _MOST_IMAGE or self._size > _MOST_PAGE:
            return "<p>(an image that is too large)</p>"
        return f'<img alt="{html.escape(alt)}" src="data:{media_type};base64,{base64.b64encode(data).decode()}">'


def _captions(tree: DocumentTree) -> dict[str, tuple[str, int, str]]:
    """Word, number and caption of every chunk that has a label of a figure or table, or a caption, by its id."""
    captions: dict[str, tuple[str, int, str]] = {}
    counts = {_FIGURE: 0, _TABLE: 0}
    for node in walk(tree.content):
        if not isinstance(node, Chunk) or not (id := _label(node)) or id in captions:
            continue
        options = node.options
        word = _TABLE if id.startswith("tbl-") or "tbl-cap" in options else _FIGURE
        caption = options.get("tbl-cap" if word == _TABLE else "fig-cap") or options.get("caption") or ""
        if caption or id.startswith(("fig-", "tbl-")):
            counts[word] += 1
            captions[id] = (word, counts[word], caption)
    return captions


def _label(node: DocumentNode) -> str:
    """What a chunk is called in references."""
    return (node.options.get("label") or node.id) if isinstance(node, Chunk) else ""


def _alternative_text(node: DocumentNode, block: Block) -> str:
    """The alternative text of a picture: the author's own where there is one."""
    options = node.options if isinstance(node, Chunk) else {}
    return options.get("fig-alt") or options.get("fig-cap") or options.get("caption") or f"A figure of {block.id}"
