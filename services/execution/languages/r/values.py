"""Messages of ours, and exact values in them, as R expressions: they only ever build lists, texts and numbers."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

from services.execution.languages.columns import NA_INTEGER
from services.execution.sandbox.protocol.wire import Json, Message

_MAX_LITERAL = 8_000  #: signs
_ESCAPED = re.compile(r'[^ -~]|["`\\]')
_SHORT_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


@dataclass(frozen=True)
class Exact:
    """Marks a part of a message as a value, to be built as such."""

    value: Json


def expression(message: Message) -> bytes:
    return _plain(message).encode("ascii")


def _plain(value: Json) -> str:
    if value is None or isinstance(value, bool):
        return {None: "NULL", True: "TRUE", False: "FALSE"}[value]
    if isinstance(value, (int, float)):
        return number(value)
    if isinstance(value, str):
        return text_of(value)
    if isinstance(value, Exact):
        return value_of(value.value)
    if isinstance(value, Mapping):
        return f"list({', '.join(f'{text_of(name, tick=True)} = {_plain(inner)}' for name, inner in value.items())})"
    return _plain_vector(value)


def _plain_vector(values: Sequence[Json]) -> str:
    """Scalars of one kind become a vector, anything else a list."""
    kinds = {type(value) for value in values if value is not None}
    plain = (len(kinds) == 1 and kinds <= {bool, str, int, float}) or kinds == {int, float}
    if values and plain:
        return f"c({', '.join('NA' if value is None else _plain(value) for value in values)})"
    return f"list({', '.join(_plain(value) for value in values)})"


def value_of(exact: Json) -> str:
    """Return the R literal. Raises: ValueError, OverflowError for what R cannot hold."""
    if isinstance(exact, Mapping):
        return _tagged(exact) if "$" in exact else _named(list(exact), list(exact.values()))
    if isinstance(exact, str):
        return text_of(exact)
    if isinstance(exact, Sequence):
        return _vector(exact)
    if exact is None or isinstance(exact, bool):
        return {None: "NULL", True: "TRUE", False: "FALSE"}[exact]
    return number(exact)


def number(value: float) -> str:
    if isinstance(value, int) and NA_INTEGER < value < 2**31:
        return f"{value}L"
    return repr(float(value)) if math.isfinite(value) else "NA_real_"


def text_of(text: str, tick: bool = False) -> str:
    """Quote it; a long one in pieces, as R reads at most 10,000 signs of a literal that has Unicode escapes."""
    if tick or len(text) <= _MAX_LITERAL:
        return _literal(text, "`" if tick else '"')
    pieces = (text[start : start + _MAX_LITERAL] for start in range(0, len(text), _MAX_LITERAL))
    return f"""paste(c({", ".join(_literal(piece, '"') for piece in pieces)}), collapse = "")"""


def _literal(text: str, mark: str) -> str:
    return f"{mark}{_ESCAPED.sub(lambda sign: _escape(sign[0], mark), text)}{mark}"


def _escape(sign: str, mark: str) -> str:
    code = ord(sign)
    if 32 <= code < 127:
        return f"\\{sign}" if sign in (mark, "\\") else sign
    if code == 0 or 0xD800 <= code < 0xE000:
        return "\\ufffd"  # R has no such signs
    return _SHORT_ESCAPES.get(sign) or (f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")


def _named(names: Sequence[object], values: Sequence[Json]) -> str:
    inner = ", ".join(value_of(value) for value in values)
    keys = ", ".join(text_of(str(name)) for name in names)
    return f"structure(list({inner}), names = {f'c({keys})' if names else 'character()'})"


def _tag(exact: Json) -> object:
    return exact.get("$") if isinstance(exact, Mapping) else None


def _vector(values: Sequence[Json]) -> str:
    """Scalars of one kind become a vector, which stays a list when it holds one; anything else is a list."""
    known = [value for value in values if value is not None]
    kinds = {float if _tag(value) == "float" else str(_tag(value) or "") or type(value) for value in known}
    if kinds == {"date"}:
        days = ", ".join(
            "NA" if value is None else text_of(str(cast("Mapping[str, Json]", value)["v"])) for value in values
        )
        return f"{'I' if len(values) == 1 else ''}(as.Date(c({days})))"
    plain = kinds in ({bool}, {str}, {int}, {float}, {int, float})
    if not plain:
        return f"list({', '.join(value_of(value) for value in values)})"
    made = f"c({', '.join('NA' if value is None else value_of(value) for value in values)})"
    return f"I({made})" if len(values) == 1 else made


def _tagged(exact: Mapping[str, Json]) -> str:
    kind, value = exact["$"], exact["v"]
    if kind in ("missing", "undefined"):
        return "NA" if kind == "missing" else "NULL"
    if kind in ("int", "decimal"):
        return _real(float(str(value)))
    if kind == "float":
        return {"nan": "NaN", "inf": "Inf", "-inf": "-Inf"}.get(str(value), "-0.0")
    if kind == "date":
        return f"as.Date({text_of(str(value))})"
    if kind == "datetime":
        return _moment(str(value), exact.get("zone"))
    if kind == "duration":
        return f'as.difftime({cast("int", value) / 1e6!r}, units = "secs")'
    if kind == "bytes":
        return _bytes(base64.b64decode(str(value)))
    if kind == "complex" and isinstance(value, Sequence):
        return f"complex(real = {value_of(value[0])}, imaginary = {value_of(value[1])})"
    if kind == "factor" and isinstance(value, Sequence):
        codes = ", ".join(f"{code + 1}L" if isinstance(code, int) and code >= 0 else "NA" for code in value)
        levels = ", ".join(text_of(str(level)) for level in cast("Sequence[Json]", exact["levels"]))
        kinds = 'c("ordered", "factor")' if exact.get("ordered") else '"factor"'
        return f"structure(as.integer(c({codes})), levels = as.character(c({levels})), class = {kinds})"
    if kind == "map" and isinstance(value, Sequence):
        pairs = cast("Sequence[Sequence[Json]]", value)
        return _named([_key(pair[0]) for pair in pairs], [pair[1] for pair in pairs])
    if kind == "array" and isinstance(value, Sequence) and not isinstance(value, str):
        return _array(value)
    return value_of(value)


def _key(key: Json) -> object:
    return key["v"] if isinstance(key, Mapping) and "$" in key else key


def _real(value: float) -> str:
    if not math.isfinite(value):
        raise OverflowError("the number is too large")
    return repr(value)


def _moment(text: str, zone: Json) -> str:
    moment = datetime.fromisoformat(text)
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    since = aware - datetime(1970, 1, 1, tzinfo=UTC)
    seconds = (since.days * 86_400 + since.seconds) + since.microseconds / 1e6
    named = "" if moment.tzinfo is None else str(zone or "UTC")
    return f'as.POSIXct({seconds!r}, origin = "1970-01-01", tz = {text_of(named)})'


def _bytes(data: bytes) -> str:
    if not data:
        return "raw()"
    starts = f"seq(1L, {2 * len(data)}L, 2L)"
    return f'(function(h) as.raw(strtoi(substring(h, {starts}, {starts} + 1L), 16L)))("{data.hex()}")'


def _array(value: Sequence[Json]) -> str:
    """Return an array of any number of dimensions: R's first one varies fastest."""
    sizes: list[int] = []
    flat: Sequence[Json] = value
    level: Json = value
    while isinstance(level, Sequence) and not isinstance(level, str) and level:
        sizes.append(len(level))
        level = level[0]
    for _ in sizes[1:]:
        flat = [part for inner in cast("Sequence[Sequence[Json]]", flat) for part in inner]
    cells = ", ".join("NA" if cell is None else value_of(cell) for cell in flat)
    dims = ", ".join(f"{size}L" for size in reversed(sizes))
    return f"aperm(array(c({cells}), dim = c({dims})))"
