"""JSON and JSON lines: a list of objects becomes a table; JSON's own types are kept."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import polars as pl
import pyarrow as pa

from .cells import ColumnReading
from .names import usable_names
from .portable import portable
from .records import (
    NO_OBJECTS,
    NO_OBJECTS_IN_LINES,
    Records,
    entries_of_line,
    fault_of_line,
    records_of,
    wrapped_records,
)
from .source import MAX_COLUMNS, MAX_JSON_BYTES, Unreadable, is_list

_DEEPEST = 30  #: levels of lists and objects in a cell; what is nested further is kept as text
_INFINITIES = {"Infinity": float("inf"), "-Infinity": float("-inf"), "NaN": float("nan")}
_EXACT = 2**53  #: the last whole number that a float distinguishes from its neighbours
#: Only a number with one of these may have more digits than a float keeps, or be too large for one.
_LONG_NUMBER = re.compile(rb"\d[\d.]{15}|\d[eE]\+?\d{3}")
_LONG_WHOLE = re.compile(r"-?\d{16,}(\.\d*)?")
_AFTER_BLANKS = re.compile(r"[^ \t\r\n]")
_SEVERAL_DOCUMENTS = "several JSON objects one after another, read as one row each"
_TOO_LONG = "kept as text: more digits than a number keeps"
_OF_SEVERAL_KINDS = "kept as text: its values are of several kinds"


@dataclass(frozen=True)
class JsonTable:
    """A table of JSON objects."""

    frame: pl.DataFrame
    columns: dict[str, ColumnReading]
    notes: list[str] = field(default_factory=list)


class _Exact(str):
    """A number as it is written, which a float would change."""


class FieldTwice(ValueError):
    """An object that names a field twice."""


def read_json(content: bytes) -> JsonTable:
    """Read a document with a list of objects, or several documents. Raises: Unreadable with the line."""
    _bounded(content)
    try:
        value, notes = load_documents(content)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"the JSON cannot be read: {_place(error)}") from None
    records = records_of(value)
    frame, columns = frame_of(records.rows)
    return JsonTable(frame, columns, [*notes, *records.notes])


def load_documents(content: bytes) -> tuple[Any, list[str]]:
    """Return the value of a JSON text as ``load`` does; of several objects one after another, the list of them.

    Raises: ValueError, RecursionError.
    """
    try:
        return load(content), []
    except json.JSONDecodeError as error:
        if error.msg != "Extra data":
            raise
        text = content.decode()
        objects, end = [], 0
        decode = decoder(_INFINITIES.__getitem__)
        while start := _AFTER_BLANKS.search(text, end):
            value, end = decode.raw_decode(text, start.start())
            if not isinstance(value, dict):
                raise error from None
            objects.append(value)
        return objects, [_SEVERAL_DOCUMENTS]


def read_json_lines(content: bytes) -> JsonTable:
    """Read one object from each line, or the records that every line wraps. Raises: Unreadable with the line."""
    _bounded(content)
    lines = [(number, line) for number, line in enumerate(content.split(b"\n"), 1) if line.strip()]
    if lines and _is_document([line for _, line in lines[:2]], content):
        return read_json(content)
    rows: list[object] = []
    for number, line in lines:
        try:
            rows.append(load(line))
        except (ValueError, RecursionError) as error:
            raise Unreadable(f"line {number} is not JSON: {_place(error)}") from None
        if fault := fault_of_line(rows[0], rows[-1]):
            raise Unreadable(f"line {number} {fault}: {NO_OBJECTS_IN_LINES}")
    if rows and isinstance(rows[0], list):
        records = records_of([entry for row in rows for entry in entries_of_line(row)])
        frame, columns = frame_of(records.rows)
        return JsonTable(frame, columns, records.notes)
    pages: list[Records] = []
    for row in rows:
        page = wrapped_records(row)
        if page is None:  # the lines are records themselves
            frame, columns = frame_of(rows)
            return JsonTable(frame, columns)
        pages.append(page)
    frame, columns = frame_of([row for page in pages for row in page.rows])
    return JsonTable(frame, columns, list(dict.fromkeys(note for page in pages for note in page.notes)))


def _is_document(lines: Sequence[bytes], content: bytes) -> bool:
    """Return whether the lines are those of one document: the first one opens a list or an object, and is no object,
    nor a whole list above other lines.
    """
    if not lines[0].lstrip().startswith((b"[", b"{")):
        return False
    if is_list(lines[0]):
        return len(lines) == 1
    try:
        return not isinstance(json.loads(lines[0]), dict)
    except (ValueError, RecursionError):
        pass
    try:
        json.loads(content)
    except (ValueError, RecursionError):
        return False
    return True


def load(text: bytes) -> Any:
    """Return the value of a JSON text: NaN and infinities are floats, numbers that a float would change are text.

    Raises: ValueError, RecursionError.
    """
    value = json.loads(text, object_pairs_hook=_object, parse_float=_number if _LONG_NUMBER.search(text) else None)
    if b"\\ud" in text or b"\\uD" in text:  # perhaps half a character, which no table can hold
        return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    return value


def decoder(parse_constant: Callable[[str], object]) -> json.JSONDecoder:
    """Return a decoder that reads values as ``load`` does, with NaN and infinities as the caller has them."""
    return json.JSONDecoder(object_pairs_hook=_object, parse_float=_number, parse_constant=parse_constant)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return the object. Raises: FieldTwice, as nothing tells which of two values is meant."""
    made = dict(pairs)
    if len(made) < len(pairs):
        name = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise FieldTwice(f"an object has the field {name[:100]!r} twice")
    return made


