"""A document that was run, as a Jupyter notebook (nbformat 4.5): prose and code as cells, with what the code has shown.

The format: https://nbformat.readthedocs.io/en/latest/format_description.html
"""

from __future__ import annotations

import base64
import copy
import json
import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

from services.execution.documents.notebooks.reading import CURRENT, Json, cell_ids, opening, text_of
from services.execution.documents.page.front_matter import front_of
from services.execution.documents.page.pictures import picture_of
from services.execution.documents.parse.nodes import Chunk, DocumentTree, Expression, Include, walk
from services.execution.documents.parse.reader import parse
from services.execution.documents.run.chunks import EXPECTED_ERROR
from services.execution.documents.run.hiding import not_chosen
from services.execution.documents.run.kernels import MAX_PICTURE
from services.execution.documents.run.running import RunningDocument
from shared.contracts.document import Block
from shared.contracts.execute import Display
from shared.errors import NotFound
from shared.languages import DEFAULT_LANGUAGE, LANGUAGES, NotebookKernel

_AS_TEXT = ("text/", "image/svg+xml")
_CELLS_HAVE_IDS = 5  #: since nbformat 4.5
_MAX_OUTPUT = 10_000_000
_CELL = re.compile(r'\+\+\+ \{"id": "([\w-]{1,64})"\}\s*\Z')
_NAMED = re.compile(r"(!\[[^\]\n]*\]\()([^()\s:]{1,300})(?=[)\s])")  #: a picture of Markdown, with its address
_TAG = re.compile(r"""<img\s[^>]*?src=["']([^"':]{1,300})["']""", re.IGNORECASE)
_CODE = re.compile(r"(^ {0,3}(?:```+|~~~+)[^\n]*\n.*?^ {0,3}(?:```+|~~~+)[ \t]*$|`[^`\n]+`)", re.M | re.S)
_UNSAFE = re.compile(r"[^\w.-]")  #: what the name of an attachment does without
_FORMATS = re.compile(r"\A(?:[ \t]*(?:#|//|--)\|[^\n]*\n)+")


