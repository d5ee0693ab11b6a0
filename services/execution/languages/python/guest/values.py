"""Values that leave or enter: tables as Arrow files, others exactly or, where they have no such form, as a summary."""

from __future__ import annotations

import reprlib
import sys
from collections.abc import Callable, Mapping
from typing import Any, cast

from services.execution.languages.python.guest import tables
from services.execution.sandbox.guest.displays import figure_of
from services.execution.sandbox.protocol.exact import Encoder, NotPlain, decode, real
from services.execution.sandbox.protocol.wire import Json, Message

_ROWS, _COLUMNS, _CELL, _CELLS = 100, 200, 400, 10_000
_MORE = 10  #: times as much of a value that is wanted whole
_SMALL = 1_000_000  #: characters of a value that a summary holds whole


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
    """Return the value that another kernel, or a caller, sent."""
    if message["kind"] == "table":
        return tables.read_faithfully(str(message["path"]), str(message.get("dataframe", "pandas")))
    return decode(message["exact"])


def look(value: object, whole: bool = False) -> Message:
    """Return a summary of a value for a prompt, without moving it: a table stays in the kernel."""
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


_SEEN_THROUGH = frozenset(
    ["builtins", "datetime", "decimal", "numpy", "pandas", "polars", "pyarrow", "uuid", "zoneinfo"]
)
_PARTS = (list, tuple, set, frozenset, dict)


def _runs_code(value: object) -> bool:
    """Return whether a summary of this value may call methods of the code's own classes."""
    todo, seen = [value], set[int]()
    while todo:
        each = todo.pop()
        if type(each).__module__.partition(".")[0] not in _SEEN_THROUGH:
            return True
        if type(each) not in _PARTS or id(each) in seen:
            continue
        seen.add(id(each))
        todo += [*each.keys(), *each.values()] if isinstance(each, dict) else cast("list[object]", each)
    return False


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
    """Return the columns and cells of an Arrow table's first rows, as text and numbers."""
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
    """Return summaries of the existing names; a value whose summary fails is shown by its type."""
    by_name: dict[str, Json] = {}
    whole, passive = cast("list[str]", request["whole"]), bool(request["passive"])
    for name in cast("list[str]", request["names"]):
        if name in space and not (passive and _runs_code(space[name])):
            try:
                by_name[name] = look(space[name], name in whole)
            except Exception as error:
                kind = type(space[name]).__name__
                text = f"<{kind}: {type(error).__name__}>"
                by_name[name] = {"kind": "opaque", "type": kind, "bytes": 0, "text": text}
    return {"looks": by_name}


_LONGEST = 10_000
_length = len  #: as it was before any code could change it

_short = reprlib.Repr()
_short.maxlevel = 6
_short.maxlist = _short.maxtuple = _short.maxset = _short.maxfrozenset = _short.maxdict = _short.maxdeque = 200
_short.maxstring = _short.maxother = _LONGEST
_short.maxlong = 2000


def view(value: object, show: Callable[[object], str] = repr) -> Message:
    """Describe a value; an object that cannot show itself is shown by its type."""
    kind = class_name(value)
    try:
        text = _text(value, show)
    except KeyboardInterrupt:  # a call that is ended
        raise
    except BaseException as error:  # also an exit: the code has come to its end already
        text = f"<{kind}: its repr raised {type(error).__name__}>"
    if _length(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]}\n...\n{text[-_LONGEST // 2 :]}"
    return {"type": kind, "shape": shape_of(value), "text": text}


def _text(value: object, show: Callable[[object], str]) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 12_000:
        return f"<int of {value.bit_length()} bits>"
    if isinstance(value, (bytes, bytearray)) and _length(value) > _LONGEST:
        return f"{bytes(value[:_LONGEST])!r}..."
    if isinstance(value, (list, tuple, dict, set, frozenset, str)) and _large(value):
        return _short.repr(value)
    return str(show(value))


def _large(
    value: list[object] | tuple[object, ...] | dict[object, object] | set[object] | str | bytes | object,
) -> bool:
    """Return whether a repr of the whole could be long; containers within containers are not inspected further."""
    if isinstance(value, (str, bytes)):
        return _length(value) > _LONGEST
    if isinstance(value, (list, tuple, dict, set, frozenset)):
        inner = value.values() if isinstance(value, dict) else value
        return _length(value) > 500 or any(_large(part) for part in inner if part is not value)
    return False


def shape_of(value: object) -> Json:
    """Return the shape; ``None`` also for an object that cannot be inspected."""
    try:
        return _shape(value)
    except Exception:
        return None


def class_name(value: object) -> str:
    try:
        return str(type(value).__name__)
    except Exception:  # its metaclass says what a name is
        return "object"


def _shape(value: object) -> Json:
    shape = getattr(value, "shape", None) if _from_a_library(value) else None
    if isinstance(shape, tuple) and all(isinstance(size, int) for size in shape):
        return list(shape)
    if _is(value, "duckdb", "DuckDBPyRelation"):
        return [int(size) for size in value.shape]  # type: ignore[attr-defined]
    if isinstance(value, (list, tuple, dict, set, frozenset)):
        return [len(value)]
    return None


def _from_a_library(value: object) -> bool:
    return type(value).__module__.partition(".")[0] in ("numpy", "pandas", "polars", "pyarrow")


def _is(value: object, module: str, name: str) -> bool:
    """Return whether it is an instance of that class, without importing what the code did not."""
    expected = getattr(sys.modules.get(module), name, None)
    return isinstance(expected, type) and isinstance(value, expected)
