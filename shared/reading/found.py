"""How a file was read: the options that read it so, for a caller who wants to change one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .cells import ColumnReading
from .source import Format


@dataclass(frozen=True)
class FoundReading:
    """Stated or detected options; None for those that the format does not have."""

    format: Format
    encoding: str | None = None
    delimiter: str | None = None
    header_row: int | None = None  #: from 1; 0: the file has no names
    decimal: str | None = None
    sheet: str | None = None
    sheets: Sequence[str] = ()  #: those that hold something


def decimal_of(readings: Iterable[ColumnReading]) -> str:
    """Return the sign before the decimals of a text table's numbers."""
    return "," if any(reading.note.startswith(DECIMAL_COMMA) for reading in readings) else "."


DECIMAL_COMMA = "decimal comma"
