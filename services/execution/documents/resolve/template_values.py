"""The form of a value in a template: a table's first rows, the text of an opaque value, a figure's name."""

from __future__ import annotations

import json
from typing import Any

from jinja2.exceptions import SecurityError

OUTPUT, IMAGES = 200_000, 8
_JSON = 2_000


class TableLook:
    """A look at a table."""

    def __init__(self, seen: dict[str, Any]) -> None:
        self.columns = [column["name"] for column in seen["columns"]]
        self.shape = (seen["rows"], seen["width"])
        self.types = [column["type"] for column in seen["columns"]]
        self.head = seen["head"]
        self.text = seen["text"]

    def __len__(self) -> int:
        return int(self.shape[0])

    def __str__(self) -> str:
        return str(self.text)

    def __iter__(self) -> Any:
        return iter([dict(zip(self.columns, row, strict=False)) for row in self.head])


class Other:
    """A value that has no plain form: its own text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text


class Figure(Other):
    """A picture that is sent with the message; the text holds its name."""

    def __init__(self, name: str, text: str, wanted: list[str]) -> None:
        super().__init__(text)
        self.name = name
        self.wanted = wanted

    def __str__(self) -> str:
        if self.name not in self.wanted:
            if len(self.wanted) == IMAGES:
                raise SecurityError(f"it shows more than {IMAGES} figures")
            self.wanted.append(self.name)
        return f"[figure {self.name}]"


def value_of(name: str, seen: dict[str, Any], figures: list[str]) -> Any:
    if seen["kind"] == "table":
        return TableLook(seen)
    if seen["kind"] == "figure":
        return Figure(name, seen["text"], figures)
    return Other(seen["text"]) if seen["kind"] == "text" else seen["json"]


def plain_value(value: Any) -> Any:
    if isinstance(value, TableLook):
        return [dict(zip(value.columns, row, strict=False)) for row in value.head]
    return str(value) if isinstance(value, Other) else value


def finite(value: Any) -> Any:
    """JSON has no other numbers."""
    if isinstance(value, dict):
        return {name: finite(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(inner) for inner in value]
    return value if not isinstance(value, float) or value - value == 0 else None


def as_json(value: Any, most: int = 100_000) -> str:
    try:
        text = json.dumps(plain_value(value), ensure_ascii=False, allow_nan=False)
    except ValueError:
        text = json.dumps(finite(plain_value(value)), ensure_ascii=False)
    text = cut(text, most)
    missing = len(value) - len(value.head) if isinstance(value, TableLook) else 0
    return f"{text} ... {missing} more rows" if missing > 0 else text


def cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]} ... {len(text) - 2 * half} more characters ... {text[-half:]}"


def head(value: Any, count: int = 5) -> Any:
    count = max(0, min(int(count), 1000))
    if isinstance(value, (str, list, tuple)):
        return value[:count]
    if isinstance(value, dict):
        return dict(list(value.items())[:count])
    return rows_of(value, count) if isinstance(value, TableLook) else value


def rows_of(table: TableLook, count: int) -> str:
    rows = (" | ".join(cell_of(cell) for cell in row) for row in table.head[:count])
    return "\n".join([" | ".join(cell_of(name) for name in table.columns), *rows])


def cell_of(value: Any) -> str:
    text = "" if value is None else " ".join(str(value).split())
    return text if len(text) <= 40 else f"{text[:37]}..."


def schema(value: Any) -> str:
    if isinstance(value, TableLook):
        return ", ".join(f"{name}: {kind}" for name, kind in zip(value.columns, value.types, strict=True))
    if isinstance(value, dict):
        return ", ".join(f"{key}: {type(inner).__name__}" for key, inner in value.items())
    return type(value).__name__


def full(value: Any) -> str:
    if not isinstance(value, TableLook):
        return text_of(value, OUTPUT)
    missing = len(value) - len(value.head)
    return rows_of(value, len(value.head)) + (f"\n... {missing} more" if missing > 0 else "")


def image(value: Any) -> str:
    if not isinstance(value, Figure):
        raise SecurityError("only a figure is an image")
    return str(value)


def text_of(value: Any, most: int = _JSON) -> str:
    if isinstance(value, (dict, list, tuple)):
        return as_json(value, most)
    if isinstance(value, (str, int, float, TableLook, Other)) or value is None:
        return str(value)
    if type(value).__module__.startswith("markupsafe"):
        return str(value)
    raise SecurityError(f"a {type(value).__name__} cannot be part of a message")
