"""Roles of a file's columns in a search: id, name, text, facets (separate prose) and fields to filter by."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.commands.session import UsageError

#: A transform without a model profiles the columns, in the sandbox, whatever the format of the file.
PROFILE = """\
import polars as pl
rows = []
for column in data.iter_columns():
    text = column.cast(pl.String, strict=False) if column.dtype == pl.String else None
    hashable = not column.dtype.is_nested()
    rows.append({
        "column": column.name, "type": str(column.dtype), "rows": column.len(), "missing": column.null_count(),
        "distinct": column.n_unique() if hashable else -1,
        "length": float(text.str.len_chars().mean() or 0) if text is not None else 0.0,
        "example": str(column.drop_nulls().head(1).to_list()[0])[:60] if column.null_count() < column.len() else "",
    })
result = pl.DataFrame(rows)
"""
_IDS = ("id", "uuid", "guid", "key", "identifier", "code", "slug", "sku", "isbn")
_NAMES = ("name", "title", "headline", "subject", "label")
_TEXTS = ("text", "description", "abstract", "summary", "body", "content", "comment", "message")
#: Average length, in characters, from which a text is prose.
_PROSE = 40
_MAX_FACETS = 10
_INNER = re.compile(r"'([A-Za-z0-9][A-Za-z0-9_-]{0,63})': (\w+(?:\(\w+)?)")
_ENDING = re.compile(r"(?:[_ -](?i:id|uuid|key|code)|(?<=[a-z])(?:Id|ID|Uuid|UUID|Key|Code))$")
_DECLARABLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_KINDS = (("Int", "integer"), ("UInt", "integer"), ("Float", "float"), ("Decimal", "float"), ("Boolean", "bool"),
          ("Date", "datetime"), ("String", "keyword"), ("List(String", "keyword"))  # fmt: skip


@dataclass(frozen=True)
class FileColumn:
    column: str
    type: str
    rows: int
    missing: int
    distinct: int
    length: float  #: characters of a text, on average
    example: str

    @property
    def identifies(self) -> bool:
        return self.missing == 0 and self.distinct == self.rows > 0 and not self.type.startswith("Float")

    @property
    def is_text(self) -> bool:
        return self.type == "String"

    @property
    def is_prose(self) -> bool:
        return self.is_text and self.length >= _PROSE


@dataclass
class Inferred:
    """A table and its mapping, with what each column became."""

    id: str | None = None
    name: str | None = None
    text: list[str] = field(default_factory=list)
    facets: list[str] = field(default_factory=list)
    fields: dict[str, str] = field(default_factory=dict)
    looked: list[FileColumn] = field(default_factory=list)
    left: list[str] = field(default_factory=list)  #: kept and shown, but neither searched by itself nor filtered on

    @property
    def mapping(self) -> dict[str, Any]:
        return {"id": self.id, "name": self.name, "text": self.text}

    @property
    def table(self) -> dict[str, Any]:
        return {"facets": dict.fromkeys(self.facets, 1.0), "fields": self.fields}

    def role(self, column: str) -> str:
        if column in (self.id, self.name):
            return "id" if column == self.id else "name"
        if column in self.text:
            return "text"
        if column in self.facets:
            return "facet"
        if column in ("facets", "fields") and (self.facets or self.fields) and column not in self.left:
            return f"its own {column}"
        return f"field: {self.fields[column]}" if column in self.fields else "kept, not searchable"


def infer(
    columns: Sequence[FileColumn], id: str | None, name: str | None, text: Sequence[str], auto_ids: bool
) -> Inferred:
    """Infer the columns' roles from names and contents; the caller's choices win. Raises: UsageError, unknown
    columns.
    """
    known = {each.column: each for each in columns}
    for said in filter(None, (id, name, *text)):
        if said not in known:
            raise UsageError(f"the file has no column {said!r}; it has {', '.join(known)}")
    made = Inferred(looked=list(columns), id=id, name=name, text=list(text))
    if made.id is None and not auto_ids:
        made.id = _identifier(columns, {name, *text})
    if made.name is None:
        made.name = _called(columns, _NAMES, {made.id, *made.text})
    if not made.text:
        called = _called(columns, _TEXTS, {made.id, made.name})
        prose = [each for each in columns if each.is_prose and each.column not in (made.id, made.name)]
        longest = sorted(prose, key=lambda each: -each.length)[:1]
        made.text = [called] if called else [each.column for each in longest]
    for each in columns:
        if each.column not in (made.id, made.name, *made.text):
            _place(made, each)
    if made.name is None and not made.text and not made.facets:
        _name_by_distinct_text(made)
    return made


def _name_by_distinct_text(made: Inferred) -> None:
    """Name the records by the text column with the most distinct values: a record without words cannot be searched."""
    texts = [each for each in made.looked if each.is_text and each.column in made.fields]
    if texts:
        made.name = max(texts, key=lambda each: each.distinct).column
        del made.fields[made.name]


def _place(made: Inferred, column: FileColumn) -> None:
    """Prose is a facet, which is searched by itself; what has a type is a field to filter on."""
    kind = _kind_of(column.type)
    if column.column in ("facets", "fields") and column.type.startswith("Struct"):
        _open(made, column)  # rows that have the shape of records already
    elif kind is None or not _DECLARABLE.fullmatch(column.column):
        made.left.append(column.column)
    elif column.is_prose and len(made.facets) < _MAX_FACETS:
        made.facets.append(column.column)
    else:
        made.fields[column.column] = "text" if column.is_prose else kind


def _open(made: Inferred, column: FileColumn) -> None:
    for name, type in _INNER.findall(column.type):
        kind = _kind_of(type)
        if column.column == "facets" and name not in made.facets:
            made.facets.append(name)
        elif column.column == "fields" and kind is not None:
            made.fields[name] = kind


def _kind_of(type: str) -> str | None:
    return next((kind for start, kind in _KINDS if type.startswith(start)), None)


def profiles(rows: Sequence[Sequence[Any]], names: Sequence[str]) -> list[FileColumn]:
    """Return the columns that the rows of ``PROFILE`` describe."""
    return [FileColumn(**dict(zip(names, row, strict=True))) for row in rows]


def _identifier(columns: Sequence[FileColumn], taken: set[str | None]) -> str | None:
    able = [each.column for each in columns if each.identifies and each.column not in taken]
    exact = [name for wanted in _IDS for name in able if name.strip().lower() == wanted]
    ending = [name for name in able if _ENDING.search(name)]
    return next(iter([*exact, *ending]), None)


def _called(columns: Sequence[FileColumn], wanted: Sequence[str], taken: set[str | None]) -> str | None:
    by_name: Mapping[str, str] = {
        each.column.strip().lower(): each.column for each in columns if each.is_text and each.column not in taken
    }
    return next((by_name[name] for name in wanted if name in by_name), None)
