"""R's side of the bridge: messages as R expressions, tables as columns of plain binary (R has no Arrow in Debian)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from services.execution.kernels.wire import Json, Message
from services.execution.sandbox.columns import NA_INTEGER, NA_REAL

# NumPy and Arrow have no types for their arrays' contents here, so those values are Any.


def expression(message: Message) -> bytes:
    """A message of ours as an R expression; it only ever builds lists, texts and numbers."""
    return _r(message).encode("ascii")


def _r(value: Json) -> str:
    if value is None or isinstance(value, bool):
        return {None: "NULL", True: "TRUE", False: "FALSE"}[value]
    if isinstance(value, (int, float)):
        return _number(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        return f"list({', '.join(f'{_text(name, tick=True)} = {_r(inner)}' for name, inner in value.items())})"
    return _vector(value)


def _number(value: float) -> str:
    if isinstance(value, int) and NA_INTEGER < value < 2**31:
        return f"{value}L"
    return repr(float(value)) if math.isfinite(value) else "NA_real_"


def _vector(values: Sequence[Json]) -> str:
    """Scalars of one kind become a vector, anything else a list."""
    kinds = {type(value) for value in values if value is not None}
    plain = (len(kinds) == 1 and kinds <= {bool, str, int, float}) or kinds == {int, float}
    if values and plain:
        return f"c({', '.join('NA' if value is None else _r(value) for value in values)})"
    return f"list({', '.join(_r(value) for value in values)})"


def _text(text: str, tick: bool = False) -> str:
    mark = "`" if tick else '"'
    out = [mark]
    for sign in text:
        number = ord(sign)
        if sign in (mark, "\\"):
            out.append(f"\\{sign}")
        elif 32 <= number < 127:
            out.append(sign)
        elif number == 0 or 0xD800 <= number < 0xE000:
            out.append("?")
        else:
            out.append(f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}")
    return "".join([*out, mark])


def table_for_r(source: Path, target: Path) -> list[Json]:
    """Write an Arrow file's columns for R; the description of them that R needs."""
    import pyarrow.ipc  # noqa: PLC0415 - heavy, and only needed here

    with pyarrow.memory_map(str(source)) as opened, target.open("xb") as sink:
        table = pyarrow.ipc.open_file(opened).read_all()
        columns: list[Json] = []
        for name, column in zip(table.column_names, table.columns, strict=True):
            kind, parts = _written(column.combine_chunks())
            for part in parts:
                sink.write(part)
            columns.append({"name": name, "kind": kind, "rows": table.num_rows})
        return columns


def _written(column: Any) -> tuple[str, list[bytes]]:
    import pyarrow  # noqa: PLC0415

    types = pyarrow.types
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if types.is_boolean(kind) or types.is_null(kind):
        return "logical", [_numbers(column.cast(pyarrow.int32()), "int32")]
    if types.is_integer(kind):
        try:
            return "integer", [_numbers(column.cast(pyarrow.int32()), "int32")]
        except pyarrow.ArrowInvalid:
            return "double", [_numbers(column.cast(pyarrow.float64(), safe=False), "float64")]
    if types.is_floating(kind) or types.is_decimal(kind):
        return "double", [_numbers(column.cast(pyarrow.float64(), safe=False), "float64")]
    if types.is_date(kind):
        days = column.cast(pyarrow.date32()).cast(pyarrow.int32())
        return "date", [_numbers(days.cast(pyarrow.float64()), "float64")]
    for found, name, unit in (
        (types.is_timestamp(kind), "datetime", pyarrow.timestamp("us")),
        (types.is_duration(kind), "duration", pyarrow.duration("us")),
    ):
        if found:
            moments = column.cast(unit, safe=False).cast(pyarrow.int64())
            return name, [_numbers(moments.cast(pyarrow.float64(), safe=False), "float64", 1e-6)]
    return "string", _texts(column)


def _numbers(column: Any, kind: str, factor: float = 1.0) -> bytes:
    import numpy  # noqa: PLC0415

    missing = column.is_null().to_numpy(zero_copy_only=False)
    values = column.fill_null(0).to_numpy(zero_copy_only=False).astype(kind)
    if kind == "int32":
        values[missing] = NA_INTEGER
        return bytes(values.astype("<i4").tobytes())
    values = values * factor
    values.view(numpy.uint64)[missing] = NA_REAL
    return bytes(values.astype("<f8").tobytes())


def _texts(column: Any) -> list[bytes]:
    import numpy  # noqa: PLC0415

    encoded = [None if value is None else str(value).replace("\x00", "").encode() for value in column.to_pylist()]
    sizes = numpy.array([-1 if text is None else len(text) for text in encoded], dtype="<i4")
    return [bytes(sizes.tobytes()), b"".join(text for text in encoded if text)]
