"""What runs of proposed code came to: a table (with the types restored that a library lost), a plot or an error."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Literal

import polars as pl
from pydantic import JsonValue

from services.execution.transform.dataset import DataRead
from services.execution.transform.normal_form import normalised
from shared.contracts.transform import (
    AssertionCheck,
    CellsSent,
    Check,
    Column,
    Effect,
    Iteration,
    Probe,
    Table,
    UnverifiedReason,
)
from shared.languages import DEFAULT_LANGUAGE, TableReader
from shared.reading.columns import TypeName, type_name
from shared.reading.portable import read_portable

RunOutcome = Literal["result", "error", "not_a_table", "assertion_failed", "no_op"]
_ROWS_SHOWN, _MAX_COLUMNS_SHOWN, _MAX_SHOWN = 10, 100, 8_000  #: of an attempt: rows, columns, characters
_MAX_KEPT_BYTES = 20_000_000  #: of the table of a run that is kept for when its code comes again
_INDEX = re.compile(r"__index_level_\d+__")


@dataclass(frozen=True)
class ResultTable:
    """A table that left the sandbox."""

    frame: pl.DataFrame

    @cached_property
    def types(self) -> dict[str, TypeName]:
        return {name: type_name(dtype) for name, dtype in self.frame.schema.items()}

    def table(self, most_rows: int, file_id: str | None) -> Table:
        head = self.frame.head(most_rows)
        return Table(
            columns=[Column(name=name, type=kind) for name, kind in self.types.items()],
            rows=[[json_value(cell) for cell in row] for row in head.iter_rows()],
            row_count=self.frame.height,
            file_id=file_id,
        )

    def write_parquet(self, target: Path) -> None:
        self.frame.write_parquet(target, compression="zstd", compression_level=3)


@dataclass(frozen=True)
class Plot:
    media_type: str
    content: bytes


@dataclass(frozen=True)
class CodeRun:
    """What one run of the code came to."""

    code: str
    outcome: RunOutcome
    message: str  #: for the caller, who may see every value
    stdout: str = ""
    table: ResultTable | None = None
    plot: Plot | None = None
    effect: Effect | None = None
    checks: list[AssertionCheck] = field(default_factory=list)
    masked_view: CodeRun | None = None  #: as the model may see it, when columns are masked
    masked: tuple[str, ...] = ()  #: columns of the result that depend on masked values
    seconds: float = 0.0  #: that the code took
    result_class: str = ""  #: of what is no table, in the words of its language

    def content(self) -> pl.DataFrame:
        """Return the result as a table; of a plot it holds the digest of the picture."""
        if self.plot is not None:
            return pl.DataFrame({"plot": [hashlib.sha256(self.plot.content).hexdigest()]})
        return pl.DataFrame() if self.table is None else self.table.frame

    @property
    def visible(self) -> CodeRun:
        """What may be shown to the model."""
        return self.masked_view or self

    @property
    def good(self) -> bool:
        """A result whose assertions hold; it may still change nothing."""
        return self.outcome in ("result", "no_op")


@dataclass(frozen=True)
class Entry:
    """What a turn adds to the iterations."""

    code: str
    outcome: RunOutcome | Literal["no_code"]
    message: str
    run: CodeRun | None = None
    repaired: tuple[str, ...] = ()
    reasons: Sequence[UnverifiedReason] = ()  #: what speaks against the result

    def iteration(self, number: int, seconds: float) -> Iteration:
        """Return the attempt with its outcome, as the caller may see it."""
        return Iteration(
            number=number,
            code=self.code,
            outcome=self.outcome,
            message=self.message,
            seconds=seconds,
            effect=self.run.effect if self.run else None,
            table=_shown(self.run.table) if self.run and self.run.table else None,
            assertions=self.run.checks if self.run else [],
            repaired=list(self.repaired),
            unverified_because=list(self.reasons),
        )


def _shown(table: ResultTable) -> Table | None:
    """Return the first rows, unless they are long: there may be a hundred attempts."""
    if len(table.types) > _MAX_COLUMNS_SHOWN:
        return None
    shown = table.table(_ROWS_SHOWN, None)
    return shown if len(shown.model_dump_json()) <= _MAX_SHOWN else None


@dataclass
class RunHistory:
    language: str = DEFAULT_LANGUAGE  #: of the code
    iterations: list[Iteration] = field(default_factory=list)
    probes: list[Probe] = field(default_factory=list)
    audit: list[CellsSent] = field(default_factory=list)
    best: CodeRun | None = None  #: the last good result; one that changes something beats one that does not
    latest: CodeRun | None = None
    doubted: bool = False  #: something speaks against the best result: another one may take its place
    explanation: str = ""  #: the model's text around the best code
    failures: int = 0  #: consecutive runs without a good result
    nudges: int = 0
    prose: int = 0  #: consecutive replies without code
    judged: tuple[CodeRun, list[Check]] | None = None  #: their outcome with the latest good result
    _runs: dict[str, CodeRun] = field(default_factory=dict, init=False)  #: by their code, normalised

    def earlier(self, code: str) -> CodeRun | None:
        """Return what this code came to before, in whatever layout it was written then."""
        return self._runs.get(normalised(code, self.language))

    def add(self, run: CodeRun, explanation: str) -> None:
        """Count the run and keep it when it is the best so far."""
        self.latest = run
        self._remember(run)
        self.prose = 0
        self.failures = 0 if run.good else self.failures + 1
        if run.outcome == "no_op":
            self.nudges += 1
        if run.good and (run.outcome == "result" or self.best is None or self.best.outcome == "no_op" or self.doubted):
            self.best, self.explanation, self.doubted = run, explanation, False

    def _remember(self, run: CodeRun) -> None:
        """Keep the run for when the same code comes again; large tables are computed again."""
        large = run.table is not None and run.table.frame.estimated_size() > _MAX_KEPT_BYTES
        if not large and run.plot is None:
            self._runs[normalised(run.code, self.language)] = run

    @property
    def checks(self) -> list[Check]:
        """All that was checked of the best result."""
        if self.best is None:
            return []
        asserted = [Check(text=each.text, held=each.holds, from_="caller") for each in self.best.checks]
        stated = self.judged[1] if self.judged is not None and self.judged[0] is self.best else []
        return [*asserted, *stated]

    def repeats_best(self, code: str) -> bool:
        return self.best is not None and normalised(code, self.language) == normalised(self.best.code, self.language)


def read_result(arrow: Path, inputs: Sequence[DataRead], reader: TableReader) -> ResultTable:
    """Return the result with its types restored: whole numbers and dates that became floats and timestamps."""
    frame = read_portable(arrow)
    input_types: dict[str, TypeName] = {}
    for data in reversed(inputs):
        input_types.update(data.types)
    columns = []
    for column in frame.iter_columns():
        if _INDEX.fullmatch(column.name):
            continue  # an index without a name holds row labels, not data
        columns.append(_restored(column, input_types.get(column.name), restores=not reader.dates))
    return ResultTable(pl.DataFrame(columns))


def _restored(column: pl.Series, input_type: TypeName | None, *, restores: bool) -> pl.Series:
    dtype = column.dtype
    if isinstance(dtype, pl.Null):
        return column.cast(pl.String)
    if dtype == pl.Int128 or (isinstance(dtype, pl.Decimal) and dtype.scale == 0):
        return _narrowed(column)  # DuckDB sums whole numbers in 128 bits
    if restores and input_type == "int" and dtype == pl.Float64:
        return _whole(column)
    if restores and input_type == "date" and isinstance(dtype, pl.Datetime) and dtype.time_zone is None:
        days = column.dt.date()
        return days if (days.cast(dtype) == column).all() else column
    return column


def _narrowed(column: pl.Series) -> pl.Series:
    narrow = column.cast(pl.Int64, strict=False)
    return narrow if narrow.null_count() == column.null_count() else column


def _whole(column: pl.Series) -> pl.Series:
    """Whole numbers that became floats because some are missing."""
    present = column.fill_nan(None)
    whole = present.cast(pl.Int64, strict=False)
    return whole if whole.null_count() == present.null_count() and (whole == present).all() else column


def json_value(value: object) -> JsonValue:  # noqa: PLR0911 - one answer for each kind of cell
    """Return a cell for JSON: NaN is missing, infinities, exact and temporal values are text."""
    match value:
        case None | bool() | str() | int():
            return value
        case float():
            return value if math.isfinite(value) else None if math.isnan(value) else f"{'-' * (value < 0)}Infinity"
        case Decimal() | timedelta():
            return str(value)
        case datetime() | date() | time():
            return value.isoformat()
        case bytes():
            return value.decode(errors="backslashreplace")
        case Mapping():
            return {str(key): json_value(inner) for key, inner in value.items()}
        case pl.Series() | list() | tuple():
            return [json_value(inner) for inner in value]
        case _:
            return str(value)
