"""Notebooks of nbformat 2 and 3, with the cells that nbformat 4.5 has.

https://nbformat.readthedocs.io/en/latest/changelog.html and the schema of nbformat 3
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]

VERSIONS = (2, 3)
_MAX_HEADING = 6
_TEXT_CELLS = {"markdown": "markdown", "html": "markdown", "raw": "raw", "text": "markdown", "plaintext": "raw"}
_NO_METADATA = ("signature", "orig_nbformat", "orig_nbformat_minor")


def upgraded(old: Json) -> Json:
    """Return an older notebook with the cells and metadata of nbformat 4.5, and the ``nbformat`` that it came with.

    The outputs of its cells are left out, because the cells run.
    """
    metadata = {name: value for name, value in _object(old.get("metadata")).items() if name not in _NO_METADATA}
    cells = list(_cells(old))
    languages = Counter(language for cell in cells if (language := _language(cell)))
    named = metadata.get("language")
    main = named if isinstance(named, str) and named else next((name for name, _ in languages.most_common(1)), "")
    if main and "language_info" not in metadata:
        metadata["language_info"] = {"name": main.lower()}
    return {
        "nbformat": old["nbformat"],
        "nbformat_minor": 5,
        "metadata": metadata,
        "cells": [each for cell in cells if (each := _cell(cell, main.lower())) is not None],
    }


def _cells(old: Json) -> Iterator[Json]:
    for sheet in old["worksheets"]:
        cells = _object(sheet).get("cells")
        yield from (cell for cell in cells if isinstance(cell, dict)) if isinstance(cells, list) else ()


def _cell(cell: Json, main: str) -> Json | None:
    """Return one cell in its newer form; ``None`` for a kind that there never was."""
    kind, metadata = cell.get("cell_type"), dict(_object(cell.get("metadata")))
    if kind == "code":
        if isinstance(cell.get("collapsed"), bool):
            metadata["collapsed"] = cell["collapsed"]
        if (language := _language(cell)) not in ("", main):
            metadata["vscode"] = {"languageId": language}
        source = _text(cell.get("input"))
        return {
            "cell_type": "code", "metadata": metadata, "source": source, "outputs": [], "execution_count": None,
        }  # fmt: skip
    source = _text(cell.get("source"))
    if kind == "heading":
        level = cell.get("level")
        depth = min(max(level, 1), _MAX_HEADING) if isinstance(level, int) else 1
        return {"cell_type": "markdown", "metadata": metadata, "source": f"{'#' * depth} {' '.join(source.split())}"}
    if isinstance(kind, str) and kind in _TEXT_CELLS:
        return {"cell_type": _TEXT_CELLS[kind], "metadata": metadata, "source": source}
    return None


def _language(cell: Json) -> str:
    """Return the language of a code cell; empty if it names none."""
    language = cell.get("language")
    return language.lower() if cell.get("cell_type") == "code" and isinstance(language, str) else ""


def _text(source: object) -> str:
    """Return a text, which may be a list of lines."""
    lines = source if isinstance(source, list) else [source]
    return "".join(line for line in lines if isinstance(line, str))


def _object(value: object) -> Json:
    return value if isinstance(value, dict) else {}
