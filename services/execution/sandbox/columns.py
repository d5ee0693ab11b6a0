"""Tables from languages without Arrow: columns of plain binary, whose kinds and rows the kernel claims."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from services.execution.kernels.wire import Json

# NumPy and Arrow have no types for their arrays' contents here, so those values are Any.

NA_INTEGER = -(2**31)
NA_REAL = 0x7FF00000000007A2  #: the NaN that R prints as NA
_NA_LONG = -(2**63)
_MOST_ROWS = 50_000_000


def table_from_columns(claimed: Json, source: Path, target: Path) -> bool:
    """Build an Arrow file from what the kernel wrote, never trusting a size; ``False`` when it does not fit."""
    import pyarrow  # noqa: PLC0415
    import pyarrow.ipc  # noqa: PLC0415

    content = memoryview(source.read_bytes())
    arrays: list[Any] = []
    names: list[str] = []
    if not isinstance(claimed, list):
        return False
    for column in claimed:
        rows = column.get("rows") if isinstance(column, dict) else None
        if not isinstance(column, dict) or not isinstance(rows, int) or not 0 <= rows <= _MOST_ROWS:
            return False
        try:
            array, used = _read(str(column.get("kind")), content, rows)
        except (ValueError, pyarrow.ArrowException):
            return False
        content = content[used:]
        arrays.append(array)
        names.append(str(column.get("name")))
    table = pyarrow.table(dict(zip(names, arrays, strict=True)) if len(set(names)) == len(names) else {})
    with pyarrow.OSFile(str(target), "wb") as sink, pyarrow.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return True


def _read(kind: str, content: memoryview, rows: int) -> tuple[Any, int]:
    """One column and the bytes that it took. Raises: ValueError."""
    import numpy  # noqa: PLC0415
    import pyarrow  # noqa: PLC0415

    if kind == "string":
        return _read_texts(content, rows)
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
    unit = pyarrow.timestamp("us", "UTC") if kind == "datetime" else pyarrow.duration("us")
    return pyarrow.array(whole, mask=missing).cast(unit), 8 * rows


def _read_texts(content: memoryview, rows: int) -> tuple[Any, int]:
    import numpy  # noqa: PLC0415
    import pyarrow  # noqa: PLC0415

    sizes = numpy.frombuffer(content, "<i4", rows)
    offsets = numpy.zeros(rows + 1, "<i8")
    numpy.cumsum(numpy.maximum(sizes, 0), out=offsets[1:])
    body = content[4 * rows : 4 * rows + int(offsets[-1])]
    if len(body) != offsets[-1]:
        raise ValueError("the texts are cut short")
    present = numpy.packbits(sizes >= 0, bitorder="little")
    parts = [pyarrow.py_buffer(present), pyarrow.py_buffer(offsets), pyarrow.py_buffer(bytes(body))]
    raw = pyarrow.Array.from_buffers(pyarrow.large_binary(), rows, parts)
    try:
        return raw.cast(pyarrow.large_string()).cast(pyarrow.string()), 4 * rows + len(body)
    except pyarrow.ArrowInvalid:  # not UTF-8 throughout
        texts = (None if text is None else text.decode("utf-8", "replace") for text in raw.to_pylist())
        return pyarrow.array(texts, pyarrow.string()), 4 * rows + len(body)
