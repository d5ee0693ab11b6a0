"""A data set that has been read: its table on disk, and what is known of its columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import polars as pl

from services.execution.transform.reading.names import TypeName
from shared.contracts.transform import Column, InputSeen


@dataclass(frozen=True)
class DataRead:
    """One named input."""

    name: str
    arrow: Path  #: as the code's language sees it
    types: Mapping[str, TypeName]  #: as they are meant; pandas has moments where dates are meant
    notes: tuple[str, ...]
    column_notes: Mapping[str, str]
    sha256: str
    file_id: str | None = None
    masked: frozenset[str] = field(default_factory=frozenset)  #: columns whose values no model may see

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The table with the types as they are meant."""
        frame = pl.read_ipc(self.arrow)
        dates = [name for name, kind in self.types.items() if kind == "date" and frame.schema[name] != pl.Date]
        return frame.with_columns(pl.col(dates).cast(pl.Date)) if dates else frame

    def seen(self) -> InputSeen:
        columns = [Column(name=name, type=kind) for name, kind in self.types.items()]
        return InputSeen(
            name=self.name,
            columns=columns,
            row_count=self.frame.height,
            sha256=self.sha256,
            file_id=self.file_id,
        )
