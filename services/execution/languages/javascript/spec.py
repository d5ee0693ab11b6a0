"""JavaScript: a separate Node.js process; tables are lists of records there."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from services.execution.languages.columns import table_from_columns
from services.execution.sandbox.language import (
    EVERYTHING,
    Analysis,
    Codec,
    Guest,
    LanguageSpec,
    Sent,
    names_by_pattern,
    path_inside,
    version_of,
)
from services.execution.sandbox.protocol.exact import Encoder
from services.execution.sandbox.protocol.wire import Json
from services.execution.sandbox.run import KernelError
from services.execution.sandbox.values import plain_cell
from shared.contracts.execute import CodeError

_MAX_ROWS = 100_000
_MAX_CELLS = 4_000_000
_INLINE_CELLS = 2_000  #: of a table that is sent within the message itself


class JavascriptCodec(Codec):
    def table(self, table: Path, target: Path) -> Sent:
        columns, rows = _columns_and_rows(table)
        if len(rows) * len(columns) <= _INLINE_CELLS:
            return Sent({"kind": "table", "columns": columns, "rows": rows})
        target.write_text(json.dumps(rows))
        return Sent({"kind": "table", "columns": columns}, target)

    def written(self, table: Path, target: Path) -> tuple[Path, Mapping[str, Json]]:
        records = [{name: plain_cell(cell) for name, cell in row.items()} for row in _read(table).to_pylist()]
        target.write_text(json.dumps(records))
        return target, {}

    def brought(self, claimed: Mapping[str, Json], content: Path, target: Path) -> Path | None:
        return target if table_from_columns(claimed.get("columns"), content, target) else None

    def column_loss(self, column: Any) -> str | None:
        import pyarrow

        types, kind = pyarrow.types, column.type
        if types.is_decimal(kind):
            return "decimals are numbers in JavaScript"
        if types.is_time(kind):
            return "times of day are text in JavaScript"
        if types.is_nested(kind):
            return "a table with lists or structures in it comes back from JavaScript as records"
        return "durations are milliseconds in JavaScript" if types.is_duration(kind) else None


def _read(table: Path) -> Any:
    """Return a validated table that is small enough for a language without tables. Raises: KernelError."""
    import pyarrow.ipc

    with pyarrow.memory_map(str(table)) as source:
        content = pyarrow.ipc.open_file(source).read_all()
    if content.num_rows > _MAX_ROWS:
        message = f"JavaScript takes tables of at most {_MAX_ROWS} rows."
        raise KernelError(CodeError(type="TooLarge", message=message))
    if content.num_rows * content.num_columns > _MAX_CELLS:
        message = f"JavaScript takes tables of at most {_MAX_CELLS} cells."
        raise KernelError(CodeError(type="TooLarge", message=message))
    return content


def _columns_and_rows(table: Path) -> tuple[list[Json], list[list[Json]]]:
    """Return the columns' names and types, and rows of exact cells."""
    content = _read(table)
    columns: list[Json] = [{"name": field.name, "type": str(field.type)} for field in content.schema]
    encoder = Encoder(items=2 * _MAX_CELLS, characters=100_000_000)
    cells = [[encoder.encode(cell) for cell in column.to_pylist()] for column in content.columns]
    return columns, [list(row) for row in zip(*cells, strict=True)]


_NODE = Path("/usr/bin/node")
_GUEST = "services.execution.languages.javascript.guest"
_SETS = re.compile(
    r"\b(?:let|const|var|function\*?|class)\s+([A-Za-z_$][\w$]*)|(?:^|[;{\n])\s*([A-Za-z_$][\w$]*)(?:[.\[][^\n=]*?)?\s*[-+*/]?=(?![=>])"
)

_WORD = re.compile(r"(?:[^\W\d]|\$)[\w$]*")
_COMPUTED = re.compile(r"\bthis\s*\[")  #: of the global object
_LEADS = {
    **dict.fromkeys(("eval", "Function", "globalThis", "global", "AsyncFunction"), EVERYTHING),
    **dict.fromkeys(("require", "import", "process", "module", "console"), "@library"),
}


def _reads(code: str) -> frozenset[str]:
    words = set(_WORD.findall(code))
    computed = {EVERYTHING} if _COMPUTED.search(code) else set()
    return frozenset(words | {lead for word, lead in _LEADS.items() if word in words} | computed)


_EXACT = "null undefined boolean number string bigint Array Object Date Map Set Uint8Array"

JAVASCRIPT = LanguageSpec(
    name="javascript",
    versions=partial(version_of, _NODE),
    install="Node.js (Debian: apt-get install nodejs)",
    guest=Guest(packages=(_GUEST,), command=(str(_NODE), path_inside(_GUEST, "kernel.js")), rests=False, threads=16),
    codec=JavascriptCodec(),
    frames="written",
    analysis=Analysis(
        names=names_by_pattern(_SETS, _reads),
        ambient=frozenset(["@builtins"]),
        parts={"@library": frozenset(["@process", "@files", "@modules"])},
        exact=frozenset(_EXACT.split()),
    ),
)
