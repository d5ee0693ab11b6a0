"""Whether assertions hold of a result."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import polars as pl
from polars.exceptions import PolarsError

from services.execution.transform.effect import same_sum, total
from shared.amounts import amount
from shared.contracts.transform import AssertionCheck
from shared.declarations.assertions import (
    Assertion,
    ColumnsAre,
    ColumnsContain,
    EachRow,
    Matches,
    NoNulls,
    References,
    RowCount,
    RowsAgainstInput,
    RowsUnchanged,
    Sorted,
    SumAgainstInput,
    SumUnchanged,
    Tolerance,
    TypeIs,
    Unique,
    parse_assertion,
)
from shared.declarations.scan import Condition, Operator
from shared.reading.columns import type_name

_COMPARE: Mapping[Operator, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def check(
    assertions: Sequence[str],
    before: pl.DataFrame,
    after: pl.DataFrame,
    inputs: Mapping[str, pl.DataFrame] = MappingProxyType({}),
) -> list[AssertionCheck]:
    """Return each assertion with its verdict; ``detail`` holds no cell. ``before`` is the first of the named inputs."""
    checked = []
    for text in assertions:
        holds, detail = holds_of(parse_assertion(text), before, after, inputs)
        checked.append(AssertionCheck(text=text, holds=holds, detail=detail))
    return checked


def speaks_of_input(assertion: Assertion) -> bool:
    """Return whether the check needs the data in addition to the result."""
    against = (RowsUnchanged, RowsAgainstInput, SumUnchanged, SumAgainstInput, References)
    return isinstance(assertion, against)


def holds_of(  # noqa: PLR0911 - one answer for each form
    assertion: Assertion,
    before: pl.DataFrame,
    after: pl.DataFrame,
    inputs: Mapping[str, pl.DataFrame] = MappingProxyType({}),
) -> tuple[bool, str]:
    """Return whether it holds, and what is the case instead, without any cell."""
    match assertion:
        case RowCount(compare, count):
            return _COMPARE[compare](after.height, count), f"the result has {amount(after.height, 'row')}"
        case RowsUnchanged():
            return before.height == after.height, f"rows went from {before.height} to {after.height}"
        case RowsAgainstInput():
            return _rows_against_input(assertion, before, after)
        case SumUnchanged(name):
            return _same_sums(before, name, after, name)
        case References(name, data, column):
            return _refers(after, name, inputs, data, column)
        case SumAgainstInput(name, None, conditions):
            return _sum_of_rows(name, conditions, before, after)
        case SumAgainstInput(name, other, _, within):
            return _same_sums(before, other or name, after, name, within)
        case _:
            return _holds_of_columns(assertion, after)


def _holds_of_columns(  # noqa: PLR0911 - one answer for each form
    assertion: Assertion, after: pl.DataFrame
) -> tuple[bool, str]:
    """Check assertions that concern the result's columns alone."""
    if absent := [name for name in _named(assertion) if name not in after.columns]:
        many = isinstance(assertion, ColumnsContain)
        return False, f"missing: {', '.join(absent)}" if many else f"the result has no column {', '.join(absent)}"
    match assertion:
        case ColumnsAre(names):
            return list(names) == after.columns, f"the columns are {', '.join(after.columns[:50])}"
        case Unique(names):
            repeated = after.height - (after.select(names).n_unique() if after.height else 0)
            return (
                repeated == 0,
                f"{amount(repeated, 'row')} repeat{'s' * (repeated == 1)} an earlier one" if repeated else "unique",
            )
        case NoNulls(names):
            missing = {name: after[name].null_count() + _nans(after[name]) for name in names}
            counts = ", ".join(f"{name} has {count} missing" for name, count in missing.items() if count)
            return not counts, counts or "none missing"
        case TypeIs(name, wanted):
            kind = type_name(after.schema[name])
            return kind == wanted, f"{name} is {kind}"
        case Sorted(keys):
            return _sorted_by(keys, after)
        case EachRow(conditions):
            return _of_every_row([~_condition(each) for each in conditions], after)
        case Matches(name, pattern):
            return _of_every_row([~pl.col(name).cast(pl.String).str.contains(f"^(?:{pattern})$")], after)
        case _:
            return True, "all there"


def _named(assertion: Assertion) -> Sequence[str]:
    match assertion:
        case ColumnsContain(names) | ColumnsAre(names) | Unique(names) | NoNulls(names):
            return names
        case TypeIs(name, _) | Matches(name, _):
            return [name]
        case EachRow(conditions):
            return list(dict.fromkeys(each.name for each in conditions))
        case Sorted(keys):
            return [name for name, _ in keys]
        case _:
            return []


