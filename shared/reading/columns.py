"""What a column holds, measured for people and models: missing, distinct, spread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import polars as pl

TypeName = Literal["int", "float", "decimal", "bool", "string", "date", "datetime", "duration", "list", "struct"]

#: A column with at most this number of distinct values is shown with all of them.
LOW_CARDINALITY = 12
_TOP = 5
#: Longer columns are counted on an even sample; missing, least, greatest and mean are always exact.
_SAMPLE_ROWS = 10_000


def type_name(dtype: pl.DataType) -> TypeName:
    """Everything that is none of the others (text, categories, bytes, times of day) is a string."""
    if dtype.is_integer():
        return "int"
    if dtype.is_float():
        return "float"
    if dtype.is_decimal():
        return "decimal"
    by_class: dict[type[pl.DataType], TypeName] = {
        pl.Boolean: "bool",
        pl.Date: "date",
        pl.Datetime: "datetime",
        pl.Duration: "duration",
        pl.List: "list",
        pl.Array: "list",
        pl.Struct: "struct",
    }
    return by_class.get(type(dtype), "string")


@dataclass(frozen=True)
class Distribution:
    least: object
    greatest: object
    quartiles: tuple[object, ...] = ()  #: numbers only: 25 %, 50 %, 75 %
    mean: float | None = None


@dataclass(frozen=True)
class ColumnSummary:
    name: str
    type: TypeName
    missing: int
    distinct: int
    sampled: bool  #: ``distinct`` and ``values`` come from a sample
    values: tuple[tuple[object, int], ...]  #: value, count: all of them or the most frequent
    distribution: Distribution | None

    @property
    def complete(self) -> bool:
        """Whether ``values`` are all there are."""
        return len(self.values) == self.distinct and not self.sampled


def profile(frame: pl.DataFrame, types: Mapping[str, TypeName] | None = None) -> list[ColumnSummary]:
    """Summarise every column of the frame; NaN counts as missing."""
    # Column by column: a selection of some copies all, if they are in pieces of different sizes.
    with_nan = [column.name for column in frame.iter_columns() if column.dtype.is_float() and column.is_nan().any()]
    frame = frame.with_columns(pl.col(with_nan).fill_nan(None)) if with_nan else frame
    step = frame.height // _SAMPLE_ROWS
    sample = every(step, frame) if step > 1 else frame
    exact = _exact(frame)
    known = types or {}
    return [
        _column(
            column,
            known.get(column.name) or type_name(column.dtype),
            {key: exact.get(f"{key}:{column.name}") for key in ("missing", "least", "greatest", "mean")},
            sampled=step > 1,
        )
        for column in sample.iter_columns()
    ]


def every(step: int, frame: pl.DataFrame) -> pl.DataFrame:
    """Return each ``step``-th row."""
    return pl.DataFrame([column.gather_every(step) for column in frame.iter_columns()])


def _exact(frame: pl.DataFrame) -> Mapping[str, object]:
    wanted: list[pl.Expr] = []
    for name, dtype in frame.schema.items():
        column = pl.col(name)
        wanted.append(column.null_count().alias(f"missing:{name}"))
        if dtype.is_numeric() or dtype.is_temporal():
            wanted += [column.min().alias(f"least:{name}"), column.max().alias(f"greatest:{name}")]
        if dtype.is_numeric():
            wanted.append(column.mean().alias(f"mean:{name}"))
    return frame.select(wanted).row(0, named=True) if wanted else {}


def _column(column: pl.Series, kind: TypeName, exact: Mapping[str, object], sampled: bool) -> ColumnSummary:
    missing = exact["missing"]
    present = column.drop_nulls()
    distinct, values = (0, ()) if kind in ("list", "struct") else _values(present)
    distribution = None
    if exact["least"] is not None:
        quartiles = tuple(present.quantile(q) for q in (0.25, 0.5, 0.75)) if column.dtype.is_numeric() else ()
        mean = exact["mean"]
        distribution = Distribution(
            exact["least"], exact["greatest"], quartiles, mean if isinstance(mean, float) else None
        )
    return ColumnSummary(
        name=column.name,
        type=kind,
        missing=missing if isinstance(missing, int) else 0,
        distinct=distinct,
        sampled=sampled,
        values=values,
        distribution=distribution,
    )


def _values(present: pl.Series) -> tuple[int, tuple[tuple[object, int], ...]]:
    if not present.len():
        return 0, ()
    counts = present.alias("value").value_counts(name="count")
    distinct = counts.height
    most = LOW_CARDINALITY if distinct <= LOW_CARDINALITY else _TOP
    if distinct > LOW_CARDINALITY:
        counts = counts.filter(pl.col("count") > 1)
    shown = counts.sort(["count", "value"], descending=[True, False]).head(most)
    return distinct, tuple(shown.iter_rows())
