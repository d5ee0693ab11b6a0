"""What a kernel claims of its values, bounded and checked: a claim may be anything that the code likes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, cast

from pydantic import JsonValue

from services.execution.sandbox.host.streams import escaped
from services.execution.sandbox.protocol.wire import Json
from services.execution.sandbox.run import Digest, KernelError, Look, Value
from shared.contracts.execute import CodeError

_KINDS = ("json", "table", "opaque")
_LOOKS = ("json", "table", "figure", "opaque")
_TEXT = 12_000
_KEPT = 40_000  #: characters of a part that can be restored


def outward(typed: Mapping[str, Json], content: Path | None, check: Callable[[Path], bool]) -> Value:
    """Return a kernel's claim about a value, checked. Raises: KernelError for an inconsistent table."""
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
    """Return a kernel's summary of a value, bounded."""
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


def digested(claimed: Json) -> Digest:
    """Return a kernel's claim about what a name holds, bounded."""
    if not isinstance(claimed, dict):
        return Digest(None, why="its kernel does not know it")
    refs, keep = claimed.get("refs"), claimed.get("keep")
    return Digest(
        value=_bounded(claimed["value"], 64) if isinstance(claimed.get("value"), str) else None,
        shared=_bounded(claimed["shared"], 64) if isinstance(claimed.get("shared"), str) else None,
        refs=tuple(sorted(_bounded(ref, 400) for ref in refs)) if isinstance(refs, list) else (),
        why=_bounded(claimed["why"], 200) if isinstance(claimed.get("why"), str) else None,
        keep=keep if isinstance(keep, str) and len(keep) <= _KEPT else None,
        bound=_bounded(claimed.get("bound"), 20),
    )


def _bounded(claimed: Json, most: int) -> str:
    return escaped(str("" if claimed is None else claimed))[:most]


def _count(claimed: Json) -> int:
    return max(0, int(claimed)) if isinstance(claimed, (int, float)) and claimed - claimed == 0 else 0


def _cell(claimed: Json) -> JsonValue:
    if claimed is None or isinstance(claimed, (bool, int, float)):
        return claimed
    return escaped(str(claimed))[:400]