def _of_every_row(fails: Sequence[pl.Expr], after: pl.DataFrame) -> tuple[bool, str]:
    """``fails`` is missing, and so does not count, where a value is missing."""
    try:
        bad = after.filter(pl.any_horizontal(*fails)).height
    except PolarsError:
        return False, "it compares values of different types, or its pattern cannot be used"
    return bad == 0, f"otherwise in {bad:,} of {amount(after.height, 'row')}" if bad else "every row"


def _refers(
    after: pl.DataFrame, name: str, inputs: Mapping[str, pl.DataFrame], data: str, column: str
) -> tuple[bool, str]:
    if name not in after.columns:
        return False, f"the result has no column {name}"
    if data not in inputs or column not in inputs[data].columns:
        return False, f"there is no data set {data} with a column {column}"
    values, known = after[name].drop_nulls(), inputs[data][column].drop_nulls().unique()
    if values.dtype != known.dtype and not (values.dtype.is_numeric() and known.dtype.is_numeric()):
        return False, f"{name} and {data}.{column} are of different types"
    alone = values.len() - int(values.is_in(known.implode()).sum())
    return alone == 0, f"not in {data}.{column}: {alone:,} of {amount(values.len(), 'value')}" if alone else "all there"


def _rows_against_input(wanted: RowsAgainstInput, before: pl.DataFrame, after: pl.DataFrame) -> tuple[bool, str]:
    if absent := [name for name in wanted.distinct if name not in before.columns]:
        return False, f"the input has no column {', '.join(absent)}"
    count = before.select(wanted.distinct).n_unique() if wanted.distinct and before.height else before.height
    if wanted.conditions:
        counted, problem = _counted(wanted.conditions, before)
        if counted is None:
            return False, problem
        count = counted
    return _COMPARE[wanted.operator](
        after.height, count
    ), f"{count} of the input, the result has {amount(after.height, 'row')}"


def _counted(conditions: Sequence[Condition], before: pl.DataFrame) -> tuple[int | None, str]:
    """Return the number of rows that meet all conditions, or why they cannot be counted."""
    if absent := [condition.name for condition in conditions if condition.name not in before.columns]:
        return None, f"the input has no column {', '.join(absent)}"
    try:
        return before.filter(*map(_condition, conditions)).height, ""
    except PolarsError:
        return None, "a condition compares values of different types"


def _condition(condition: Condition) -> pl.Expr:
    """Return the condition; a missing value meets only ``== missing``; text is compared with dates in ISO form."""
    column = pl.col(condition.name)
    if condition.value is None:
        return column.is_null() if condition.operator == "==" else column.is_not_null()
    if isinstance(condition.value, str):
        lower = condition.value.lower()
        if lower in ("true", "false"):
            column, value = column.cast(pl.String).str.to_lowercase(), pl.lit(lower)
        else:
            column, value = column.cast(pl.String), pl.lit(condition.value)
    else:
        value = pl.lit(float(condition.value))
    holds: pl.Expr = _COMPARE[condition.operator](column, value)
    return holds


def _sum_of_rows(
    name: str, conditions: Sequence[Condition], before: pl.DataFrame, after: pl.DataFrame
) -> tuple[bool, str]:
    if name not in after.columns or not after.schema[name].is_numeric():
        return False, f"the result has no column of numbers {name}"
    added = total(after[name])
    rows, problem = _counted(conditions, before) if conditions else (before.height, "")
    return added == rows, problem or f"the sum is {added}, not the {amount(rows or 0, 'row')} of the input"


def _sorted_by(keys: Sequence[tuple[str, bool]], after: pl.DataFrame) -> tuple[bool, str]:
    names = [name for name, _ in keys]
    if any(after.schema[name].is_nested() for name in names):
        return False, "lists have no order"
    picked = after.select(names)
    ordered = picked.sort(names, descending=[down for _, down in keys], nulls_last=True, maintain_order=True)
    first = picked.sort(names, descending=[down for _, down in keys], nulls_last=False, maintain_order=True)
    holds = picked.equals(ordered) or picked.equals(first)
    return holds, "sorted" if holds else "not in that order"


def _nans(series: pl.Series) -> int:
    return int(series.is_nan().sum()) if series.dtype.is_float() else 0


def _same_sums(
    before: pl.DataFrame, other: str, after: pl.DataFrame, name: str, within: Tolerance | None = None
) -> tuple[bool, str]:
    """Return whether a column of the result has the same sum as one of the input, or nearly."""
    for frame, where, name_there in ((before, "input", other), (after, "result", name)):
        if name_there not in frame.columns:
            return False, f"the {where} has no column {name_there}"
        if not frame.schema[name_there].is_numeric():
            return False, f"{name_there} holds no numbers in the {where}"
    if same_sum(before[other], after[name]):
        return True, "unchanged"
    one, two = total(before[other]), total(after[name])
    if within is not None:
        apart = abs(float(one) - float(two))
        if apart <= within.amount * (abs(float(one)) if within.relative else 1):
            return True, f"apart by {apart:g}"
    return False, f"the sum went from {one} to {two}"
