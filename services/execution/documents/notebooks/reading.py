"""A Jupyter notebook as a document: its cells in the notation of MyST, which notebooks have as text.

The format: https://nbformat.readthedocs.io/en/latest/format_description.html
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import chain, count
from typing import Any

from services.execution.documents.notebooks import upgrading
from shared.errors import InvalidRequest
from shared.languages import DEFAULT_LANGUAGE, language_of_word

Json = dict[str, Any]  #: of a notebook, whose metadata may be anything

CURRENT = 4  #: nbformat of the cells that are read and written
_MAX_DEPTH = 100  #: of lists and objects within each other
_ID = re.compile(r"[\w-]{1,64}")
_TAG = re.compile(r"[\w-]{1,60}")
_FENCE = re.compile(r"[ \t]{0,3}(`{3,}|~{3,})([^\r\n]*)")
_LANGUAGE = re.compile(r"[\w#+.-]{1,60}")
_KERNEL_WORD = re.compile(r"[a-z]+")
_HALF_PAIR = re.compile("[\ud800-\udfff]")  #: JSON's escapes can write half of a surrogate pair, which UTF-8 cannot
_DATABRICKS = "application/vnd.databricks.v1+notebook"
_TICKS = re.compile(r"`{3,}")
_ATTACHMENT = re.compile(r"\(attachment:([^()\s]{1,200})\)")


def notebook_in(text: str) -> Json | None:
    """Return the notebook that a text holds, an older one with the cells of nbformat 4.5; ``None`` if it is not a
    notebook.

    Raises: InvalidRequest.
    """
    if not text.lstrip("\ufeff \t\r\n").startswith("{"):
        return None
    try:
        held = json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(held, dict) or "nbformat" not in held:
        return None
    if _depth(held) > _MAX_DEPTH:
        problem = f"a notebook has at most {_MAX_DEPTH} lists and objects within each other"
        raise InvalidRequest(problem, [(["body", "input", "markdown"], problem)])
    version = held["nbformat"]
    if version in upgrading.VERSIONS and isinstance(held.get("worksheets"), list):
        return upgrading.upgraded(held)
    cells = held.get("cells")
    if not isinstance(version, int) or version < CURRENT or not isinstance(cells, list):
        problem = (
            f"a notebook has nbformat {CURRENT} or later and a list of cells, or nbformat 2 or 3 and a list of"
            f" worksheets; this one has nbformat {version!r}"
        )
        raise InvalidRequest(problem, [(["body", "input", "markdown"], problem)])
    held["cells"] = [cell for cell in cells if isinstance(cell, dict)]
    return held


def cell_ids(notebook: Json) -> Iterator[tuple[str, Json]]:
    """Yield every cell with its id, or with a new one where it has none."""
    own = {cell.get("id") for cell in notebook["cells"] if isinstance(cell.get("id"), str)}
    taken: set[str] = set()
    for number, cell in enumerate(notebook["cells"], 1):
        id = cell.get("id")
        if not isinstance(id, str) or not _ID.fullmatch(id) or id in taken:
            names = (f"cell-{number}{suffix}" for suffix in chain([""], (f"-{again}" for again in count(2))))
            id = next(name for name in names if name not in own and name not in taken)
        taken.add(id)
        yield id, cell


def as_markdown(notebook: Json) -> str:
    """Return the notebook as Markdown."""
    language = _language(_of(notebook, "metadata"))
    parts: list[str] = []
    for id, cell in cell_ids(notebook):
        source = text_of(cell)
        kind = cell.get("cell_type")
        if kind == "code":
            parts.append(_code(id, source, language, _of(cell, "metadata")))
        elif not parts and source.lstrip().startswith("---\n"):
            parts.append(source.lstrip().rstrip() + "\n")  # Quarto's front matter
        elif kind == "markdown":
            parts.append(f"{opening(id)}{_closed(_with_attachments(source, cell))}\n")
        elif (
            kind == "raw"
            and "html" in f"{_of(cell, 'metadata').get('format')} {_of(cell, 'metadata').get('raw_mimetype')}"
        ):
            parts.append(f"```{{=html}}\n{source}\n```\n")
    return _HALF_PAIR.sub("\ufffd", "\n".join(parts))


def opening(id: str) -> str:
    """Return the line before a Markdown cell, as MyST separates cells."""
    return f'+++ {{"id": "{id}"}}\n'


def text_of(cell: Json) -> str:
    """Return the text of a cell, which may be a list of lines."""
    source = cell.get("source")
    lines = source if isinstance(source, list) else [source]
    return "".join(line for line in lines if isinstance(line, str))


def _of(held: Mapping[str, Any], name: str) -> Json:
    value = held.get(name)
    return value if isinstance(value, dict) else {}


def _depth(held: object) -> int:
    """Return how many lists and objects are within each other."""
    depth, level = 0, [held]
    while level := [each for each in level if isinstance(each, (dict, list))]:
        depth += 1
        level = [part for each in level for part in (each.values() if isinstance(each, dict) else each)]
    return depth


def _language(metadata: Json) -> str:
    """Return the language of the cells that name none."""
    kernel = _of(metadata, "kernelspec")
    named = (
        kernel.get("language"),
        _of(metadata, "language_info").get("name"),
        _of(metadata, _DATABRICKS).get("language"),
    )
    return next(filter(None, map(_word, named)), "") or _kernels_language(kernel) or DEFAULT_LANGUAGE


def _kernels_language(kernel: Json) -> str:
    """Return the language that a kernel's name or title has in it, as `conda-env-base-py` has; else its name."""
    for name in (kernel.get("name"), kernel.get("display_name")):
        words = _KERNEL_WORD.findall(name.lower()) if isinstance(name, str) else []
        for word in reversed(words):
            if (language := language_of_word(word)) is not None:
                return language.name
    return _word(kernel.get("name"))


