"""Which values a later job can be given back, so that it need not run the code that made them."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pydantic import JsonValue

from services.execution.documents.run.running import Work
from services.execution.documents.run.state import KeptValue
from services.execution.sandbox.run import KernelError, Look

_MOST_TEXT = 200_000  #: characters of a plain value
_MOST_TABLE = 16_000_000  #: bytes in memory; a larger table is made again when it is needed
_EXACT: Mapping[str, tuple[str, ...]] = {
    "python": (
        *("NoneType", "bool", "int", "float", "str", "list", "dict", "tuple", "set", "Decimal", "date", "datetime"),
        *("time", "timedelta", "bytes", "complex", "UUID", "ndarray", "DataFrame"),
    ),
    "r": (
        *("NULL", "logical", "integer", "numeric", "character", "complex", "raw", "factor", "ordered", "list", "AsIs"),
        *("Date", "POSIXct", "difftime", "data.frame"),
    ),
    "javascript": (
        *("null", "undefined", "boolean", "number", "string", "bigint", "Array", "Object", "Date", "Map", "Set"),
        "Uint8Array",
    ),
}


def kept_value(work: Work, kernel: str, name: str, look: Look) -> KeptValue | None:
    """``None`` for what would not come back as it was."""
    if kernel in _EXACT and look.type not in _EXACT[kernel] and look.kind != "table":
        return None
    one = KeptValue(kind=look.kind, type=look.type, text=look.text[:2000], rows=look.rows or None)
    if look.kind == "json":
        one.data = look.exact
        text = json.dumps(look.exact)
        return None if len(text) > _MOST_TEXT or _lossy(look.exact) else one
    if look.kind != "table" or look.bytes > _MOST_TABLE or (kernel != "sql" and look.type not in _EXACT[kernel]):
        return None
    try:
        value = work.kernels.get(kernel, name)
    except KernelError:
        return None
    if value.table is None or value.notes:
        return None
    one.file_id = work.context.files.save(f"{name}.arrow", value.table, "application/vnd.apache.arrow.file").id
    one.text = f"{look.rows} rows x {look.width} columns"
    return one


def _lossy(exact: JsonValue) -> bool:
    """Whether something in it is only like what it was."""
    if isinstance(exact, str):
        return any("\ud800" <= sign <= "\udfff" for sign in exact) if not exact.isascii() else False
    if isinstance(exact, list):
        return any(_lossy(part) for part in exact)
    if not isinstance(exact, dict):
        return False
    return exact.get("$") in ("series", "missing") or any(_lossy(part) for part in exact.values())
