"""A collection created from a file: its columns are profiled, shown, and made into a table."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.calls import jobs, rest
from assay.commands import show
from assay.commands.infer import PROFILE, Inferred, infer, profiles
from assay.commands.run import follow
from assay.commands.session import UsageError, current
from assay.errors import APIStatusError, JobFailed
from shared.amounts import amount


@dataclass(frozen=True)
class Columns:
    """What the caller says of them."""

    id: str | None
    name: str | None
    text: Sequence[str]
    auto_ids: bool
    fields: Mapping[str, str] = field(default_factory=dict)  #: column of each field that has another name

    @property
    def said(self) -> Mapping[str, Any] | None:
        """The mapping, when anything was said. Raises: UsageError."""
        if self.id is not None and self.auto_ids:
            raise UsageError("--id names the column of the ids, --auto-ids makes them: give one of them")
        if self.id is None and not self.auto_ids:
            if self.name is None and not self.text and not self.fields:
                return None
            return self._mapping("id")
        return self._mapping(self.id)

    def _mapping(self, id: str | None) -> Mapping[str, Any]:
        fields = {"fields": dict(self.fields)} if self.fields else {}
        return {"id": id, "name": self.name, "text": list(self.text), **fields}


def mapped(columns: Columns, pairs: Sequence[str]) -> Columns:
    """Return the columns with those of ``--map id=sku,name=title,price=cost``. Raises: UsageError."""
    parts: dict[str, str] = {}
    for text in pairs:
        for part in text.split(",") if text.count("=") > 1 else [text]:
            name, sign, column = part.partition("=")
            if not sign or not name.strip() or not column.strip():
                raise UsageError(f"--map takes NAME=COLUMN, such as id=sku,name=title; not {part!r}")
            parts[name.strip()] = column.strip()
    id, title, prose = (parts.pop(name, None) for name in ("id", "name", "text"))
    return Columns(
        id or columns.id, title or columns.name, (*columns.text, *filter(None, [prose])), columns.auto_ids, parts
    )


#: Fields of a table of documents.
DOCUMENTS = {"fields": {"path": "keyword", "title": "text", "page": "integer"}}
_DOCUMENTS = (
    ".zip",
    ".tar",
    ".tgz",
    ".gz",
    ".md",
    ".markdown",
    ".html",
    ".htm",
    ".pdf",
    ".docx",
    ".txt",
    ".rst",
    ".qmd",
)


def has_documents(source: Path) -> bool:
    """Return whether the file is a document, or an archive or folder of documents, by its name."""
    return source.is_dir() or source.suffix.lower() in _DOCUMENTS


def look(file_id: str, columns: Columns, reading: Mapping[str, Any]) -> Inferred:
    """Infer the roles of the file's columns by a transform without a model. Raises: UsageError, JobFailed."""
    columns.said  # noqa: B018 - refuses what cannot be meant
    session = current()
    input = {
        "task": "profile the columns", "data": [{"name": "data", "file_id": file_id, **reading}], "code": PROFILE,
        "dataframe": "polars",
    }  # fmt: skip
    job = follow(session, session.client.fetch(jobs.create("transform", input)), None)
    if job["state"] != "succeeded":
        raise JobFailed(session.client.send(jobs.get(job["id"])))
    table = job["result"]["table"]
    rows = table["rows"]
    if table["row_count"] > len(rows):
        raise UsageError(
            f"the file has {table['row_count']:,} columns: make the collection by `assay collection create`"
        )
    known = profiles(rows, [column["name"] for column in table["columns"]])
    return infer(known, columns.id, columns.name, columns.text, columns.auto_ids)


def show_mapping(inferred: Inferred, collection: str, table: str, *, alone: bool) -> None:
    """Show the role of every column; ``alone``: the command prints nothing else."""
    session = current()
    if session.json:
        if not alone:
            return
        session.show({"collection": collection, "table": table, "mapping": inferred.mapping, **inferred.table}, str)
        return
    rows = [[each.column, inferred.role(each.column), each.example] for each in inferred.looked]
    (session.out if alone else session.say)(show.table(["column", "becomes", "example"], rows))
    if inferred.id is None:
        session.say("no column identifies a record: ids are made from the rows (--id COLUMN says otherwise)")
    repeated = next((each for each in inferred.looked if each.column == inferred.id and not each.identifies), None)
    if repeated is not None:
        counts = f"{amount(repeated.rows, 'row')}, {amount(repeated.distinct, 'value')}, {repeated.missing} missing"
        session.warn(f"{repeated.column} does not identify every record ({counts}): the others will be refused")
    session.say(f"table {table} of collection {collection}")


def make(collection: str, table: str, spec: Mapping[str, Any]) -> None:
    """Create the collection, or keep the one that is there and the same."""
    try:
        current().client.fetch(rest.create_collection(collection, {table: spec}))
    except APIStatusError as error:
        if error.status != 409:
            raise
        raise UsageError(f"{error}; leave --create out to fill it, or choose another name") from error


def table_name(file: Path) -> str:
    """Return a table's name made from a file's name."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", file.name.split(".")[0]).strip("_-")[:64]
    return name or "records"
