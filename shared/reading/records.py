"""Where the records of a JSON document are: a list of objects, often within an object with facts about the list."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .names import usable_names
from .source import Unreadable

NAMES_FIRST = "written as rows, the first of which has the names"
WITHOUT_NAMES = "written as rows without names"
NO_OBJECTS = "a JSON file needs a list of objects, one for each row"
NO_OBJECTS_IN_LINES = "JSON lines need an object in each line, or a list of as many cells in each"
#: Names under which programs send a list of records.
_LISTS = frozenset(
    {
        "_embedded", "body", "collection", "content", "data", "docs", "documents", "elements", "entries", "features",
        "hits", "items", "list", "member", "members", "objects", "payload", "records", "resources", "response",
        "result", "results", "rows", "value", "values",
    }
)  # fmt: skip
#: Names of facts about a list: how long it is, where it continues, how the request ended.
_FACT = re.compile(
    r"@.*|[$_]?(api_?version|code|context|etag|first|has_?(more|next)|href|info|kind|last|limit|links?|message|meta(data)?|"
    r"msg|next(_?(page|link|url))?|num_?\w*|object|offset|ok|page(s|_?\w+)?|paging|pagination|per_?page|prev(ious)?|"
    r"query|request_?id|schema|self|shards|size|skip|start|status|success|time(d_out|stamp)?|took|total_?\w*|type|url|version|"
    r"(\w*_?)(count|cursor|token)|errors?|warnings?)",
    re.IGNORECASE,
)
BY_KEY = "one record under each key, which is the column 'key'"
_MAX_LEVELS = 3
_MIN_KEYS = 2
_MAX_NAMES = 10


@dataclass(frozen=True)
class Records:
    """``rows`` are objects in a good file; what is none is for the caller to refuse."""

    rows: list[object]
    notes: list[str] = field(default_factory=list)


def records_of(document: object) -> Records:
    """Return the records of a JSON document. Raises: Unreadable for a document that holds no object."""
    if isinstance(document, list):
        columns = columns_of(document[:2])
        rows = document[columns.above :] if columns else []
        if columns and all(is_row_of(columns.names, row) for row in rows):
            return Records([dict(zip(columns.names, row, strict=True)) for row in rows], columns.notes)
        return Records(document)
    if not isinstance(document, dict):
        raise Unreadable(NO_OBJECTS)
    by_column = _by_column(document)
    if by_column is not None:
        return by_column
    path = _path(document, is_sure=False)
    if path:
        return _wrapped(document, path)
    by_key = _by_key(document)
    if by_key is not None:
        return by_key
    lists = [name for name, value in document.items() if isinstance(value, list)]
    why = f" (it has several lists: {_named(lists)})" if len(lists) > 1 else ""
    return Records([document], [f"one object, read as one row{why}"])


class RowColumns(NamedTuple):
    """The columns of a list of rows, each of which is a list of cells."""

    names: list[str]
    notes: list[str]
    above: int  #: how many of the rows hold the names


def columns_of(first: Sequence[object]) -> RowColumns | None:
    """Return the columns of a list that begins with these two rows, or one; None where they are no rows.

    Texts above a row have the names. Without them, the columns are numbered. Raises: Unreadable for too many columns.
    """
    row = first[0] if first else None
    if not isinstance(row, list) or not row or any(isinstance(cell, list) for cell in row):
        return None
    are_names = all(isinstance(name, str) and name.strip() for name in row)
    if are_names and len(first) > 1:
        names, numbered = usable_names(row)
        return RowColumns(names, [NAMES_FIRST, *numbered], 1)
    if are_names or all(isinstance(cell, dict) for cell in row):
        return None
    made = [f"column_{number}" for number in range(1, len(row) + 1)]
    return RowColumns(usable_names(made)[0], [f"{WITHOUT_NAMES}: the columns are numbered"], 0)


def is_row_of(names: Sequence[object], row: object) -> bool:
    """Return whether the entry holds a cell for each of the names."""
    return isinstance(row, list) and len(row) == len(names) and not any(isinstance(cell, list) for cell in row)


def fault_of_line(first: object, row: object) -> str:
    """Return what is wrong with a line of JSON, given the first one; empty where it is alike."""
    if not isinstance(first, list):
        return "" if isinstance(row, dict) else "is not an object"
    if not isinstance(row, list):
        return "is not a list, as the first one is"
    are_objects = all(isinstance(entry, dict) for entry in [*first, *row])
    return "" if are_objects or is_row_of(first, row) else f"does not list {len(first)} values, as the first one does"


def entries_of_line(row: object) -> list[object]:
    """Return the objects that a line of JSON lists; a list of cells is one row."""
    return row if isinstance(row, list) and all(isinstance(entry, dict) for entry in row) else [row]


def wrapped_records(document: object) -> Records | None:
    """Return the records of an object that surely wraps them, as one that has but a list and facts about it."""
    path = _path(document, is_sure=True) if isinstance(document, dict) else ()
    return _wrapped(document, path) if path and isinstance(document, dict) else None


def _wrapped(document: Mapping[str, object], path: tuple[str, ...]) -> Records:
    inner: object = document
    left_out: list[str] = []
    for level, name in enumerate(path):
        assert isinstance(inner, dict)
        left_out += [".".join([*path[:level], other]) for other in inner if other != name]
        inner = inner[name]
    assert isinstance(inner, list)
    return Records(inner, [f"records of {'.'.join(path)!r}" + (f" (not read: {_named(left_out)})" if left_out else "")])


def _path(document: Mapping[str, object], is_sure: bool, levels: int = _MAX_LEVELS) -> tuple[str, ...]:
    """Return the names that lead to the list of records; none where the object is a record itself.

    ``is_sure``: only a usual name of such a list counts, and nothing but facts may be next to it.
    """
    names = {name.lower() for name in document}
    if names & {"id", "_id"} or not levels:
        return ()
    lists = {name: value for name, value in document.items() if isinstance(value, list)}
    filled = [name for name, value in lists.items() if value]
    usual = [name for name in document if name.lower() in _LISTS]
    chosen: tuple[str, ...] = ()
    if len(filled) == 1 and _is_table(lists[filled[0]], filled[0] in usual):
        chosen = (filled[0],)
    elif not filled and len(lists) == 1 and set(lists) <= set(usual):
        chosen = tuple(lists)
    elif not filled:
        nested = [name for name in usual if isinstance(document[name], dict)]
        name = nested[0] if len(nested) == 1 else ""
        inner = document.get(name)
        rest = _path(inner, is_sure, levels - 1) if isinstance(inner, dict) else ()
        chosen = (name, *rest) if rest else ()
    if chosen and is_sure:
        are_facts = all(_FACT.fullmatch(name) for name in document if name != chosen[0])
        return chosen if are_facts and chosen[0] in usual else ()
    return chosen


def _is_table(cells: list[object], is_usual: bool) -> bool:
    """Return whether a list is one of records; under a usual name some of them may be damaged."""
    return (any if is_usual else all)(isinstance(cell, dict) for cell in cells)


def _by_column(document: Mapping[str, object]) -> Records | None:
    """Return the rows of a table that is written column by column, as pandas does, or as names and rows."""
    note = "written column by column"
    names, cells = document.get("columns"), document.get("data")
    if isinstance(names, list) and isinstance(cells, list) and {*document} <= {"columns", "data", "index"} and cells:
        fits = all(isinstance(name, str) and name for name in names)
        if fits and all(isinstance(row, list) and len(row) == len(names) for row in cells):
            unique, notes = usable_names(names)
            left_out = " (not read: 'index')" if "index" in document else ""
            return Records(
                [dict(zip(unique, row, strict=True)) for row in cells],
                [f"written as names and rows{left_out}", *notes],
            )
    columns = list(document.values())
    lists = [column for column in columns if isinstance(column, list)]
    if lists and len(lists) == len(columns) and len({len(column) for column in lists}) == 1:
        have_objects = [isinstance(cell, dict) for column in lists for cell in column]
        if lists[0] and not (all if len(lists[0]) > 1 else any)(have_objects):
            return Records([dict(zip(document, row, strict=True)) for row in zip(*lists, strict=True)], [note])
    objects = [column for column in columns if isinstance(column, dict)]
    numbers = [str(number) for number in range(len(objects[0]))] if objects else []
    if numbers and len(objects) == len(columns) and all(list(column) == numbers for column in objects):
        rows = zip(*(column.values() for column in objects), strict=True)
        return Records([dict(zip(document, row, strict=True)) for row in rows], [note])
    return None


def _by_key(document: Mapping[str, object]) -> Records | None:
    """Return the rows of an object that has an object of the same fields under each key, such as an id."""
    rows = list(document.values())
    first = rows[0] if rows else None
    if len(rows) < _MIN_KEYS or not isinstance(first, dict) or not first or "key" in first:
        return None
    if not all(isinstance(row, dict) and row.keys() == first.keys() for row in rows):
        return None
    return Records([{"key": key, **row} for key, row in document.items() if isinstance(row, dict)], [BY_KEY])


def _named(names: list[str]) -> str:
    return ", ".join(repr(name[:100]) for name in names[:_MAX_NAMES]) + (" ..." if len(names) > _MAX_NAMES else "")
