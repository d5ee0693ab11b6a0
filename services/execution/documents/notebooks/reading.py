"""A Jupyter notebook as a document: its cells in the notation of MyST, which notebooks have as text.

The format: https://nbformat.readthedocs.io/en/latest/format_description.html
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from shared.errors import InvalidRequest
from shared.languages import DEFAULT_LANGUAGE

Json = dict[str, Any]  #: of a notebook, whose metadata may be anything

_OLDEST = 4
_ID = re.compile(r"[\w-]{1,64}")
_TAG = re.compile(r"[\w-]{1,60}")
_FENCE = re.compile(r"[ \t]{0,3}(`{3,}|~{3,})([^\r\n]*)")
_TICKS = re.compile(r"`{3,}")
_ATTACHMENT = re.compile(r"\(attachment:([^()\s]{1,200})\)")


def notebook_in(text: str) -> Json | None:
    """Return the notebook that a text holds; ``None`` if it is not a notebook. Raises: InvalidRequest."""
    if not text.lstrip("\ufeff \t\r\n").startswith("{"):
        return None
    try:
        held = json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(held, dict) or "nbformat" not in held:
        return None
    version, cells = held["nbformat"], held.get("cells")
    if not isinstance(version, int) or version < _OLDEST or not isinstance(cells, list):
        problem = f"a notebook has nbformat {_OLDEST} or later and a list of cells; this one has nbformat {version!r}"
        raise InvalidRequest(problem, [(["body", "input", "markdown"], problem)])
    held["cells"] = [cell for cell in cells if isinstance(cell, dict)]
    return held


def cell_ids(notebook: Json) -> Iterator[tuple[str, Json]]:
    """Yield every cell with its id, or with an id made from its position."""
    taken: set[str] = set()
    for number, cell in enumerate(notebook["cells"], 1):
        id = cell.get("id")
        id = id if isinstance(id, str) and _ID.fullmatch(id) and id not in taken else f"cell-{number}"
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
    return "\n".join(parts)


def opening(id: str) -> str:
    """Return the line before a Markdown cell, as MyST separates cells."""
    return f'+++ {{"id": "{id}"}}\n'


def text_of(cell: Json) -> str:
    """Return the text of a cell, which may be a list of lines."""
    source = cell.get("source", "")
    return "".join(map(str, source)) if isinstance(source, list) else str(source)


def _of(held: Mapping[str, Any], name: str) -> Json:
    value = held.get(name)
    return value if isinstance(value, dict) else {}


def _language(metadata: Json) -> str:
    kernel, info = _of(metadata, "kernelspec"), _of(metadata, "language_info")
    named = kernel.get("language") or info.get("name") or kernel.get("name") or DEFAULT_LANGUAGE
    return str(named).split()[0].lower() if str(named).strip() else DEFAULT_LANGUAGE


def _code(id: str, source: str, language: str, metadata: Json) -> str:
    own = _of(metadata, "vscode").get("languageId")
    tags = [tag for tag in metadata.get("tags") or () if isinstance(tag, str) and _TAG.fullmatch(tag)]
    jupyter = _of(metadata, "jupyter")
    tags += ["hide-input"] * (jupyter.get("source_hidden") is True)
    tags += ["hide-output"] * (jupyter.get("outputs_hidden") is True)
    ticks = "`" * (max([2, *(len(match) for match in _TICKS.findall(source))]) + 1)
    options = f":id: {id}\n" + (f":tags: [{', '.join(tags)}]\n" if tags else "")
    end = "" if source.endswith("\n") else "\n"
    return f"{ticks}{{code-cell}} {own or language}\n{options}{source}{end}{ticks}\n"


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
