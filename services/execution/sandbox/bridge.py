"""Values between kernels: each language gets what it can hold, and nothing is ever unpickled."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from pydantic import JsonValue

from services.execution.kernels.wire import Json, Message, frame
from services.execution.sandbox.columns import table_from_columns
from services.execution.sandbox.rlang import expression, table_for_r
from services.execution.sandbox.run import KernelError, Value
from services.execution.sandbox.streams import escaped
from shared.contracts.execute import CodeError, Language

_KINDS = ("json", "date", "datetime", "table", "opaque")
_MOST_ROWS_AS_JSON = 100_000
_MOST_CELLS_AS_JSON = 4_000_000


@dataclass(frozen=True)
class Sent:
    """The message that sets a variable, and the file that goes before it."""

    typed: Mapping[str, Json]
    file: Path | None = None


def outward(typed: Mapping[str, Json], content: Path | None, check: Callable[[Path], bool]) -> Value:
    """A kernel's claim about a value, checked. Raises: KernelError for a table that does not hold together."""
    kind = typed.get("kind")
    if kind not in _KINDS:
        kind = "opaque"
    if kind == "table" and (content is None or not check(content)):
        raise KernelError(CodeError(type="BadTable", message="The table is too large or does not hold together."))
    rows = typed.get("rows")
    return Value(
        kind=cast("Literal['json', 'date', 'datetime', 'table', 'opaque']", kind),
        type=escaped(str(typed.get("type", "")))[:200],
        text=escaped(str(typed.get("text", "")))[:12_000],
        json=cast("JsonValue", typed.get("json")),
        table=content if kind == "table" else None,
        rows=rows if isinstance(rows, int) else None,
    )


def inward(language: Language, value: Value | JsonValue, target: Path) -> Sent:
    """What to send so that the language gets its own kind of this value. Raises: KernelError."""
    if not isinstance(value, Value):
        return Sent({"kind": "json", "json": value})
    if value.kind == "opaque":
        raise KernelError(CodeError(type="NotPortable", message=f"A {value.type} cannot cross into {language}."))
    if value.kind != "table" or value.table is None:
        return Sent({"kind": value.kind, "json": value.json})
    if language == "javascript":
        return Sent({"kind": "json", "json": cast("JsonValue", _rows(value.table))})
    source, told = given(language, value.table, target)
    return Sent({"kind": "table", **told}, source)


def framed(language: str, request: Message) -> bytes:
    """A request in the notation that the language reads without help."""
    if language != "r":
        return frame(request)
    body = expression(request)
    return struct.pack(">I", len(body)) + body


def given(language: Language, table: Path, target: Path) -> tuple[Path, Mapping[str, Json]]:
    """A table as a file that the language reads, and what it must be told about it. Raises: KernelError."""
    if language == "r":
        return target, {"columns": table_for_r(table, target)}
    if language == "javascript":
        target.write_text(json.dumps(_rows(table)))
        return target, {}
    return table, {}


def brought(language: Language, claimed: Mapping[str, Json], content: Path) -> Path | None:
    """A table that came out, as an Arrow file that is still to be checked."""
    if language not in ("r", "javascript"):
        return content
    target = content.with_name(f"{content.name}.arrow")
    return target if table_from_columns(claimed.get("columns"), content, target) else None


def _rows(table: Path) -> Json:
    """A validated table as objects, for a language without tables. Raises: KernelError."""
    import pyarrow.ipc  # noqa: PLC0415 - heavy, and only needed here
    import pyarrow.json  # noqa: PLC0415

    with pyarrow.memory_map(str(table)) as source:
        content = pyarrow.ipc.open_file(source).read_all()
        if content.num_rows > _MOST_ROWS_AS_JSON:
            message = f"JavaScript takes tables of at most {_MOST_ROWS_AS_JSON} rows."
            raise KernelError(CodeError(type="TooLarge", message=message))
        if content.num_rows * content.num_columns > _MOST_CELLS_AS_JSON:
            message = f"JavaScript takes tables of at most {_MOST_CELLS_AS_JSON} cells."
            raise KernelError(CodeError(type="TooLarge", message=message))
        return [{name: _plain(cell) for name, cell in row.items()} for row in content.to_pylist()]


def _plain(cell: object) -> Json:
    if cell is None or isinstance(cell, (bool, int, str)):
        return cell
    if isinstance(cell, float):
        return cell if cell == cell and abs(cell) != float("inf") else None  # noqa: PLR0124 - NaN
    if isinstance(cell, list):
        return [_plain(part) for part in cell]
    if isinstance(cell, dict):
        return {str(key): _plain(part) for key, part in cell.items()}
    isoformat = getattr(cell, "isoformat", None)
    return str(isoformat()) if isoformat is not None else str(cell)
