"""Which command a file is for, by its ending: a program, a table or a document."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from assay.commands.session import UsageError
from shared.languages import language_of_file

TABLE_ENDINGS = (
    ".csv", ".tsv", ".tab", ".txt", ".json", ".jsonl", ".ndjson", ".parquet", ".pq", ".arrow", ".feather", ".ipc",
    ".xlsx", ".xls", ".ods",
)  # fmt: skip
_DOCUMENT_ENDINGS = (".md", ".markdown", ".qmd", ".rmd", ".smd", ".myst", ".ipynb")
#: Endings of files that two commands read: a text may hold a table or a document, and Markdown a table.
_SHARED = {"table": (".md", ".markdown", *TABLE_ENDINGS), "document": (".txt", *_DOCUMENT_ENDINGS), "program": (),
           "diagram": (".json", ".txt", ".md", ".markdown")}  # fmt: skip
_USE = {
    "table": 'for a table: assay transform {file} "TASK"',
    "document": "to run it: assay doc run {file}",
    "program": "to run it: assay execute {file}",
}
_Kind = Literal["program", "table", "document"]


def check_kind(file: Path, wanted: _Kind | Literal["diagram"]) -> None:
    """Refuse a file whose ending says that it is for another command, and name that one. Raises: UsageError."""
    kind = _kind(file)
    if kind not in (None, wanted) and file.suffix.lower() not in _SHARED[wanted]:
        raise UsageError(f"{file} is a {kind}, not a {wanted}; {_USE[kind].format(file=file)}")


def _kind(file: Path) -> _Kind | None:
    ending = file.suffix.lower()
    if ending in TABLE_ENDINGS:
        return "table"
    if ending in _DOCUMENT_ENDINGS:
        return "document"
    return None if language_of_file(file.name) is None else "program"
