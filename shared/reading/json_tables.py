"""JSON and JSON lines: a list of objects becomes a table; JSON's own types are kept."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pyarrow as pa

from .delimited import check_names
from .portable import portable
from .source import MOST_COLUMNS, MOST_JSON_BYTES, Unreadable

_DEEPEST = 30  #: levels of lists and objects in a cell; what is nested further is kept as text
_INFINITIES = {"Infinity": float("inf"), "-Infinity": float("-inf"), "NaN": float("nan")}
_NO_OBJECTS = "a JSON file needs a list of objects, one for each row"


def read_json(content: bytes) -> pl.DataFrame:
    """Read JSON lines. Raises: Unreadable with the line."""
    _bounded(content)
    try:
        value = _loaded(content)
    except (json.JSONDecodeError, RecursionError) as error:
        raise Unreadable(f"the JSON cannot be read: {_place(error)}") from None
    return frame_of(_rows(value))


def read_json_lines(content: bytes) -> pl.DataFrame:
    """Read one object from each line. Raises: Unreadable with the line."""
    _bounded(content)
    rows: list[object] = []
    for number, line in enumerate(content.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            rows.append(_loaded(line))
        except (json.JSONDecodeError, RecursionError) as error:
            raise Unreadable(f"line {number} is not JSON: {_place(error)}") from None
        if not isinstance(rows[-1], dict):
            raise Unreadable(f"line {number} is not an object")
    return frame_of(rows)


def _loaded(text: bytes) -> Any:
    value = json.loads(text, parse_constant=lambda name: None)
    if b"\\ud" in text or b"\\uD" in text:  # perhaps half a character, which no table can hold
        return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    return value


def frame_of(rows: list[object]) -> pl.DataFrame:
    """Return a table of the objects; a key that an object lacks is missing there.

    Raises: Unreadable when an element is no object, or when there are none.
    """
    names: dict[str, None] = {}
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise Unreadable(f"row {number} is not an object: {_NO_OBJECTS}")
        names.update(dict.fromkeys(row))
        if len(names) > MOST_COLUMNS:
            raise Unreadable(f"there are more than {MOST_COLUMNS:,} columns")
    if not rows:
        raise Unreadable("there are no rows")
    check_names(list(names))
    if not names:
        raise Unreadable("the objects have no fields, so there are no columns")
    return pl.DataFrame([_series(name, [row.get(name) for row in rows if isinstance(row, dict)]) for name in names])


def _series(name: str, values: list[object]) -> pl.Series:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int} and all(-(2**63) <= value < 2**63 for value in values if isinstance(value, int)):
        return pl.Series(name, values, dtype=pl.Int64)
    if kinds and kinds <= {int, float} and kinds != {int}:  # whole numbers of many digits stay text
        return pl.Series(name, [None if value is None else float(value) for value in values], dtype=pl.Float64)  # type: ignore[arg-type]
    if kinds in ({float, str}, {float, int, str}):
        meant = [_INFINITIES.get(value, value) if isinstance(value, str) else value for value in values]
        if not any(isinstance(value, str) for value in meant):  # as Assay writes them
            return _series(name, meant)
    if kinds == {bool}:
        return pl.Series(name, values, dtype=pl.Boolean)
    if kinds in ({list}, {dict}) and not any(_is_deep(value, _DEEPEST) for value in values):
        try:
            # Of all values, where polars would take the first one's keys and kinds for all.
            return portable(pa.table([pa.array(values)], names=[name])).to_series()
        except (pa.ArrowException, OverflowError):
            pass
    return pl.Series(name, [_text(value) for value in values], dtype=pl.String)


def _is_deep(value: object, left: int) -> bool:
    """Return whether the value is nested further than tables can be."""
    inner = value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
    return left == 0 or any(_is_deep(one, left - 1) for one in inner if isinstance(one, (list, dict)))


def _text(value: object) -> str | None:
    """Mixed kinds have only text in common."""
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _rows(value: object) -> list[object]:
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        lists = [inner for inner in value.values() if isinstance(inner, list)]
        even = len(lists) == len(value) > 0 and len({len(inner) for inner in lists}) == 1
        if even and not all(isinstance(cell, dict) for inner in lists for cell in inner):
            return [dict(zip(value, cells, strict=True)) for cells in zip(*lists, strict=True)]  # given by column
        tables = [inner for inner in lists if inner and all(isinstance(row, dict) for row in inner)]
        if len(tables) == 1:
            return tables[0]
        if not lists:
            return [value]
    raise Unreadable(_NO_OBJECTS)


def _bounded(content: bytes) -> None:
    if len(content) > MOST_JSON_BYTES:
        raise Unreadable("JSON of more than 200 MB is not read: convert it to Parquet")


def _place(error: json.JSONDecodeError | RecursionError) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return f"{error.msg} at line {error.lineno}, column {error.colno}"
