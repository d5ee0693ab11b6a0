"""What a model is shown of a table: bounded, quoted as data, and with an account of the cells that it holds."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from shared.reading.columns import ColumnSummary, TypeName, profile

#: Tokens are estimated from characters; tables are denser than prose.
_CHARACTERS_PER_TOKEN = 3
#: Longer cells are cut; the rest is counted.
_MAX_CHARACTERS = 80
_MIN_STEM = 3  #: letters that the name of a column and of the table that it refers to have in common
_WORD = re.compile(r"[^\W_]+")
_DATE = re.compile(r"\d{4}-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{1,2}:\d\d")
_PLAIN_NAME = re.compile(r"\w[\w -]{0,60}")


@dataclass(frozen=True)
class Detail:
    """How much is shown; the first that fits the budget is taken."""

    rows: int
    values: int  #: listed values of a column
    characters: int  #: of a cell
    spread: bool = True
    columns: int | None = None


@dataclass(frozen=True)
class TableText:
    """The text, and which cells are in it."""

    text: str
    rows: int
    columns: tuple[str, ...]  #: whose values are shown
    values: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class TableSummary:
    """What is known of a table: enough to show it before it is loaded."""

    profiles: Sequence[ColumnSummary]
    head: Sequence[Sequence[object]]  #: the first rows
    height: int


def summary_of(frame: pl.DataFrame, types: Mapping[str, TypeName], rows: int) -> TableSummary:
    return TableSummary(profile(frame, types), list(frame.head(rows).iter_rows()), frame.height)


@dataclass(frozen=True)
class ShownTable:
    """A table to show."""

    name: str
    summary: TableSummary
    masked: frozenset[str] = frozenset()
    notes: Sequence[str] = ()
    column_notes: Mapping[str, str] = field(default_factory=dict)


def view(shown: ShownTable, rows: int, tokens: int) -> TableText:
    """Return the table within the budget of tokens; masked columns show their type only."""
    profiles = shown.summary.profiles
    most = tokens * _CHARACTERS_PER_TOKEN
    all_fit = sum(len(column.name) + len(column.type) for column in profiles) <= most
    result = None
    for detail in _details(rows, len(profiles)):
        if detail.columns is not None or all_fit:
            result = _render(shown, profiles, detail)
            if len(result.text) <= most:
                return result
    return result or _render(shown, profiles, Detail(0, 0, 24, spread=False, columns=20))


def _details(rows: int, columns: int) -> list[Detail]:
    return [
        Detail(rows, 12, 80),
        Detail(rows, 12, 40),
        Detail(min(rows, 5), 5, 40),
        Detail(min(rows, 3), 5, 24),
        Detail(min(rows, 2), 3, 24),
        Detail(min(rows, 1), 0, 24),
        Detail(0, 0, 24, spread=False),
        *(Detail(0, 0, 24, spread=False, columns=most) for most in (400, 150, 50, 20) if most < columns),
    ]


def _render(shown: ShownTable, profiles: Sequence[ColumnSummary], detail: Detail) -> TableText:
    summary, height = shown.summary, shown.summary.height
    kept = profiles if detail.columns is None else profiles[: detail.columns]
    lines = [f"{quote(shown.name)}: {height:,} rows x {len(profiles):,} columns"]
    lines += [f"note: {note}" for note in shown.notes]
    if any(column.sampled for column in kept):
        lines.append("note: values are counted, and quartiles taken, on an even sample of rows; all else is exact")
    lines.append("columns:")
    values: dict[str, int] = {}
    for column in kept:
        if column.name in shown.masked:
            lines.append(f"- {quote(column.name)}: {column.type}, values hidden")
            continue
        lines.append(_column_line(column, detail, shown.column_notes.get(column.name, "")))
        if listed := min(len(column.values), detail.values):
            values[column.name] = listed
    if len(kept) < len(profiles):
        lines.append(f"- and {len(profiles) - len(kept):,} more columns")
    visible = [column.name for column in kept if column.name not in shown.masked]
    rows = min(detail.rows, len(summary.head)) if visible else 0
    if rows:
        lines += ["first rows:" if rows < height else "rows:", quote_row([column.name for column in kept])]
        names = [column.name for column in kept]
        lines += [_row(row[: len(kept)], names, shown.masked, detail.characters) for row in summary.head[:rows]]
    return TableText("\n".join(lines), rows, tuple(visible) if rows or detail.spread else (), values)


def _row(row: Sequence[object], names: Sequence[str], masked: frozenset[str], characters: int) -> str:
    cells = ["(hidden)" if name in masked else quote(cell, characters) for name, cell in zip(names, row, strict=True)]
    return "[" + ", ".join(cells) + "]"


def _column_line(column: ColumnSummary, detail: Detail, note: str) -> str:
    parts = [f"{column.type}"]
    if column.missing:
        parts.append(f"{column.missing:,} missing")
    if detail.spread:
        about = "about " if column.sampled else ""
        if column.distinct:
            parts.append(f"{about}{column.distinct:,} distinct")
        parts += _spread(column, detail.characters)
    if listed := column.values[: detail.values]:
        counted = ", ".join(f"{quote(value, detail.characters)} x {count:,}" for value, count in listed)
        parts.append(("all values: " if len(listed) == column.distinct and not column.sampled else "most: ") + counted)
    if note:
        parts.append(note)
    return f"- {quote(column.name)}: {'; '.join(parts)}"


def _spread(column: ColumnSummary, characters: int) -> list[str]:
    spread = column.distribution
    if spread is None:
        return []
    parts = [f"from {quote(spread.least, characters)} to {quote(spread.greatest, characters)}"]
    if spread.mean is not None:
        parts.append(f"mean {spread.mean:.6g}")
    if all(isinstance(part, (int, float)) for part in spread.quartiles) and spread.quartiles:
        parts.append("quartiles " + " ".join(f"{part:.6g}" for part in spread.quartiles))
    return parts


def describe(shown: ShownTable, task: str, frame: str, types: Mapping[str, str], tokens: int) -> TableText:
    """Return one sentence about a table that code has by its name, for models that copy what they read.

    Of its values it holds those that the task speaks of, and one of a column of dates as text.

    Args:
        frame: what the code's language calls a table
        types: what it calls the types of columns
    """
    words = set(_WORD.findall(task.casefold()))
    values: dict[str, int] = {}
    listed: list[str] = []
    left = tokens * _CHARACTERS_PER_TOKEN
    for place, column in enumerate(shown.summary.profiles):
        facts = [types.get(column.type, column.type)]
        if column.missing:
            facts.append(f"{column.missing:,} missing")
        if column.type == "string" and column.name not in shown.masked:
            spelled = _spelled(column, words) or _as_text(shown.summary.head, place)
            if spelled:
                values[column.name] = len(spelled)
                facts.append(f"such as {', '.join(quote(value, 40) for value in spelled)}")
        text = f"{_name(column.name)} ({', '.join(facts)})"
        left -= len(text) + 2
        if left < 0:
            listed.append(f"and {len(shown.summary.profiles) - len(listed):,} more")
            break
        listed.append(text)
    notes = [f" {note[:1].upper()}{note[1:]}." for note in shown.notes]
    text = f"{frame} `{shown.name}` is loaded. Columns: {', '.join(listed)}.{''.join(notes)}"
    return TableText(text, 0, tuple(values), values)


def references(frames: Mapping[str, pl.DataFrame]) -> list[str]:
    """Return sentences about columns whose values are keys of another table and whose names do not say so.

    A column is one when it is named like the other table (``customer`` and ``customers``) and each of its values is in
    a column of that table in which no value occurs twice.
    """
    sentences = []
    for name, frame in frames.items():
        for other, keyed in frames.items():
            stem = other.casefold()[: max(_MIN_STEM, len(other) - 3)]
            for column in frame.columns:
                if other == name or column in keyed.columns or not column.casefold().startswith(stem):
                    continue
                values = frame[column].drop_nulls().unique()
                key = next((key for key in keyed.columns if _holds_keys(keyed[key], values)), None)
                if key is not None:
                    sentences.append(f"`{name}` has {_name(key)} of `{other}` in {_name(column)}.")
    return sentences


def _holds_keys(column: pl.Series, values: pl.Series) -> bool:
    """Return whether the values are all in a column that has each of its own once."""
    if column.dtype != values.dtype or column.dtype.is_nested() or column.dtype.is_float() or not len(values):
        return False
    return column.n_unique() == len(column) and bool(values.is_in(column.implode()).all())


def _spelled(column: ColumnSummary, words: Container[str]) -> Sequence[object]:
    """Return up to three values of which the task has a word."""
    texts = [value for value, _ in column.values if isinstance(value, str)]
    return [text for text in texts if any(word in words for word in _WORD.findall(text.casefold()))][:3]


def _as_text(head: Sequence[Sequence[object]], place: int) -> Sequence[object]:
    """Return the first value, if it is a date or a time as text."""
    first = head[0][place] if head else None
    return [first] if isinstance(first, str) and _DATE.match(first) else []


def _name(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else quote(name)


def quote(value: object, most: int = _MAX_CHARACTERS) -> str:
    """Return one cell, in the notation of JSON."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value) if abs(value) < 10**most else _quoted_text(str(value), most)
        case float():
            return _number(value)
        case list() | dict():
            return _quoted_text(json.dumps(value, ensure_ascii=False, default=str), most)
        case _:
            return _quoted_text(str(value), most)


