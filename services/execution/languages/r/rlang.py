"""R's side of the bridge: messages as R expressions, tables as columns of plain binary (R has no Arrow in Debian)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from services.execution.languages.columns import NA_INTEGER, NA_REAL
from services.execution.languages.r.rvalues import Exact, number, text_of, value_of
from services.execution.sandbox.protocol.wire import Json, Message

# NumPy and Arrow have no types for their arrays' contents here, so those values are Any.


def expression(message: Message) -> bytes:
    """A message of ours as an R expression; it only ever builds lists, texts and numbers."""
    return _r(message).encode("ascii")


def _r(value: Json) -> str:
    if value is None or isinstance(value, bool):
        return {None: "NULL", True: "TRUE", False: "FALSE"}[value]
    if isinstance(value, (int, float)):
        return number(value)
    if isinstance(value, str):
        return text_of(value)
    if isinstance(value, Exact):
        return value_of(value.value)
    if isinstance(value, Mapping):
        return f"list({', '.join(f'{text_of(name, tick=True)} = {_r(inner)}' for name, inner in value.items())})"
    return _vector(value)


def _vector(values: Sequence[Json]) -> str:
    """Scalars of one kind become a vector, anything else a list."""
    kinds = {type(value) for value in values if value is not None}
    plain = (len(kinds) == 1 and kinds <= {bool, str, int, float}) or kinds == {int, float}
    if values and plain:
        return f"c({', '.join('NA' if value is None else _r(value) for value in values)})"
    return f"list({', '.join(_r(value) for value in values)})"


def table_for_r(source: Path, target: Path) -> list[Json]:
    """Write an Arrow file's columns for R; the description of them that R needs."""
    import pyarrow.ipc  # noqa: PLC0415 - heavy, and only needed here

    with pyarrow.memory_map(str(source)) as opened, target.open("xb") as sink:
        table = pyarrow.ipc.open_file(opened).read_all()
        columns: list[Json] = []
        for name, column in zip(table.column_names, table.columns, strict=True):
            kind, parts, more = _written(_whole(column))
            for part in parts:
                sink.write(part)
            columns.append({"name": name, "kind": kind, "rows": table.num_rows, **more})
        return columns


def _whole(column: Any) -> Any:
    """One array of a chunked one, with one dictionary."""
    import pyarrow  # noqa: PLC0415

    if pyarrow.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
    return column.combine_chunks()


def _written(column: Any) -> tuple[str, list[bytes], dict[str, Json]]:
    import pyarrow  # noqa: PLC0415

    types = pyarrow.types
    if types.is_dictionary(column.type) and _is_text(column.type.value_type):
        levels = column.dictionary.to_pylist()
        codes = column.indices.cast(pyarrow.int32())
        if None not in levels and len(set(levels)) == len(levels):
            return "factor", [_numbers(codes, "int32")], {"levels": levels, "ordered": bool(column.type.ordered)}
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if types.is_boolean(kind) or types.is_null(kind):
        return "logical", [_numbers(column.cast(pyarrow.int32()), "int32")], {}
    if types.is_integer(kind):
        try:
            return "integer", [_numbers(column.cast(pyarrow.int32()), "int32")], {}
        except pyarrow.ArrowInvalid:
            return "double", [_numbers(column.cast(pyarrow.float64(), safe=False), "float64")], {}
    if types.is_floating(kind) or types.is_decimal(kind):
        return "double", [_numbers(column.cast(pyarrow.float64(), safe=False), "float64")], {}
    if types.is_date(kind):
        days = column.cast(pyarrow.date32()).cast(pyarrow.int32())
        return "date", [_numbers(days.cast(pyarrow.float64()), "float64")], {}
    if types.is_timestamp(kind):
        moments = column.cast(pyarrow.timestamp("us", kind.tz), safe=False).cast(pyarrow.int64())
        body = _numbers(moments.cast(pyarrow.float64(), safe=False), "float64", 1e-6)
        return "datetime", [body], {} if kind.tz is None else {"zone": kind.tz}
    if types.is_duration(kind):
        spans = column.cast(pyarrow.duration("us"), safe=False).cast(pyarrow.int64())
        return "duration", [_numbers(spans.cast(pyarrow.float64(), safe=False), "float64", 1e-6)], {}
    if types.is_binary(kind) or types.is_large_binary(kind):
        return "bytes", _bytes(column.to_pylist()), {}
    return "string", _texts(column), {}


def _is_text(kind: Any) -> bool:
    import pyarrow  # noqa: PLC0415

    types = pyarrow.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


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
    return _bytes([None if value is None else str(value).replace("\x00", "").encode() for value in column.to_pylist()])


def _bytes(encoded: Sequence[bytes | None]) -> list[bytes]:
    import numpy  # noqa: PLC0415

    sizes = numpy.array([-1 if text is None else len(text) for text in encoded], dtype="<i4")
    return [bytes(sizes.tobytes()), b"".join(text for text in encoded if text)]
