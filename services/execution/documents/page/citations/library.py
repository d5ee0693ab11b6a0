"""The works that a document may cite: of the files that its front matter names, and of the front matter itself."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from pydantic import JsonValue

from services.execution.documents.page.citations.bibtex import works_of_bibtex
from services.execution.documents.page.citations.work import Work, works_of_csl

_MAX_FILES, _MAX_BYTES = 10, 1_000_000


def library(
    values: Mapping[str, JsonValue], files: Mapping[str, Path], warn: Callable[[str], None], *, all_files: bool = False
) -> dict[str, Work]:
    """Return the works by key; the first work of a key counts. Unreadable files are reported by ``warn``.

    ``all_files``: read every BibTeX file where the document names none, as MyST does.
    """
    works: dict[str, Work] = {}
    _add(works, works_of_csl(values.get("references")))
    names = _names(values.get("bibliography"))
    for name in names or sorted(path for path in files if all_files and path.endswith(".bib"))[:_MAX_FILES]:
        path = files.get(posixpath.normpath(name))
        if path is None:
            warn(f"The document's files have no bibliography {name[:200]} (give it with the document's files).")
        elif path.stat().st_size > _MAX_BYTES:
            warn(f"The bibliography {name[:200]} is larger than {_MAX_BYTES:,} bytes and was not read.")
        else:
            try:
                _add(works, _read(name, path.read_bytes()))
            except ValueError:
                warn(f"The bibliography {name[:200]} is neither BibTeX nor CSL-JSON in UTF-8.")
    if values.get("csl"):
        warn("Citations are written with author and year; the style of `csl` is not read.")
    return works


def _add(works: dict[str, Work], more: Iterable[Work]) -> None:
    for work in more:
        works.setdefault(work.key, work)


def _read(name: str, content: bytes) -> Iterable[Work]:
    """Read the works of a file. Raises: ValueError."""
    text = content.decode()
    if name.lower().endswith(".json"):
        try:
            return list(works_of_csl(json.loads(text)))
        except RecursionError:
            raise ValueError("nested too deeply") from None
    return list(works_of_bibtex(text))


def _names(value: JsonValue) -> list[str]:
    return [each for each in (value if isinstance(value, list) else [value])[:_MAX_FILES] if isinstance(each, str)]
