"""The files that a document includes: each is read once, however often it is included."""

from __future__ import annotations

import posixpath
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from services.execution.documents.llm.instructions import Instructions
from services.execution.documents.parse.nodes import Include, Note
from services.execution.documents.parse.reader import parse
from services.execution.documents.run.chunks import Chunks

_DEEPEST = 10
MAX_INCLUDED = 4_000_000  #: bytes of a file


def path_of(source: str, folder: str, files: Container[str]) -> str | Note:
    """Return the path of the included file, or a note why the include is refused."""
    path = posixpath.normpath(posixpath.join(folder, source))
    if "://" in source or source.startswith("/") or path.startswith(".."):
        return Note(
            "error", "include_not_allowed", "An include is a path relative to the document's files, never a URL."
        )
    if path not in files:
        return Note("error", "include_not_found", f"The document's files have no {path[:200]}.")
    return path


@dataclass
class IncludedFiles:
    chunks: Chunks
    files: Mapping[str, Path]
    read: dict[str, Instructions] = field(default_factory=dict)  #: by path

    def open(self, node: Include, inside: Sequence[str]) -> tuple[str, Instructions] | Note:
        """Return a file's path and its instructions; ``inside`` are the files that enclose this include."""
        path = path_of(node.source, posixpath.dirname(inside[-1]) if inside else "", self.files)
        if isinstance(path, Note):
            return path
        if path in inside:
            return Note("error", "include_cycle", f"{path} includes itself.")
        if len(inside) >= _DEEPEST:
            return Note("error", "include_too_deep", f"Includes may be nested at most {_DEEPEST} deep.")
        if self.files[path].stat().st_size > MAX_INCLUDED:
            return Note("error", "include_too_large", f"{path} is larger than {MAX_INCLUDED:,} bytes.")
        if path not in self.read:
            try:
                markdown = self.files[path].read_bytes().decode()
            except UnicodeDecodeError:
                return Note("error", "include_not_text", f"{path} is not UTF-8 text.")
            tree = parse(markdown, self.chunks.document.request.notation, self.chunks.document.defaults)
            self.read[path] = Instructions(self.chunks.document, self.chunks, tree)
        return path, self.read[path]
