"""Runs of the same code on altered copies of its data."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import polars as pl

from services.execution.sandbox.run import Frame
from services.execution.transform.dataset import DataRead
from services.execution.transform.origin.compare import comparable
from services.execution.transform.runner import CodeRunner
from shared.loop import BudgetSpent
from shared.reading.portable import read_portable, write_portable

_MAX_CELLS = 200_000  #: of a data set that is altered whole; of a larger one a sample of rows is
_SAMPLED_CELLS = 50_000
_MAX_SAMPLED_ROWS = 5_000
_SLOW = 2.0  #: seconds of a run, from which a sample is taken as well
_MIN_SECONDS, _TIMES_AS_LONG = 10.0, 3.0  #: that a rerun may take: at least, and of the code's own time

Tables = Mapping[str, pl.DataFrame]


class TimeIsUp(Exception):
    """The reruns may take no longer."""


@dataclass
class Reruns:
    """One code, its data as the sandbox gets them, and the time that is left."""

    runner: CodeRunner
    code: str
    seconds: float  #: that the code took on its data
    scratch: Path
    allowed: float  #: seconds for all of the reruns
    _numbers: count[int] = field(default_factory=count, init=False)
    _ends: float = field(init=False)

    def __post_init__(self) -> None:
        self._ends = time.monotonic() + self.allowed

    def without(self, name: str) -> pl.DataFrame | None:
        """Return the result without that data set; ``None`` when the code fails."""
        frames = {data.name: self.runner.frame_of(data) for data in self.runner.data if data.name != name}
        return self._run(frames)

    def on(self, tables: Tables) -> pl.DataFrame | None:
        """Return the result on these tables; ``None`` when the code fails. Raises: TimeIsUp."""
        frames, written = {}, []
        try:
            for data in self.runner.data:
                path = self.scratch / f"altered-{next(self._numbers)}"
                written.append(path)
                frames[data.name] = self._written(data, tables[data.name], path)
            return self._run(frames)
        finally:
            for path in written:
                path.unlink(missing_ok=True)

    def _written(self, data: DataRead, table: pl.DataFrame, path: Path) -> Frame:
        frame = self.runner.frame_of(data, path)
        if data.lazy:
            table.write_parquet(path)
        else:
            write_portable(table, path)
        return frame

    def _run(self, frames: Mapping[str, Frame]) -> pl.DataFrame | None:
        left = self._ends - time.monotonic()
        if left <= 0:
            raise TimeIsUp
        try:
            result = self.runner.rerun(self.code, frames, min(left, max(_MIN_SECONDS, _TIMES_AS_LONG * self.seconds)))
        except BudgetSpent as spent:
            raise TimeIsUp from spent
        return None if result is None else comparable(result)

    def whole(self) -> Tables | None:
        """Return every data set whole; ``None`` when one is larger than memory."""
        if any(data.lazy for data in self.runner.data):
            return None
        return {data.name: read_portable(data.arrow) for data in self.runner.data}

    def sampled(self) -> Tables | None:
        """Return the data sets with a sample of each large one's rows; ``None`` when all are small."""
        tables = {data.name: self._sample(data) for data in self.runner.data}
        small = all(tables[data.name].height == data.summary.height for data in self.runner.data)
        return None if small else tables

    def _sample(self, data: DataRead) -> pl.DataFrame:
        if data.lazy:
            rows = self.runner.first_rows(data, _MAX_SAMPLED_ROWS)
            return pl.DataFrame() if rows is None else rows
        frame = read_portable(data.arrow)
        cells = frame.height * max(frame.width, 1)
        if cells <= (_SAMPLED_CELLS if self.seconds > _SLOW else _MAX_CELLS):
            return frame
        rows_kept = max(min(_MAX_SAMPLED_ROWS, _SAMPLED_CELLS // max(frame.width, 1)), 50)
        return frame.gather_every(max(frame.height // rows_kept, 1))


def altered(tables: Tables, read: Mapping[str, bool], alter: Callable[[pl.DataFrame], pl.DataFrame]) -> Tables:
    """Return the tables with those that the code reads altered."""
    return {name: alter(table) if read.get(name, True) else table for name, table in tables.items()}
