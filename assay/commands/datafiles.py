"""Data for a transform: a file, standard input, or the files of a folder or a pattern; progress of large ones."""

from __future__ import annotations

import glob
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from assay.commands.file_kinds import TABLE_ENDINGS, check_kind
from assay.commands.reading import Reading
from assay.commands.run import missing_file, pair
from assay.commands.session import UsageError, current
from assay.commands.uploading import UploadBar
from assay.submits import TableFiles

_MAX_FILES = 200
#: An upload from this size on shows how far it is.
_LARGE_BYTES = 8_000_000


def data_sets(name: str, first: str, others: Sequence[str], reading: Reading) -> dict[str, object]:
    """Return data sets by name, with their uploads. Raises: UsageError for a missing file or a duplicate name."""
    sets: dict[str, object] = {name: _table_files(first, reading)}
    for other, path in (pair(each, "NAME=FILE, as in --data rates=rates.csv") for each in others):
        if other in sets:
            raise UsageError(f"two data sets are named {other!r}")
        if path == "-" and first == "-":
            raise UsageError("only one data set can come from standard input")
        sets[other] = _table_files(path, Reading())
    return sets


def _table_files(text: str, reading: Reading) -> TableFiles:
    options = reading.options()
    if text == "-":
        return TableFiles([sys.stdin.buffer], name="stdin", **options)
    return TableFiles([_content(path) for path in files_of(text)], **options)


def files_of(text: str) -> list[Path]:
    """Return the file, the folder's tables, or the files that match the pattern. Raises: UsageError."""
    path = Path(text)
    if os.path.isfile(path):  # false, too, of a text that is longer than a name can be
        check_kind(path, "table")
        return [path]
    if os.path.isdir(path):
        inside = (each for each in path.rglob("*") if each.suffix.lower() in TABLE_ENDINGS and each.is_file())
        paths = [each for each in inside if not any(part.startswith(".") for part in each.relative_to(path).parts)]
        why = f"the folder {path} holds no tables ({' '.join(TABLE_ENDINGS)})"
    elif any(sign in text for sign in "*?["):
        paths = [each for each in map(Path, glob.glob(text, recursive=True)) if each.is_file()]
        why = f"no file fits {text}"
    else:
        raise UsageError(missing_file(path))
    if not paths:
        raise UsageError(why)
    if len(kinds := {each.suffix.lower() for each in paths}) > 1:
        shown = ", ".join(sorted(kind or "no ending" for kind in kinds))
        pattern = f"{path if path.is_dir() else path.parent}/*{next(kind for kind in sorted(kinds) if kind)}"
        raise UsageError(f"{text} mixes {shown}; give a pattern in quotes, such as '{pattern}'")
    if len(paths) > _MAX_FILES:
        raise UsageError(f"{len(paths)} files, at most {_MAX_FILES} make one data set: join them first")
    return sorted(paths)


def _content(path: Path) -> Path | BinaryIO:
    """Return the path, or for a large file on a terminal a stream that shows its progress."""
    session = current()
    if session.lively and path.stat().st_size >= _LARGE_BYTES:
        return _Watched(path)
    return path


class _Watched(io.BufferedReader):
    """A file whose reading is drawn as a bar."""

    def __init__(self, path: Path) -> None:
        super().__init__(io.FileIO(path))
        self._bar = UploadBar(path)

    def read(self, size: int | None = -1, /) -> bytes:
        chunk = super().read(size)
        self._bar.show(self.tell())
        return chunk
