"""How a value of a kernel looks to a template, and what the result tells about it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from pydantic import JsonValue

from services.execution.documents.template import Seen
from services.execution.sandbox.run import Value
from shared.contracts.document import BlockVariable

_ROWS, _COLUMNS, _MOST_CELL, _MOST_JSON, _MOST_TEXT = 100, 200, 400, 1_000_000, 12_000


def seen(value: Value, kernel: str) -> Seen:
    """Plain values as they are, a table as a look at its first rows, anything else as text."""
    if value.kind == "table" and value.table is not None:
        return _table(value.table, value.rows or 0)
    if value.kind in ("json", "date", "datetime"):
        if value.json is None and value.type in ("float", "float64", "numeric", "number"):
            return {"kind": "text", "text": value.text}  # not a number, or infinite
        if len(text := json.dumps(value.json, ensure_ascii=False)) > _MOST_JSON:
            return {"kind": "text", "text": text[:_MOST_TEXT], "cut": True}
        # These languages have one kind of number: 4 is a whole one there too.
        return {"kind": "json", "json": value.json, "whole": _whole(value.json) and kernel != "python"}
    return {"kind": "text", "text": value.text[:_MOST_TEXT]}


def told(name: str, kernel: str, value: Value, look: Seen) -> BlockVariable:
    if value.table is not None:
        size, digest = value.table.stat().st_size, _of_file(value.table)
        truncated = (value.rows or 0) > 5
    else:
        body = json.dumps(value.json, ensure_ascii=False) if value.kind != "opaque" else value.text
        size = len(body.encode("utf-8", "replace"))
        digest = hashlib.sha256(body.encode("utf-8", "replace")).hexdigest()
        truncated = (
            value.kind == "opaque"
            or bool(look.get("cut"))
            or (isinstance(value.json, (dict, list)) and len(body) > 2000)
        )
    return BlockVariable(name=name, kernel=kernel, type=value.type, bytes=size, truncated=truncated, sha256=digest)


def text_of(value: Value, kernel: str) -> str:
    """A value within a line of prose."""
    look = seen(value, kernel)
    if look["kind"] != "json":
        return str(look["text"])
    plain = look["json"]
    if look.get("whole") and isinstance(plain, float):
        plain = int(plain)
    return plain if isinstance(plain, str) else str(plain) if _scalar(plain) else json.dumps(plain, ensure_ascii=False)


def _scalar(value: JsonValue) -> bool:
    return value is None or isinstance(value, (bool, int, float))


def _whole(value: JsonValue) -> bool:
    return isinstance(value, float) and value.is_integer()


def _of_file(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _table(path: Path, claimed_rows: int) -> Seen:
    import pyarrow.ipc  # noqa: PLC0415 - heavy, and only needed here

    with pyarrow.memory_map(str(path)) as source:
        reader = pyarrow.ipc.open_file(source)
        schema = [reader.schema.field(number) for number in range(min(len(reader.schema), _COLUMNS))]
        columns_in_all = len(reader.schema)
        rows = 0
        head: list[dict[str, object]] = []
        for number in range(reader.num_record_batches):
            batch = reader.get_batch(number)
            if len(head) < _ROWS:
                head += batch.slice(0, _ROWS - len(head)).select(list(range(len(schema)))).to_pylist()
            rows += batch.num_rows
    rows = max(rows, claimed_rows)  # of a large table only the first rows have come here
    columns: list[JsonValue] = [{"name": field.name, "type": str(field.type)} for field in schema]
    cells: list[JsonValue] = [[_cell(row.get(field.name)) for field in schema] for row in head]
    return {
        "kind": "table",
        "rows": rows,
        "columns": columns,
        "head": cells,
        "text": _look(rows, columns_in_all, columns, cells),
    }


def _look(rows: int, columns_in_all: int, columns: list[JsonValue], cells: list[JsonValue]) -> str:
    names = [f"{column['name']} ({column['type']})" for column in columns if isinstance(column, dict)]
    lines = [f"{rows} rows x {columns_in_all} columns", " | ".join(names)]
    lines += [
        " | ".join(_short("" if cell is None else str(cell)) for cell in row)
        for row in cells[:5]
        if isinstance(row, list)
    ]
    if columns_in_all > len(columns):
        lines.append(f"... {columns_in_all - len(columns)} more columns")
    if rows > 5:
        lines.append(f"... {rows - 5} more")
    return "\n".join(lines)


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."


def _cell(value: object) -> JsonValue:
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if abs(value) < float("inf") else str(value)
    return str(value)[:_MOST_CELL]
