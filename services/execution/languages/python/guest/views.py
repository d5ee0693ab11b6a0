"""A look at a value: its type, its shape, a bounded text. Never more than that leaves by this way."""

from __future__ import annotations

import reprlib
import sys
from collections.abc import Callable

from services.execution.sandbox.protocol.wire import Json, Message

_LONGEST = 10_000

_short = reprlib.Repr()
_short.maxlevel = 6
_short.maxlist = _short.maxtuple = _short.maxset = _short.maxfrozenset = _short.maxdict = _short.maxdeque = 200
_short.maxstring = _short.maxother = _LONGEST
_short.maxlong = 2000


def view(value: object, show: Callable[[object], str] = repr) -> Message:
    """Never raises: an object that cannot show itself is shown by its type."""
    kind = type(value).__name__
    try:
        text = _text(value, show)
    except Exception as error:
        text = f"<{kind}: its repr raised {type(error).__name__}>"
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]}\n...\n{text[-_LONGEST // 2 :]}"
    return {"type": kind, "shape": shape_of(value), "text": text}


def _text(value: object, show: Callable[[object], str]) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 12_000:
        return f"<int of {value.bit_length()} bits>"
    if isinstance(value, (bytes, bytearray)) and len(value) > _LONGEST:
        return f"{bytes(value[:_LONGEST])!r}..."
    if isinstance(value, (list, tuple, dict, set, frozenset, str)) and _large(value):
        return _short.repr(value)
    return show(value)


def _large(
    value: list[object] | tuple[object, ...] | dict[object, object] | set[object] | str | bytes | object,
) -> bool:
    """Whether a repr of the whole could be long; containers within containers are not looked into further."""
    if isinstance(value, (str, bytes)):
        return len(value) > _LONGEST
    if isinstance(value, (list, tuple, dict, set, frozenset)):
        inner = value.values() if isinstance(value, dict) else value
        return len(value) > 500 or any(_large(part) for part in inner if part is not value)
    return False


def shape_of(value: object) -> Json:
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
    """Whether it is an instance of that class, without importing what the code did not."""
    expected = getattr(sys.modules.get(module), name, None)
    return isinstance(expected, type) and isinstance(value, expected)
