"""Tables from languages without Arrow: columns of plain binary, whose kinds and rows the kernel claims."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from services.execution.sandbox.protocol.wire import Json

# NumPy and Arrow have no types for their arrays' contents here, so those values are Any.

NA_INTEGER = -(2**31)
NA_REAL = 0x7FF00000000007A2  #: the NaN that R prints as NA
_NA_LONG = -(2**63)
_MAX_ROWS = 50_000_000


def table_from_columns(claimed: Json, source: Path, target: Path) -> bool:
    """Build an Arrow file from what the kernel wrote, never trusting a size; ``False`` when it does not fit."""
    import pyarrow
    import pyarrow.ipc

    content = memoryview(source.read_bytes())
    arrays: list[Any] = []
    names: list[str] = []
    if not isinstance(claimed, list):
        return False
    for column in claimed:
        rows = column.get("rows") if isinstance(column, dict) else None
        if not isinstance(column, dict) or not isinstance(rows, int) or not 0 <= rows <= _MAX_ROWS:
            return False
        try:
            array, used = _read(str(column.get("kind")), content, rows)
            array = _converted(array, column)
        except (ValueError, pyarrow.ArrowException):
            return False
        content = content[used:]
        arrays.append(array)
        names.append(str(column.get("name")))
    table = pyarrow.table(dict(zip(names, arrays, strict=True)) if len(set(names)) == len(names) else {})
    with pyarrow.OSFile(str(target), "wb") as sink, pyarrow.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return True


def _converted(array: Any, column: Mapping[str, Json]) -> Any:
    """Return the column as the kernel describes it: a factor's levels, a time zone, the type it came with."""
    import pyarrow
    import pyarrow.compute

    levels, zone, was = column.get("levels"), column.get("zone"), column.get("as")
    if isinstance(levels, list):
        names = pyarrow.array([None if level is None else str(level) for level in levels], pyarrow.string())
        return pyarrow.DictionaryArray.from_arrays(array, names, ordered=column.get("ordered") is True)
    if column.get("kind") == "datetime" and was is None:
        known = isinstance(zone, str) and _ZONE.fullmatch(zone)
        return array.cast(pyarrow.timestamp("us", zone if known else None))
    if was == "duration[us]" and column.get("kind") in ("long", "double"):  # in milliseconds
        spans = pyarrow.compute.multiply(array.cast(pyarrow.float64()), 1000.0)
        return pyarrow.compute.round(spans).cast(pyarrow.int64()).cast(pyarrow.duration("us"))
    kind = arrow_type(was) if isinstance(was, str) else None
    if kind is None:
        return array
    try:
        return array.cast(kind)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError):
        return array  # the code has put something else there


_ZONE = re.compile(r"[A-Za-z0-9_+-]{1,40}(/[A-Za-z0-9_+-]{1,40}){0,2}|[+-]\d\d:\d\d")
_TYPE = re.compile(
    r"(?P<plain>u?int(8|16|32|64)|float|double|bool|string|large_string|binary|large_binary|date32\[day\])"
    r"|decimal128\((?P<precision>\d{1,2}), (?P<scale>-?\d{1,2})\)"
    r"|timestamp\[(?P<unit>s|ms|us|ns)(, tz=(?P<zone>[A-Za-z0-9_+:/-]{1,80}))?\]"
    r"|dictionary<values=(large_)?string, indices=u?int(8|16|32|64), ordered=(?P<ordered>[01])>"
)


def arrow_type(text: str) -> Any:
    """Return the Arrow type of a name, of those that are sent as text; ``None`` for any other."""
    import pyarrow

    match = _TYPE.fullmatch(text)
    if match is None:
        return None
    if match["plain"]:
        name = {"float": "float32", "double": "float64", "bool": "bool_", "date32[day]": "date32"}.get(text, text)
        return getattr(pyarrow, name)()
    if match["precision"]:
        precision, scale = int(match["precision"]), int(match["scale"])
        return pyarrow.decimal128(precision, scale) if 1 <= precision <= 38 else None
    if match["unit"]:
        return pyarrow.timestamp(match["unit"], match["zone"])
    return pyarrow.dictionary(pyarrow.int32(), pyarrow.string(), ordered=match["ordered"] == "1")


def _read(kind: str, content: memoryview, rows: int) -> tuple[Any, int]:
    """Return one column and the bytes that it took. Raises: ValueError."""
    import numpy
    import pyarrow

    if kind == "string":
        return _read_texts(content, rows)
    if kind == "bytes":
        return _read_texts(content, rows, binary=True)
    if kind == "factor":
        codes = numpy.frombuffer(content, "<i4", rows)
        return pyarrow.array(codes, mask=codes < 0), 4 * rows
    if kind in ("integer", "logical"):
        whole = numpy.frombuffer(content, "<i4", rows)
        missing = whole == NA_INTEGER
        return pyarrow.array(whole.astype(bool) if kind == "logical" else whole, mask=missing), 4 * rows
    if kind == "long":
        long = numpy.frombuffer(content, "<i8", rows)
        return pyarrow.array(long, mask=long == _NA_LONG), 8 * rows
    values = numpy.frombuffer(content, "<f8", rows)
    missing = numpy.isnan(values)
    if kind == "double":
        marked = (values.view(numpy.uint64) & 0xFFFFFFFF) == (NA_REAL & 0xFFFFFFFF)
        return pyarrow.array(values, mask=missing & marked), 8 * rows
    scaled = numpy.where(missing | numpy.isinf(values), 0, values) * (1 if kind == "date" else 1e6)
    whole = numpy.round(scaled).astype("int64")
    if kind == "date":
        return pyarrow.array(whole.astype("int32"), mask=missing).cast(pyarrow.date32()), 8 * rows
    unit = pyarrow.timestamp("us") if kind == "datetime" else pyarrow.duration("us")
    return pyarrow.array(whole, mask=missing).cast(unit), 8 * rows


def _read_texts(content: memoryview, rows: int, binary: bool = False) -> tuple[Any, int]:
    import numpy
    import pyarrow

    sizes = numpy.frombuffer(content, "<i4", rows)
    offsets = numpy.zeros(rows + 1, "<i8")
    numpy.cumsum(numpy.maximum(sizes, 0), out=offsets[1:])
    body = content[4 * rows : 4 * rows + int(offsets[-1])]
    if len(body) != offsets[-1]:
        raise ValueError("the texts are cut short")
    present = numpy.packbits(sizes >= 0, bitorder="little")
    parts = [pyarrow.py_buffer(present), pyarrow.py_buffer(offsets), pyarrow.py_buffer(bytes(body))]
    raw = pyarrow.Array.from_buffers(pyarrow.large_binary(), rows, parts)
    if binary:
        return raw.cast(pyarrow.binary()), 4 * rows + len(body)
    try:
        return raw.cast(pyarrow.large_string()).cast(pyarrow.string()), 4 * rows + len(body)
    except pyarrow.ArrowInvalid:  # not UTF-8 throughout
        texts = (None if text is None else text.decode("utf-8", "replace") for text in raw.to_pylist())
        return pyarrow.array(texts, pyarrow.string()), 4 * rows + len(body)
