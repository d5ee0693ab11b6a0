"""Exact values of kernels on this side: their plain JSON, and their changes in another language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from pydantic import JsonValue

from services.execution.sandbox.protocol.wire import Json

TAG = "$"
_NAMES: Mapping[str, str] = {
    "int": "large whole number",
    "float": "number that is not finite",
    "missing": "missing value",
    "map": "map with keys that are not texts",
    "array": "array",
    "series": "series",
    "duration": "duration",
    "bytes": "byte string",
}
_MOST = 3


def tag_of(exact: object) -> str | None:
    return str(exact[TAG]) if isinstance(exact, Mapping) and TAG in exact else None


def plain(exact: JsonValue) -> JsonValue:  # noqa: PLR0911 - one for each form
    """Return the value as text, numbers, lists and objects: for summaries, conditions and answers."""
    if isinstance(exact, list):
        return [plain(part) for part in exact]
    if not isinstance(exact, dict):
        return exact
    kind = tag_of(exact)
    if kind is None:
        return {name: plain(part) for name, part in exact.items()}
    value = exact.get("v")
    if kind in ("missing", "undefined", "float"):
        return None
    if kind == "int":
        return int(str(value)) if len(str(value)) < 4000 else str(value)
    if kind == "map" and isinstance(value, list):
        return {str(plain(pair[0])): plain(pair[1]) for pair in value if isinstance(pair, list) and len(pair) == 2}
    if kind == "factor" and isinstance(value, list):
        levels = plain(exact.get("levels"))
        names = levels if isinstance(levels, list) else []
        return [names[code] if isinstance(code, int) and 0 <= code < len(names) else None for code in value]
    return plain(value)


def text_of(exact: JsonValue) -> str | None:
    """Return the literal text of a value that JSON cannot hold."""
    return str(exact.get("v")) if isinstance(exact, dict) and tag_of(exact) == "float" else None


def changes(sent: JsonValue, there: JsonValue, language: str) -> list[str]:
    """Return a value's changes in another language, as sentences; equal numbers are equal."""
    differences: list[str] = []
    _compare(sent, there, "", language, differences)
    return differences[:_MOST]


def _compare(sent: JsonValue, there: JsonValue, path: str, language: str, differences: list[str]) -> None:
    if len(differences) >= _MOST or sent == there or _number(sent) == _number(there) is not None:
        return
    if isinstance(sent, list) and isinstance(there, list) and len(sent) == len(there):
        for number, (one, other) in enumerate(zip(sent, there, strict=True)):
            _compare(one, other, f"{path}[{number}]", language, differences)
    elif isinstance(sent, dict) and isinstance(there, dict) and not (tag_of(sent) or tag_of(there)):
        for name in sent.keys() | there.keys():
            if name not in sent or name not in there:
                differences.append(f"{path}.{name} {'came up' if name in there else 'is not there'} in {language}")
                return
            _compare(sent[name], there[name], f"{path}.{name}", language, differences)
    elif tag_of(sent) == tag_of(there) == "array" and plain(sent) == plain(there):
        return  # of another width
    else:
        if tag_of(sent) == tag_of(there) == "datetime" and _moment(sent) == _moment(there):
            became = "has another zone"
        else:
            became = "is not the same" if kind_of(sent) == kind_of(there) else f"is {_a(there)}"
        differences.append(f"{f'{path}, ' if path else ''}{_a(sent)}, {became} in {language}")


def _number(exact: JsonValue) -> JsonValue:
    """Return the number, however it is written; ``None`` for anything else."""
    if isinstance(exact, dict) and tag_of(exact) == "float" and exact.get("v") == "-0.0":
        return 0.0
    if isinstance(exact, dict) and tag_of(exact) == "int":
        return plain(exact)
    return exact if isinstance(exact, (int, float)) and not isinstance(exact, bool) else None


def _a(exact: JsonValue) -> str:
    kind = kind_of(exact)
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def _moment(exact: JsonValue) -> object:
    text = str(exact.get("v")) if isinstance(exact, dict) else ""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    return text if moment.tzinfo is None else moment.astimezone(UTC)


def kind_of(exact: JsonValue) -> str:
    kind = tag_of(exact)
    if kind is not None:
        return _NAMES.get(kind, kind)
    if exact is None:
        return "null"
    if isinstance(exact, bool):
        return "truth value"
    if isinstance(exact, (int, float)):
        return "number"
    if isinstance(exact, str):
        return "text"
    return "list" if isinstance(exact, Sequence) else "object"


def rows_of(table: Path, most: int) -> list[dict[str, Json]]:
    """Return the first rows as objects of plain cells."""
    import pyarrow.ipc  # noqa: PLC0415

    with pyarrow.memory_map(str(table)) as source:
        content = pyarrow.ipc.open_file(source).read_all().slice(0, most)
        return [{name: plain_cell(cell) for name, cell in row.items()} for row in content.to_pylist()]


def plain_cell(cell: object) -> Json:
    """Return a table cell as JSON; as text where JSON has no form for it."""
    if cell is None or isinstance(cell, (bool, int, str)):
        return cell
    if isinstance(cell, float):
        return cell if cell == cell and abs(cell) != float("inf") else None  # noqa: PLR0124 - NaN
    if isinstance(cell, list):
        return [plain_cell(part) for part in cell]
    if isinstance(cell, dict):
        return {str(key): plain_cell(part) for key, part in cell.items()}
    isoformat = getattr(cell, "isoformat", None)
    return str(isoformat()) if isoformat is not None else str(cell)
