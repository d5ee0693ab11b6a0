"""Values between kernels: each language gets what it can hold, and nothing is ever unpickled."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import JsonValue

from services.execution.languages.columns import table_from_columns
from services.execution.languages.losses import table_losses
from services.execution.languages.r.rlang import expression, table_for_r
from services.execution.languages.r.rvalues import Exact
from services.execution.sandbox.host.scratch import Corner
from services.execution.sandbox.host.streams import escaped
from services.execution.sandbox.protocol.exact import Encoder
from services.execution.sandbox.protocol.wire import Json, Message, frame
from services.execution.sandbox.run import KernelError, Look, Value
from shared.contracts.execute import CodeError

_KINDS = ("json", "table", "opaque")
_LOOKS = ("json", "table", "figure", "opaque")
_MOST_ROWS_AS_JSON = 100_000
_MOST_CELLS_AS_JSON = 4_000_000
_INLINE_CELLS = 2_000
_TEXT = 12_000


@dataclass(frozen=True)
class Sent:
    """The message that sets a variable, the file that goes before it, and what is known to be lost on the way."""

    typed: Mapping[str, Json]
    file: Path | None = None
    notes: tuple[str, ...] = ()


def outward(typed: Mapping[str, Json], content: Path | None, check: Callable[[Path], bool]) -> Value:
    """A kernel's claim about a value, checked. Raises: KernelError for a table that does not hold together."""
    kind = typed.get("kind")
    if kind not in _KINDS:
        kind = "opaque"
    if kind == "table" and (content is None or not check(content)):
        raise KernelError(CodeError(type="BadTable", message="The table is too large or does not hold together."))
    rows, notes = typed.get("rows"), typed.get("notes")
    return Value(
        kind=cast("Literal['json', 'table', 'opaque']", kind),
        type=_bounded(typed.get("type"), 200),
        text=_bounded(typed.get("text"), _TEXT),
        exact=cast("JsonValue", typed.get("exact")) if kind == "json" else None,
        table=content if kind == "table" else None,
        rows=rows if isinstance(rows, int) else None,
        notes=tuple(_bounded(note, 200) for note in notes[:5]) if isinstance(notes, list) else (),
        why=_bounded(typed.get("why"), 200),
    )


def looked(claimed: Json) -> Look | None:
    """A kernel's claim about how a value looks, bounded."""
    if not isinstance(claimed, dict) or claimed.get("kind") not in _LOOKS:
        return None
    columns, head = claimed.get("columns"), claimed.get("head")
    return Look(
        kind=cast("Literal['json', 'table', 'figure', 'opaque']", claimed["kind"]),
        type=_bounded(claimed.get("type"), 200),
        bytes=_count(claimed.get("bytes")),
        text=_bounded(claimed.get("text"), _TEXT),
        exact=cast("JsonValue", claimed.get("exact")),
        rows=_count(claimed.get("rows")),
        columns=tuple(
            (_bounded(one.get("name"), 400), _bounded(one.get("type"), 200)) for one in columns if isinstance(one, dict)
        )
        if isinstance(columns, list)
        else (),
        width=_count(claimed.get("width")),
        head=tuple(tuple(_cell(cell) for cell in row) for row in head if isinstance(row, list))
        if isinstance(head, list)
        else (),
    )


def _bounded(claimed: Json, most: int) -> str:
    return escaped(str("" if claimed is None else claimed))[:most]


def _count(claimed: Json) -> int:
    return max(0, int(claimed)) if isinstance(claimed, (int, float)) and claimed - claimed == 0 else 0


def _cell(claimed: Json) -> JsonValue:
    if claimed is None or isinstance(claimed, (bool, int, float)):
        return claimed
    return escaped(str(claimed))[:400]


