"""Values that leave or enter by type: plain ones as JSON, tables as Arrow files, anything else as a look at it."""

from __future__ import annotations

import datetime
import decimal
import math
import sys
from typing import Any

from services.execution.kernels.python import tables
from services.execution.kernels.python.views import shape_of, view
from services.execution.kernels.wire import Json, Message

_MOST_ITEMS = 200_000


class NotPlain(Exception):
    """Not expressible in JSON without loss of meaning."""


def outward(value: object, path: str, name: str) -> Message:
    """``kind`` is table (a file of that name), json, date, datetime, or opaque; ``text`` is a bounded look."""
    shown = view(value)
    described: dict[str, Json] = {"type": shown["type"], "shape": shape_of(value), "text": shown["text"]}
    if tables.is_table(value):
        described["rows"] = tables.write(value, path)
        return {**described, "kind": "table", "file": name}
    if isinstance(value, datetime.datetime):
        return {**described, "kind": "datetime", "json": value.isoformat()}
    if isinstance(value, datetime.date):
        return {**described, "kind": "date", "json": value.isoformat()}
    try:
        return {**described, "kind": "json", "json": plain(value, [_MOST_ITEMS])}
    except (NotPlain, RecursionError):
        return {**described, "kind": "opaque"}


def plain(value: Any, left: list[int]) -> Json:
    """The value in JSON's terms. Raises: NotPlain."""
    left[0] -= 1
    if left[0] < 0:
        raise NotPlain
    if value is None or isinstance(value, (bool, str, int, float)):
        return _scalar(value)
    if isinstance(value, dict):
        return {_key(key): plain(inner, left) for key, inner in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(inner, left) for inner in value]
    if isinstance(value, (datetime.date, datetime.time, decimal.Decimal)):
        return str(value) if isinstance(value, decimal.Decimal) else value.isoformat()
    return plain(_of_a_library(value), left)


def _scalar(value: bool | str | int | float | None) -> Json:
    """Of the plain type, also when a library made it a kind of its own; what is not finite has no JSON."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    return float(value) if math.isfinite(value) else None


def _key(key: object) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, (int, float, datetime.date)):
        return str(key)
    raise NotPlain


def _of_a_library(value: Any) -> object:
    """Arrays, series and scalars of numpy, pandas and polars as lists and numbers. Raises: NotPlain."""
    module = type(value).__module__.partition(".")[0]
    if module == "pandas" and type(value).__name__ in ("NAType", "NaTType"):
        return None
    for method in ("tolist", "to_list", "item"):
        if module in ("numpy", "pandas", "polars", "pyarrow") and hasattr(value, method):
            made = getattr(value, method)()
            if type(made) is not type(value):
                return made
    raise NotPlain


def inward(message: Message) -> object:
    """What another kernel, or a caller, sent."""
    kind = message["kind"]
    if kind == "table":
        return tables.read(str(message["path"]), str(message.get("dataframe", "pandas")))
    if kind == "date":
        return datetime.date.fromisoformat(str(message["json"]))
    if kind == "datetime":
        return datetime.datetime.fromisoformat(str(message["json"]))
    return message["json"]


def listed(name: str, value: object) -> Message:
    return {"name": name, "type": type(value).__name__, "shape": shape_of(value), "bytes": _size(value)}


def _size(value: Any) -> int:
    pandas = sys.modules.get("pandas")
    try:
        if pandas is not None and isinstance(value, (pandas.DataFrame, pandas.Series)):
            used = value.memory_usage(deep=False)
            return int(used.sum() if hasattr(used, "sum") else used)
        for size in ("nbytes", "estimated_size"):
            if hasattr(value, size) and type(value).__module__.partition(".")[0] in ("numpy", "polars", "pyarrow"):
                found = getattr(value, size)
                return int(found() if callable(found) else found)
        return sys.getsizeof(value)
    except Exception:
        return 0
