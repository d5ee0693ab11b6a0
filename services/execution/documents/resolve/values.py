"""How a template sees a value of a kernel, and what the result says about the value."""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta
from typing import cast

from pydantic import JsonValue

from services.execution.documents.resolve.renderer import Seen
from services.execution.sandbox.run import Look, Value
from services.execution.sandbox.values import plain, tag_of
from services.execution.sandbox.values import text_of as text_of_special
from shared.contracts.document import BlockVariable
from shared.languages import LANGUAGES

_MAX_JSON, _MAX_TEXT, _SHOWN = 1_000_000, 12_000, 5
_MAX_LOOK = 10_000  #: characters of a value that a kernel returns
_AS_SHOWN = ("bytes", "complex")  #: their own languages write them better than JSON does


def template_value(look: Look, kernel: str) -> Seen:
    """Return plain values unchanged, a table as its first rows, anything else as text."""
    if look.kind == "table":
        return _table(look)
    if look.kind == "figure":
        return {"kind": "figure", "text": look.text}
    if look.kind == "opaque" or tag_of(look.exact) in _AS_SHOWN:
        return {"kind": "text", "text": look.text[:_MAX_TEXT], "cut": look.kind == "opaque"}
    if (text := text_of_special(look.exact)) is not None:
        return {"kind": "text", "text": text}  # not a number, or infinite
    shown = _written(_shown(look.exact), kernel)
    if len(text := json.dumps(shown, ensure_ascii=False)) > _MAX_JSON:
        return {"kind": "text", "text": text[:_MAX_TEXT], "cut": True}
    return {"kind": "json", "json": shown}


def variable_of(name: str, kernel: str, look: Look, shown: Seen) -> BlockVariable:
    """Size and hash are of the value; of a table its size in memory, and the hash of what is seen of it."""
    if look.kind == "table":
        body = json.dumps([look.rows, look.width, shown["columns"], shown["head"]], ensure_ascii=False)
        truncated = look.rows > _SHOWN or look.width > len(look.columns)
    else:
        body = look.text if look.kind != "json" else json.dumps(look.exact, ensure_ascii=False)
        truncated = look.kind == "opaque" or bool(shown.get("cut"))
        truncated = truncated or (isinstance(look.json, (dict, list)) and len(body) > 2000)
    raw = body.encode("utf-8", "replace")
    size = look.bytes if look.kind != "json" else len(raw)
    digest = hashlib.sha256(raw).hexdigest()
    return BlockVariable(name=name, kernel=kernel, type=look.type, bytes=size, truncated=truncated, sha256=digest)


def shown_value(name: str, kernel: str, type: str, text: str, rows: int | None) -> BlockVariable:
    """Return what stands in the page for a value; of a table (``rows``) and of what is long it may be a part."""
    raw = text.encode("utf-8", "replace")
    truncated = len(text) >= _MAX_LOOK or (rows is not None and rows > len(text.splitlines()))
    digest = hashlib.sha256(raw).hexdigest()
    return BlockVariable(name=name, kernel=kernel, type=type, bytes=len(raw), truncated=truncated, sha256=digest)


def text_of(value: Value, kernel: str) -> str:
    """Format a value within a line of prose."""
    if value.kind != "json" or tag_of(value.exact) in _AS_SHOWN:
        return value.text
    if (text := text_of_special(value.exact)) is not None:
        return text
    shown = _written(_shown(value.exact), kernel)
    if isinstance(shown, str):
        return shown
    if _has_vectors(kernel) and isinstance(shown, (list, dict)):  # as knitr writes a vector, also one with names
        parts = list(shown.values()) if isinstance(shown, dict) else shown
        if parts and all(map(_scalar, parts)):
            return ", ".join(map(str, parts))
    return str(shown) if _scalar(shown) else json.dumps(_written(value.json, kernel), ensure_ascii=False)


def _shown(exact: JsonValue) -> JsonValue:
    """In plain JSON, but numbers that are not finite as such, and durations as Python writes them."""
    if isinstance(exact, list):
        return [_shown(part) for part in exact]
    kind = tag_of(exact)
    if not isinstance(exact, dict) or kind in ("missing", "undefined", "int", "factor"):
        return plain(exact)
    if kind is None:
        return {name: _shown(part) for name, part in exact.items()}
    return _tagged(kind, exact.get("v"))


def _tagged(kind: str, value: JsonValue) -> JsonValue:
    if kind == "float":
        return float(str(value))
    if kind == "duration" and isinstance(value, int):
        return str(timedelta(microseconds=value))
    if kind == "map" and isinstance(value, list):
        return {str(_shown(pair[0])): _shown(pair[1]) for pair in value if isinstance(pair, list) and len(pair) == 2}
    return _shown(value)


def _has_vectors(kernel: str) -> bool:
    language = LANGUAGES.get(kernel)
    return language is not None and language.vectors


def _scalar(value: JsonValue) -> bool:
    return value is None or isinstance(value, (bool, int, float))


def _written(value: JsonValue, kernel: str) -> JsonValue:
    """Return the numbers as the kernel's language writes them: some write 4 for 4.0."""
    language = LANGUAGES.get(kernel)
    return value if language is None or not language.whole_floats else _integers(value)


def _integers(value: JsonValue) -> JsonValue:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return int(value)
    if isinstance(value, list):
        return [_integers(part) for part in value]
    return {name: _integers(part) for name, part in value.items()} if isinstance(value, dict) else value


def _table(look: Look) -> Seen:
    columns: list[JsonValue] = [{"name": name, "type": kind} for name, kind in look.columns]
    cells = cast("list[JsonValue]", [list(row) for row in look.head])
    return {
        "kind": "table",
        "rows": look.rows,
        "width": look.width,
        "columns": columns,
        "head": cells,
        "text": _text(look),
    }


def _text(look: Look) -> str:
    names = [f"{_short(name)} ({kind})" for name, kind in look.columns]
    lines = [f"{look.rows} rows x {look.width} columns", " | ".join(names)]
    lines += [" | ".join(_short("" if cell is None else str(cell)) for cell in row) for row in look.head[:_SHOWN]]
    if look.width > len(look.columns):
        lines.append(f"... {look.width - len(look.columns)} more columns")
    if look.rows > _SHOWN:
        lines.append(f"... {look.rows - _SHOWN} more")
    return "\n".join(lines)


def _short(text: str) -> str:
    flat = " ".join(text.split()) if "\n" in text or "\r" in text else text
    return flat if len(flat) <= 40 else f"{flat[:37]}..."
