"""Whether the caller's assertions hold of a result."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence

import polars as pl

from services.execution.transform.effect import same_sum, total
from shared.contracts.transform import AssertionCheck
from shared.declarations.assertions import (
    Assertion,
    ColumnsContain,
    NoNulls,
    Operator,
    RowCount,
    RowsUnchanged,
    SumUnchanged,
    Unique,
    parse_assertion,
)

_COMPARE: Mapping[Operator, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def check(assertions: Sequence[str], before: pl.DataFrame, after: pl.DataFrame) -> list[AssertionCheck]:
    """Each assertion with its verdict; ``detail`` holds no cell."""
    checked = []
    for text in assertions:
        holds, detail = _holds(parse_assertion(text), before, after)
        checked.append(AssertionCheck(text=text, holds=holds, detail=detail))
    return checked


def _holds(  # noqa: PLR0911 - one answer for each form
    assertion: Assertion, before: pl.DataFrame, after: pl.DataFrame
) -> tuple[bool, str]:
    match assertion:
        case RowCount(compare, count):
            return _COMPARE[compare](after.height, count), f"the result has {after.height} rows"
        case RowsUnchanged():
            return before.height == after.height, f"rows went from {before.height} to {after.height}"
        case ColumnsContain(names):
            absent = [name for name in names if name not in after.columns]
            return not absent, f"missing: {', '.join(absent)}" if absent else "all there"
        case Unique(names) | NoNulls(names) if absent := [name for name in names if name not in after.columns]:
            return False, f"the result has no column {', '.join(absent)}"
        case Unique(names):
            repeated = after.height - (after.select(names).n_unique() if after.height else 0)
            return repeated == 0, f"{repeated} rows repeat an earlier one" if repeated else "unique"
        case NoNulls(names):
            missing = {name: after[name].null_count() + _nans(after[name]) for name in names}
            counts = ", ".join(f"{name} has {count} missing" for name, count in missing.items() if count)
            return not counts, counts or "none missing"
        case SumUnchanged(name):
            return _sum_unchanged(name, before, after)


def _nans(series: pl.Series) -> int:
    return int(series.is_nan().sum()) if series.dtype.is_float() else 0


def _sum_unchanged(name: str, before: pl.DataFrame, after: pl.DataFrame) -> tuple[bool, str]:
    for frame, where in ((before, "input"), (after, "result")):
        if name not in frame.columns:
            return False, f"the {where} has no column {name}"
        if not frame.schema[name].is_numeric():
            return False, f"{name} holds no numbers in the {where}"
    if same_sum(before[name], after[name]):
        return True, "unchanged"
    one, two = total(before[name]), total(after[name])
    return False, f"the sum went from {one} to {two}"
