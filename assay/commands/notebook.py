"""A document that was run, as a Jupyter notebook (nbformat 4.5): prose and code as cells, with what the code has shown.

The format: https://nbformat.readthedocs.io/en/latest/format_description.html
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from shared.languages import DEFAULT_LANGUAGE, LANGUAGES, NotebookKernel, language_of_word

Json = dict[str, Any]
Fetch = Callable[[str], bytes]  #: the content of a file by its id

_FENCE = re.compile(
    r"^(?P<fence>`{3,}|~{3,})[ \t]*"
    r"(?:(?P<plain>\w+)[ \t]+exec\b|\{code-cell\}[ \t]*(?P<cell>\w*)|\{(?P<braced>\w+)\b)[^\n]*\n",
    re.M,
)
_TEXT = ("text/plain", "text/html", "text/markdown", "image/svg+xml", "application/json")


def notebook(markdown: str, blocks: Sequence[Mapping[str, Any]], fetch: Fetch) -> Json:
    """Cells in another language than most of the code are shown, but are no code of the notebook's kernel."""
    parts = list(_parts(markdown))
    languages = [language for language, _ in parts if language]
    main = max(dict.fromkeys(languages), key=languages.count, default=DEFAULT_LANGUAGE)
    chunks = iter([block for block in blocks if block["kind"] == "chunk"])
    cells: list[Json] = []
    for number, (language, text) in enumerate(parts):
        block = next(chunks, None) if language else None
        outputs = [] if block is None else list(_outputs(block, fetch))
        if language == main:
            count = len([cell for cell in cells if cell["cell_type"] == "code"]) + 1 if outputs else None
            more: Json = {"cell_type": "code", "execution_count": count, "outputs": outputs, "source": text}
        else:
            source = f"```{language}\n{text}```" if language else text.strip("\n")
            more = {"cell_type": "markdown", "source": source}
        if language or text.strip():
            cells.append({"id": f"cell-{number}", "metadata": {}, **more})
    row = LANGUAGES.get(main)
    kernel = NotebookKernel(main, main, main) if row is None or row.notebook is None else row.notebook
    kernelspec = {"name": kernel.name, "display_name": kernel.title, "language": kernel.language}
    metadata = {"kernelspec": kernelspec, "language_info": {"name": kernel.language}}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": cells}


def _parts(markdown: str) -> Iterator[tuple[str, str]]:
    """The language of each part ("" for prose) and its text."""
    at = begin = 0
    while opening := _FENCE.search(markdown, begin):
        word = opening["plain"] or opening["braced"] or opening["cell"] or DEFAULT_LANGUAGE
        row = language_of_word(word)
        if opening["braced"] and row is None:
            begin = opening.end()
            continue
        fence = re.escape(opening["fence"])
        closing = re.compile(rf"^{fence}[`~]*[ \t]*$\n?", re.M).search(markdown, opening.end())
        yield "", markdown[at : opening.start()]
        end = (closing.start(), closing.end()) if closing else (len(markdown), len(markdown))
        yield word.lower() if row is None else row.name, markdown[opening.end() : end[0]]
        at = begin = end[1]
    yield "", markdown[at:]


def _outputs(block: Mapping[str, Any], fetch: Fetch) -> Iterator[Json]:
    for shown in block["outputs"]:
        media_type, text = shown["media_type"], shown.get("text")
        if text is None and shown.get("file_id"):
            content = fetch(shown["file_id"])
            text = content.decode(errors="replace") if media_type in _TEXT else base64.b64encode(content).decode()
        if text is not None:
            yield {"output_type": "display_data", "data": {media_type: text}, "metadata": {}}
    for message in block["messages"]:
        if message["level"] == "error":
            name, _, rest = message["text"].partition(":")
            lines = message["text"].splitlines()
            yield {"output_type": "error", "ename": name[:200], "evalue": rest.strip()[:2000], "traceback": lines}
