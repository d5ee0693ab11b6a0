"""What of a table's columns a language has no word for, in plain words; nothing is lost silently."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

# Arrow has no types for its arrays here, so those values are Any.

_MOST = 5
_SAFE = 2**53


def table_losses(table: Path, language: str) -> tuple[str, ...]:
    import pyarrow.ipc  # noqa: PLC0415 - heavy, and only needed here

    with pyarrow.memory_map(str(table)) as source:
        content = pyarrow.ipc.open_file(source).read_all()
        found = [
            f"column {name[:80]}: {lost}"
            for name, column in zip(content.column_names, content.columns, strict=True)
            if (lost := _LOST[language](column))
        ]
        if language == "sql":
            found += _taken_for_one(content.column_names)
    return tuple(found[:_MOST])


def _taken_for_one(names: Sequence[str]) -> list[str]:
    """SQL does not tell large letters from small ones in names: DuckDB numbers the later columns."""
    first: dict[str, str] = {}
    pairs = ((name, first.setdefault(name.lower(), name)) for name in names)
    return [
        f"column {name[:80]}: SQL takes its name for that of {other[:80]}, so a number follows it there"
        for name, other in pairs
        if other != name
    ]


def _python(column: Any) -> str | None:
    """Pandas has one missing value for numbers: a gap among floats is a NaN."""
    import pyarrow  # noqa: PLC0415
    import pyarrow.compute  # noqa: PLC0415

    if pyarrow.types.is_floating(column.type) and column.null_count:
        nans = pyarrow.compute.sum(pyarrow.compute.is_nan(column)).as_py()
        return "missing numbers and NaN are one in pandas" if nans else None
    return None


def _r(column: Any) -> str | None:
    import pyarrow  # noqa: PLC0415
    import pyarrow.compute  # noqa: PLC0415

    types, kind = pyarrow.types, column.type
    if types.is_int64(kind) or types.is_uint64(kind):
        return "whole numbers beyond 2^53 are rounded" if _beyond(column) else None
    if types.is_decimal(kind):
        return "decimals are floats in R"
    if types.is_string(kind) or types.is_large_string(kind):
        cut = pyarrow.compute.any(pyarrow.compute.match_substring(column, "\x00")).as_py()
        return "R has no texts with NUL in them: it was taken out" if cut else None
    if types.is_timestamp(kind) and kind.unit == "ns" and _finer(column):
        return "nanoseconds are cut to microseconds"
    kept = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind) or types.is_null(kind)
    kept = kept or types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind) or types.is_date(kind)
    kept = kept or types.is_timestamp(kind) or types.is_duration(kind) or types.is_dictionary(kind)
    kept = kept or types.is_binary(kind) or types.is_large_binary(kind)
    return None if kept else f"{kind} is text in R"


def _beyond(column: Any) -> bool:
    import pyarrow.compute  # noqa: PLC0415

    ends = pyarrow.compute.min_max(column).as_py()
    return any(end is not None and abs(end) > _SAFE for end in ends.values())


def _finer(column: Any) -> bool:
    import pyarrow  # noqa: PLC0415

    try:
        column.cast(pyarrow.timestamp("us", column.type.tz))
    except pyarrow.ArrowInvalid:
        return True
    return False


def _sql(column: Any) -> str | None:
    import pyarrow  # noqa: PLC0415

    if pyarrow.types.is_dictionary(column.type):
        return "a factor is text in SQL"
    zone = column.type.tz if pyarrow.types.is_timestamp(column.type) else None
    return f"moments keep their time and lose their zone {zone} in SQL" if zone not in (None, "UTC") else None


def _javascript(column: Any) -> str | None:
    import pyarrow  # noqa: PLC0415

    types, kind = pyarrow.types, column.type
    if types.is_decimal(kind):
        return "decimals are numbers in JavaScript"
    if types.is_time(kind):
        return "times of day are text in JavaScript"
    if types.is_nested(kind):
        return "a table with lists or structures in it comes back from JavaScript as records"
    return "durations are milliseconds in JavaScript" if types.is_duration(kind) else None


_LOST = {"python": _python, "r": _r, "sql": _sql, "javascript": _javascript}