def _word(named: object) -> str:
    """Return the first word of a language's name; empty where it is none."""
    words = named.split() if isinstance(named, str) else []
    return words[0].lower() if words and _LANGUAGE.fullmatch(words[0]) else ""


def _cells_language(metadata: Json) -> str:
    """Return the language that an editor has set for one cell."""
    named = (
        _of(metadata, "vscode").get("languageId"), _of(metadata, "polyglot_notebook").get("kernelName"),
        _of(metadata, "dotnet_interactive").get("language"),
    )  # fmt: skip
    return next(filter(None, map(_word, named)), "")


def _code(id: str, source: str, language: str, metadata: Json) -> str:
    given = metadata.get("tags")
    listed = given if isinstance(given, list) else [given]
    tags = [tag for tag in listed if isinstance(tag, str) and _TAG.fullmatch(tag)]
    jupyter = _of(metadata, "jupyter")
    tags += ["hide-input"] * (jupyter.get("source_hidden") is True)
    tags += ["hide-output"] * (jupyter.get("outputs_hidden") is True)
    ticks = "`" * (max([2, *(len(match) for match in _TICKS.findall(source))]) + 1)
    options = f":id: {id}\n" + (f":tags: [{', '.join(tags)}]\n" if tags else "")
    end = "" if source.endswith("\n") else "\n"
    return f"{ticks}{{code-cell}} {_cells_language(metadata) or language}\n{options}{source}{end}{ticks}\n"


def _closed(source: str) -> str:
    """Close a cell's last code block if the cell leaves it open."""
    opened = ""
    for line in source.splitlines():
        if match := _FENCE.match(line):
            if not opened:
                opened = match[1]
            elif match[1].startswith(opened) and not match[2].strip():
                opened = ""
    text = source if source.endswith("\n") else f"{source}\n"
    return f"{text}{opened}\n" if opened else text


def _with_attachments(source: str, cell: Json) -> str:
    """Replace the names of a cell's attached pictures by the pictures."""
    attached = _of(cell, "attachments")

    def data(match: re.Match[str]) -> str:
        for media_type, content in _of(attached, match[1]).items():
            if media_type.startswith("image/") and isinstance(content, str):
                return f"(data:{media_type};base64,{''.join(content.split())})"
        return match[0]

    return _ATTACHMENT.sub(data, source) if attached else source