def quote_row(values: Sequence[object]) -> str:
    return "[" + ", ".join(quote(value, _MAX_CHARACTERS) for value in values) + "]"


def quote_text(text: str, most: int) -> str:
    """Several lines of free text (an error, printed output) without anything that could end a fence."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    kept = "\n".join(_escape_marks("".join(_visible(char) for char in line.expandtabs(4))) for line in lines)
    return _cut_middle(kept, most)


def _escape_marks(line: str) -> str:
    """Escape a line of data that looks like a marker: markers around data have their own lines."""
    return f"| {line}" if line.strip().upper().startswith(("END DATA", "BEGIN DATA")) else line


def _cut_middle(text: str, most: int) -> str:
    """Head and tail of a text that is too long."""
    if len(text) <= most:
        return text
    head, tail = most * 2 // 3, most // 3
    return f"{text[:head]}\n... {len(text) - head - tail:,} characters left out ...\n{text[-tail:]}"


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)


def _quoted_text(text: str, most: int) -> str:
    rest = len(text) - most
    shown = text if rest <= 0 else text[:most]
    quoted = "".join(_visible(char) for char in json.dumps(shown, ensure_ascii=False))
    return quoted if rest <= 0 else f"{quoted}... (+{rest:,} characters)"


def _visible(char: str) -> str:
    """Backticks would close a fence; invisible characters hide instructions."""
    return char if char.isprintable() and char != "`" else _escaped(char)


def _escaped(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"