def _number(text: str) -> float | _Exact:
    number = float(text)
    is_changed = _LONG_WHOLE.fullmatch(text) and Decimal(text) != Decimal(repr(number))
    return _Exact(text) if is_changed or math.isinf(number) else number


def frame_of(rows: list[object]) -> tuple[pl.DataFrame, dict[str, ColumnReading]]:
    """Return a table of the objects; a key that an object lacks is missing there, and so is NaN.

    Raises: Unreadable when an element is no object, or when there are none.
    """
    names: dict[str, None] = {}
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise Unreadable(f"row {number} is not an object: {NO_OBJECTS}")
        names.update(dict.fromkeys(row))
        if len(names) > MAX_COLUMNS:
            raise Unreadable(f"there are more than {MAX_COLUMNS:,} columns")
    if not rows:
        raise Unreadable("there are no rows")
    usable_names(list(names))
    if not names:
        raise Unreadable("the objects have no fields, so there are no columns")
    readings = {name: ColumnReading() for name in names}
    columns = [
        _series(name, [row.get(name) for row in rows if isinstance(row, dict)], readings[name]) for name in names
    ]
    return pl.DataFrame(columns), readings


def _series(name: str, values: list[object], reading: ColumnReading) -> pl.Series:
    kinds = {type(value) for value in values if value is not None}
    if kinds & {float, list, dict}:
        values, kinds = _without_nan(values, kinds, reading)
    if kinds == {int} and all(-(2**63) <= value < 2**63 for value in values if isinstance(value, int)):
        return pl.Series(name, values, dtype=pl.Int64)
    if kinds and kinds <= {int, float} and kinds != {int} and not any(map(_is_rounded, values)):
        return pl.Series(name, [None if value is None else float(value) for value in values], dtype=pl.Float64)  # type: ignore[arg-type]
    if kinds in ({float, str}, {float, int, str}):
        meant = [_INFINITIES.get(value, value) if isinstance(value, str) else value for value in values]
        if not any(isinstance(value, str) for value in meant):  # as Assay writes them
            return _series(name, meant, reading)
    if kinds == {bool}:
        return pl.Series(name, values, dtype=pl.Boolean)
    if kinds in ({list}, {dict}) and not any(_is_deep(value, _DEEPEST) for value in values):
        try:
            # Of all values, where polars would take the first one's keys and kinds for all.
            return portable(pa.table([pa.array(values)], names=[name])).to_series()
        except (pa.ArrowException, OverflowError):
            pass
    if kinds and kinds != {str}:
        reading.note = _TOO_LONG if kinds <= {int, float, _Exact} else _OF_SEVERAL_KINDS
    return pl.Series(name, [_text(value) for value in values], dtype=pl.String)


def _without_nan(values: list[object], kinds: set[type], reading: ColumnReading) -> tuple[list[object], set[type]]:
    """Return the values with None for NaN, which is counted, and the kinds of those that are left."""
    if not any(map(_has_nan, values)):
        return values, kinds
    count = 0

    def cleaned(value: object) -> object:
        nonlocal count
        if isinstance(value, float) and math.isnan(value):
            count += 1
            return None
        if isinstance(value, list):
            return [cleaned(one) for one in value]
        return {key: cleaned(one) for key, one in value.items()} if isinstance(value, dict) else value

    values = [cleaned(value) for value in values]
    reading.missing["NaN"] = reading.missing.get("NaN", 0) + count
    return values, {type(value) for value in values if value is not None}


def _has_nan(value: object) -> bool:
    if isinstance(value, float):
        return math.isnan(value)
    inner = value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
    return any(map(_has_nan, inner))


def _is_rounded(value: object) -> bool:
    """Return whether a float would be another number than this whole one."""
    return isinstance(value, int) and abs(value) > _EXACT and (abs(value) >= 2**1023 or int(float(value)) != value)


def _is_deep(value: object, left: int) -> bool:
    """Return whether the value is nested further than tables can be."""
    inner = value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
    return left == 0 or any(_is_deep(one, left - 1) for one in inner if isinstance(one, (list, dict)))


def _text(value: object) -> str | None:
    """Mixed kinds have only text in common."""
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _bounded(content: bytes) -> None:
    if len(content) > MAX_JSON_BYTES:
        raise Unreadable("JSON of more than 200 MB is not read: convert it to Parquet")


def _place(error: ValueError | RecursionError) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at line {error.lineno}, column {error.colno}"
    return str(error)