def inward(language: str, value: Value | JsonValue, target: Path) -> Sent:
    """What to send so that the language gets its own kind of this value. Raises: KernelError."""
    if not isinstance(value, Value):
        return _exact(language, Encoder().encode(value))
    if value.kind == "opaque":
        why = f": {value.why}" if value.why else ""
        raise KernelError(CodeError(type="NotPortable", message=f"{value.type} cannot cross into {language}{why}."))
    if value.kind != "table" or value.table is None:
        return _exact(language, cast("Json", value.exact))
    notes = (*value.notes, *table_losses(value.table, language))
    if language == "javascript":
        columns, rows = _columns_and_rows(value.table)
        if len(rows) * len(columns) <= _INLINE_CELLS:
            return Sent({"kind": "table", "columns": columns, "rows": rows}, None, notes)
        target.write_text(json.dumps(rows))
        return Sent({"kind": "table", "columns": columns}, target, notes)
    source, told = given(language, value.table, target)
    return Sent({"kind": "table", **told}, source, notes)


def _exact(language: str, exact: Json) -> Sent:
    return Sent({"kind": "json", "exact": cast("Json", Exact(exact)) if language == "r" else exact})


def framed(language: str, request: Message) -> bytes:
    """A request in the notation that the language reads without help."""
    if language != "r":
        return frame(request)
    body = expression(request)
    return struct.pack(">I", len(body)) + body


def given(language: str, table: Path, target: Path) -> tuple[Path, Mapping[str, Json]]:
    """A table as a file that the language reads, and what it must be told about it. Raises: KernelError."""
    if language == "r":
        return target, {"columns": table_for_r(table, target)}
    if language == "javascript":
        target.write_text(json.dumps(_rows(table)))
        return target, {}
    return table, {}


def brought(language: str, claimed: Mapping[str, Json], content: Path, corner: Corner) -> Path | None:
    """A table that came out, as an Arrow file that is still to be checked."""
    if language not in ("r", "javascript"):
        return content
    target = corner.folder / f"{content.name}.arrow"
    return target if table_from_columns(claimed.get("columns"), content, target) else None


def _read(table: Path) -> Any:
    """A validated table that is small enough for a language without tables. Raises: KernelError."""
    import pyarrow.ipc  # noqa: PLC0415 - heavy, and only needed here

    with pyarrow.memory_map(str(table)) as source:
        content = pyarrow.ipc.open_file(source).read_all()
        if content.num_rows > _MOST_ROWS_AS_JSON:
            message = f"JavaScript takes tables of at most {_MOST_ROWS_AS_JSON} rows."
            raise KernelError(CodeError(type="TooLarge", message=message))
        if content.num_rows * content.num_columns > _MOST_CELLS_AS_JSON:
            message = f"JavaScript takes tables of at most {_MOST_CELLS_AS_JSON} cells."
            raise KernelError(CodeError(type="TooLarge", message=message))
        return content


def _rows(table: Path) -> Json:
    """As objects of plain cells."""
    return [{name: _plain(cell) for name, cell in row.items()} for row in _read(table).to_pylist()]


def rows_of(table: Path, most: int) -> list[dict[str, Json]]:
    """The first rows as objects of plain cells."""
    import pyarrow.ipc  # noqa: PLC0415

    with pyarrow.memory_map(str(table)) as source:
        content = pyarrow.ipc.open_file(source).read_all().slice(0, most)
        return [{name: _plain(cell) for name, cell in row.items()} for row in content.to_pylist()]


def _columns_and_rows(table: Path) -> tuple[list[Json], list[list[Json]]]:
    """As rows of exact cells, beside what the columns are called and of which type they are."""
    content = _read(table)
    columns: list[Json] = [{"name": field.name, "type": str(field.type)} for field in content.schema]
    encoder = Encoder(items=2 * _MOST_CELLS_AS_JSON, characters=100_000_000)
    cells = [[encoder.encode(cell) for cell in column.to_pylist()] for column in content.columns]
    return columns, [list(row) for row in zip(*cells, strict=True)]


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
