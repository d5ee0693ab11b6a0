"""A data set that has been read: what is known of its columns now, and its table once it is loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import polars as pl

from services.execution.transform.preview import ShownTable, TableSummary, summary_of
from shared.contracts.transform import Column, InputSeen
from shared.reading.columns import TypeName
from shared.reading.names import warnings_of
from shared.reading.portable import read_portable


@dataclass(frozen=True)
class LoadedTable:
    """The table on disk, as the code's language sees it, and the hash of the file that it was read from."""

    arrow: Path
    sha256: str
    lazy: bool = False  #: it is the Parquet file itself, larger than memory: nothing but code in the sandbox reads it


@dataclass(frozen=True)
class DataRead:
    """One named input."""

    name: str
    loaded: Callable[[], LoadedTable]  #: waits until the table is loaded. Raises: InvalidData
    types: Mapping[str, TypeName]  #: as the file means them; pandas has timestamps where the file has dates
    summary: TableSummary
    notes: tuple[str, ...] = ()
    column_notes: Mapping[str, str] = field(default_factory=dict)
    file_id: str | None = None
    masked: frozenset[str] = field(default_factory=frozenset)  #: columns whose values no model may see
    lazy: bool = False  #: larger than memory: it has no ``frame``

    @property
    def arrow(self) -> Path:
        return self.loaded().arrow

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The table with the types of the file."""
        return self._with_types(read_portable(self.arrow))

    def _with_types(self, frame: pl.DataFrame) -> pl.DataFrame:
        schema = frame.schema
        dates = [name for name, kind in self.types.items() if kind == "date" and schema[name] != pl.Date]
        return frame.with_columns(pl.col(dates).cast(pl.Date)) if dates else frame

    def replaced(self, arrow: Path, rows: int, masked: frozenset[str]) -> DataRead:
        """Return the same data set with another table."""
        arrived = LoadedTable(arrow, "")
        frame = self._with_types(read_portable(arrow))
        summary = summary_of(frame, self.types, rows)
        return DataRead(
            self.name, lambda: arrived, self.types, summary, self.notes, self.column_notes, self.file_id, masked
        )

    @property
    def warnings(self) -> list[str]:
        """Notes that are warnings of the job."""
        return warnings_of(self.notes)

    def shown(self) -> ShownTable:
        return ShownTable(self.name, self.summary, self.masked, self.notes, self.column_notes)

    def columns(self) -> list[Column]:
        return [Column(name=name, type=kind) for name, kind in self.types.items()]

    def seen(self) -> InputSeen:
        return InputSeen(
            name=self.name,
            columns=self.columns(),
            row_count=self.summary.height,
            sha256=self.loaded().sha256,
            file_id=self.file_id,
            notes=[*self.notes, *(f"{column}: {note}" for column, note in self.column_notes.items())],
        )
