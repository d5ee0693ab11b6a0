"""Values that leave or enter: tables as Arrow files, others exactly or, where they have no such form, as a look."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, cast

from services.execution.languages.python.guest import tables
from services.execution.languages.python.guest.views import shape_of, view
from services.execution.sandbox.guest.displays import figure_of
from services.execution.sandbox.protocol.exact import Encoder, NotPlain, decode, real
from services.execution.sandbox.protocol.wire import Json, Message

_ROWS, _COLUMNS, _CELL, _CELLS = 100, 200, 400, 10_000
_MORE = 10  #: times as much of a value that is wanted whole
_SMALL = 1_000_000  #: characters of a value that a look holds whole


def outward(value: object, path: str, name: str) -> Message:
    """``kind`` is table (a file of that name), json (``exact``), or opaque; ``text`` is a bounded look."""
    shown = view(value)
    described: dict[str, Json] = {"type": shown["type"], "shape": shape_of(value), "text": shown["text"]}
    if tables.is_table(value):
        described["rows"] = tables.write(value, path)
        return {**described, "kind": "table", "file": name, "notes": tables.left_behind(value)}
    return {**described, **exactly(value)}


def exactly(value: object) -> Message:
    try:
        return {"kind": "json", "exact": Encoder().encode(value)}
    except (NotPlain, RecursionError) as error:
        return {"kind": "opaque", "why": str(error)}


def inward(message: Message) -> object:
    """What another kernel, or a caller, sent."""
    if message["kind"] == "table":
        return tables.read_faithfully(str(message["path"]), str(message.get("dataframe", "pandas")))
    return decode(message["exact"])


def look(value: object, whole: bool = False) -> Message:
    """What a prompt may want to know of a value, without moving it: a table stays where it is."""
    if tables.is_table(value):
        return _table(value, whole)
    described: dict[str, Json] = {"type": type(value).__name__, "shape": shape_of(value), "bytes": size_of(value)}
    if not isinstance(value, (list, tuple)) and figure_of(value) is not None:
        return {**described, "kind": "figure", "text": f"<{type(value).__name__}>"}
    try:
        exact = Encoder(characters=_SMALL).encode(value)
        text: dict[str, Json] = {"text": view(value)["text"]} if isinstance(value, (bytes, complex)) else {}
        return {**described, "kind": "json", "exact": exact, **text}
    except (NotPlain, RecursionError):
        return {**described, "kind": "opaque", "text": view(value, str)["text"]}


def _table(value: Any, whole: bool) -> Message:
    first, rows = tables.first_rows(value, _ROWS * (_MORE if whole else 1))
    return {
        "kind": "table",
        "type": type(value).__name__,
        "bytes": size_of(value),
        "rows": rows,
        **shown_table(first, whole),
    }


def shown_table(first: Any, whole: bool = False) -> dict[str, Json]:
    """Of an Arrow table with the first rows: its columns, and its cells as text and numbers."""
    kept = first.select(list(range(min(first.num_columns, _COLUMNS))))
    most = _CELLS * (_MORE // 2 if whole else 1)
    kept = kept.slice(0, max(5, most // max(1, kept.num_columns)))
    columns: list[Json] = [{"name": field.name[:_CELL], "type": str(field.type)} for field in kept.schema]
    cells = [[_cell(cell) for cell in column.to_pylist()] for column in kept.columns]
    head: list[Json] = [list(row) for row in zip(*cells, strict=True)]
    return {"columns": columns, "width": first.num_columns, "head": head}


def _cell(value: Any) -> Json:
    if value is None or isinstance(value, (bool, int)):
        return value if value is None or -(2**63) <= value < 2**64 else str(value)
    if isinstance(value, float):
        return real(value) if value - value == 0 else str(value)
    return str(value)[:_CELL]


def listed(name: str, value: object) -> Message:
    return {"name": name, "type": type(value).__name__, "shape": shape_of(value), "bytes": size_of(value)}


def size_of(value: Any) -> int:
    pandas: Any = sys.modules.get("pandas")
    try:
        if pandas is not None and isinstance(value, (pandas.DataFrame, pandas.Series)):
            used = value.memory_usage(deep=False)
            return int(used.sum() if hasattr(used, "sum") else used)
        for size in ("nbytes", "estimated_size"):
            if hasattr(value, size) and type(value).__module__.partition(".")[0] in ("numpy", "polars", "pyarrow"):
                held = getattr(value, size)
                return int(held() if callable(held) else held)
        return sys.getsizeof(value)
    except Exception:
        return 0


def looks(space: Mapping[str, object], request: Message) -> Message:
    """Those of the names that there are; one whose look fails is shown by its type."""
    by_name: dict[str, Json] = {}
    whole = cast("list[str]", request["whole"])
    for name in cast("list[str]", request["names"]):
        if name in space:
            try:
                by_name[name] = look(space[name], name in whole)
            except Exception as error:
                kind = type(space[name]).__name__
                text = f"<{kind}: {type(error).__name__}>"
                by_name[name] = {"kind": "opaque", "type": kind, "bytes": 0, "text": text}
    return {"looks": by_name}