def notebook_of(document: RunningDocument, tree: DocumentTree, original: Json | None) -> bytes:
    """Return the document as a notebook; of one that came as a notebook its own cells and metadata."""
    writer = _Writer(document)
    made = writer.of_document(tree) if original is None else writer.of_notebook(original, tree)
    return json.dumps(made, indent=1, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


@dataclass
class _Writer:
    document: RunningDocument
    cells: list[Json] = field(default_factory=list)
    _count: int = 0
    _prose: list[str] = field(default_factory=list)

    # -- from a notebook -----------------------------------------------------------------------------------------------

    def of_notebook(self, original: Json, tree: DocumentTree) -> Json:
        made = copy.deepcopy(original)
        texts = _texts(tree)
        minor = made.get("nbformat_minor")
        made["nbformat"] = max(made["nbformat"], CURRENT)
        made["nbformat_minor"] = minor if isinstance(minor, int) else 4
        for id, cell in cell_ids(made):
            if not isinstance(cell.get("source"), (str, list)):
                cell["source"] = ""
            if cell.get("cell_type") == "code":
                block = self.document.blocks.get(id)
                outputs = [] if block is None else self._outputs(block, hides=False)
                cell["outputs"], cell["execution_count"] = outputs, self._counted(block)
                outputs += self._saved_pictures(id, original)
                self._number(outputs, cell["execution_count"])
            elif id in texts and tree.source != self.document.source and texts[id] != text_of(cell):
                cell["source"] = texts[id]
            if made["nbformat_minor"] >= _CELLS_HAVE_IDS:
                cell["id"] = id
        for part in (made, *made["cells"]):
            if not isinstance(part.get("metadata"), dict):
                part["metadata"] = {}
        return made

    def _saved_pictures(self, id: str, original: Json) -> Iterator[Json]:
        """Yield the pictures that a cell has written to files and a text of the notebook shows, as its outputs."""
        texts = [text_of(cell) for cell in original["cells"] if cell.get("cell_type") == "markdown"]
        named = {posixpath.normpath(unquote(address)) for text in texts for address in _addresses(text)}
        for path in sorted(named):
            picture = picture_of(self.document, path) if self.document.writers.get(path) == id else None
            if picture is not None and len(picture[1]) <= MAX_PICTURE:
                yield {"output_type": "display_data", "data": dict([_bundled(*picture)]), "metadata": {}}

    # -- from Markdown -------------------------------------------------------------------------------------------------

    def of_document(self, tree: DocumentTree) -> Json:
        main = _main_language(self.document)
        front = front_of(tree.lines)
        if title := front.title:
            by = " · ".join(text for text in (front.text("subtitle"), front.text("author"), front.text("date")) if text)
            self._prose.append(f"# {title}\n\n" + (f"{by}\n\n" if by else ""))
        self._walk(tree, "", front.lines if front.values else 0, main)
        self._end_prose()
        kernel = kernel_of(main)
        kernelspec = {"name": kernel.name, "display_name": kernel.title, "language": kernel.language}
        metadata = {"kernelspec": kernelspec, "language_info": {"name": kernel.language}}
        return {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": self.cells}

    def _walk(self, tree: DocumentTree, prefix: str, first: int, main: str) -> None:
        chunks = {node.start: node for node in walk(tree.content) if isinstance(node, (Chunk, Include))}
        inline: dict[int, list[Expression]] = {}
        for node in walk(tree.content):
            if isinstance(node, Expression):
                inline.setdefault(node.start, []).append(node)
        skipped = not_chosen(self.document, tree, prefix)
        at = first
        while at < len(tree.lines):
            if at in skipped:
                at = skipped[at]
                continue
            chunk = chunks.get(at)
            if isinstance(chunk, Chunk):
                self._chunk(chunk, self.document.blocks.get(f"{prefix}{chunk.id}"), main)
            elif isinstance(chunk, Include):
                self._include(f"{prefix}{chunk.id}", main)
            elif not _CELL.match(tree.lines[at]):
                self._prose.append(self._line(tree.lines[at], inline.get(at, []), prefix))
            at = max(at + 1, chunk.end if chunk is not None else at)

    def _line(self, line: str, expressions: Sequence[Expression], prefix: str) -> str:
        for node in sorted(expressions, key=lambda one: -one.columns[0]):
            block = self.document.blocks.get(f"{prefix}{node.id}")
            if block is not None and block.outputs:
                line = f"{line[: node.columns[0]]}{block.outputs[-1].text}{line[node.columns[1] :]}"
        return line

    def _include(self, id: str, main: str) -> None:
        included = self.document.included.get(id)
        if included is not None:
            tree = parse(included(), self.document.request.notation, self.document.defaults)
            front = front_of(tree.lines)
            self._walk(tree, f"{id}/", front.lines if front.values else 0, main)

    def _chunk(self, node: Chunk, block: Block | None, main: str) -> None:
        """Write a chunk as a cell: none for a hidden chunk, only outputs for one whose code is hidden."""
        if block is not None and any(message.code == "not_taken" for message in block.messages):
            return
        outputs = [] if block is None else self._outputs(block)
        hidden = block is not None and block.code_hidden
        if hidden and not outputs:
            return
        code = "" if hidden else _FORMATS.sub("", node.code)
        if node.language not in (main, "") and node.language not in LANGUAGES:
            if code:
                self._prose.append(f"```{node.language}\n{code}```\n")
            return
        self._end_prose()
        count = self._counted(block)
        self._number(outputs, count)
        cell = {"cell_type": "code", "execution_count": count, "outputs": outputs, "source": code}
        self._add({**cell, **_in_language(node.language, main, code)})

    def _end_prose(self) -> None:
        text = "".join(self._prose).strip("\n")
        self._prose.clear()
        if text.strip():
            self._add({"cell_type": "markdown", **self._attached(text)})

    def _attached(self, text: str) -> Json:
        """Return the text with its pictures attached to the cell, as a notebook may be moved without their files."""
        attachments: Json = {}

        def attach(match: re.Match[str]) -> str:
            picture = picture_of(self.document, match[2])
            if picture is None or len(picture[1]) > MAX_PICTURE:
                return match[0]
            name, bundle = _UNSAFE.sub("-", posixpath.normpath(unquote(match[2]))), dict([_bundled(*picture)])
            while attachments.setdefault(name, bundle) != bundle:
                name = f"other-{name}"
            return f"{match[1]}attachment:{name}"

        source = "".join(
            part if number % 2 else _NAMED.sub(attach, part) for number, part in enumerate(_CODE.split(text))
        )
        return {"source": source, **({"attachments": attachments} if attachments else {})}

    def _add(self, cell: Json) -> None:
        self.cells.append({"id": f"cell-{len(self.cells)}", "metadata": {}, **cell})

    # -- outputs -------------------------------------------------------------------------------------------------------

    def _counted(self, block: Block | None) -> int | None:
        if block is None or block.status not in ("ok", "fresh", "error"):
            return None
        self._count += 1
        return self._count

    @staticmethod
    def _number(outputs: list[Json], count: int | None) -> None:
        for each in outputs:
            if each["output_type"] == "execute_result":
                each["execution_count"] = count

    def _outputs(self, block: Block, *, hides: bool = True) -> list[Json]:
        return list(self._each_output(block, hides))

    def _each_output(self, block: Block, hides: bool) -> Iterator[Json]:
        for shown in block.outputs:
            if shown.hidden and hides:
                continue
            if shown.source in ("stdout", "stderr") and shown.media_type == "text/plain":
                yield {"output_type": "stream", "name": shown.source, "text": shown.text or ""}
            elif data := self._data(shown):
                kind = "execute_result" if shown.source == "value" else "display_data"
                yield {"output_type": kind, "data": data, "metadata": {}}
        for message in block.messages:
            if message.level == "error" or message.code == EXPECTED_ERROR:
                name, _, rest = message.text.partition(":")
                lines = message.text.splitlines()
                yield {"output_type": "error", "ename": name[:200], "evalue": rest.strip()[:2000], "traceback": lines}

    def _data(self, shown: Display) -> Json:
        """Return the bundle of an output; empty if its content is missing."""
        text: object = shown.text
        if text is None and shown.file_id is not None:
            try:
                with self.document.context.files.open(shown.file_id) as stream:
                    content = stream.read(_MAX_OUTPUT)
            except NotFound:
                return {}
            as_text = shown.media_type.startswith(_AS_TEXT) or shown.media_type == "application/json"
            text = content.decode("utf-8", "replace") if as_text else base64.b64encode(content).decode()
        if shown.media_type == "application/json":
            try:
                text = json.loads(str(text))
            except ValueError:
                return {"text/plain": text}
        plain = {} if shown.plain is None else {"text/plain": shown.plain}
        return {shown.media_type: text, **plain} if text is not None else {}


def _addresses(text: str) -> Iterator[str]:
    """Yield what the pictures in a text name, in Markdown and in HTML."""
    for match in _NAMED.finditer(text):
        yield match[2]
    for match in _TAG.finditer(text):
        yield match[1]


def _bundled(media_type: str, content: bytes) -> tuple[str, str]:
    """Return a picture as notebooks hold it."""
    as_text = media_type.startswith(_AS_TEXT)
    return media_type, content.decode("utf-8", "replace") if as_text else base64.b64encode(content).decode()


def kernel_of(language: str) -> NotebookKernel:
    """Return the Jupyter kernel of a language."""
    row = LANGUAGES.get(language)
    return NotebookKernel(language, language, language) if row is None or row.notebook is None else row.notebook


def _in_language(language: str, main: str, code: str) -> Json:
    """Return the parts of a cell that say that its language is not the notebook's."""
    if language in (main, "") or not code:
        return {}
    magics = LANGUAGES[language].cell_magics if main in LANGUAGES and LANGUAGES[main].magics else ()
    return {"source": f"%%{magics[0]}\n{code}"} if magics else {"metadata": {"vscode": {"languageId": language}}}


def _main_language(document: RunningDocument) -> str:
    """Return the language of most chunks; in a tie, the one used first."""
    languages = [block.language for block in document.blocks.values() if block.kind == "chunk" and block.language]
    return max(dict.fromkeys(languages), key=languages.count, default=DEFAULT_LANGUAGE)


def _texts(tree: DocumentTree) -> dict[str, str]:
    """Return the Markdown between the lines that separate cells, by the cells' ids."""
    ends = {node.start: node.end for node in walk(tree.content) if isinstance(node, Chunk)}
    texts: dict[str, list[str]] = {}
    at, current = 0, None
    while at < len(tree.lines):
        if at in ends:
            at, current = ends[at], None
            continue
        if (match := _CELL.match(tree.lines[at])) and tree.lines[at].startswith(opening(match[1]).rstrip()):
            current = texts.setdefault(match[1], [])
        elif current is not None:
            current.append(tree.lines[at])
        at += 1
    return {id: "".join(lines).strip("\n") for id, lines in texts.items()}
