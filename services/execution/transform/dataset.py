"""A data set that has been read: what is known of its columns at once, and its table as soon as it is there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import polars as pl

from services.execution.transform.preview import Picture, Shown, picture_of
from services.execution.transform.reading.names import TypeName
from services.execution.transform.reading.portable import read_portable
from shared.contracts.transform import Column, InputSeen


@dataclass(frozen=True)
class Arrived:
    """The table on disk, as the code's language sees it, and the hash of the file that it was read from."""

    arrow: Path
    sha256: str


@dataclass(frozen=True)
class DataRead:
    """One named input."""

    name: str
    arrival: Callable[[], Arrived]  #: waits for the table. Raises: InvalidData
    types: Mapping[str, TypeName]  #: as they are meant; pandas has moments where dates are meant
    picture: Picture
    notes: tuple[str, ...] = ()
    column_notes: Mapping[str, str] = field(default_factory=dict)
    file_id: str | None = None
    masked: frozenset[str] = field(default_factory=frozenset)  #: columns whose values no model may see

    @property
    def arrow(self) -> Path:
        return self.arrival().arrow

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The table with the types as they are meant."""
        return self.meant(read_portable(self.arrow))

    def meant(self, frame: pl.DataFrame) -> pl.DataFrame:
        schema = frame.schema
        dates = [name for name, kind in self.types.items() if kind == "date" and schema[name] != pl.Date]
        return frame.with_columns(pl.col(dates).cast(pl.Date)) if dates else frame

    def replaced(self, arrow: Path, rows: int, masked: frozenset[str]) -> DataRead:
        """The same data set with another table."""
        arrived = Arrived(arrow, "")
        frame = self.meant(read_portable(arrow))
        picture = picture_of(frame, self.types, rows)
        return DataRead(
            self.name, lambda: arrived, self.types, picture, self.notes, self.column_notes, self.file_id, masked
        )

    def shown(self) -> Shown:
        return Shown(self.name, self.picture, self.masked, self.notes, self.column_notes)

    def columns(self) -> list[Column]:
        return [Column(name=name, type=kind) for name, kind in self.types.items()]

    def seen(self) -> InputSeen:
        return InputSeen(
            name=self.name,
            columns=self.columns(),
            row_count=self.picture.height,
            sha256=self.arrival().sha256,
            file_id=self.file_id,
        )
