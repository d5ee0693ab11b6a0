"""What the code did to the data: the difference between the input and the result, in numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import polars as pl
from pydantic import JsonValue

from shared.amounts import amount
from shared.contracts.transform import Effect
from shared.reading.columns import TypeName, type_name

#: Beyond this many cells, measures that hash every row are left out.
_MAX_CELLS = 20_000_000
_MAX_KEYS = 50
_ROUNDING = 1e-11  #: of a sum of floats, as a share of what was added up


def measure(before: pl.DataFrame, after: pl.DataFrame, others: Sequence[pl.DataFrame] = ()) -> Effect:
    """Return the effect of a transform of ``before`` (the first data set); ``others`` are the further inputs."""
    # A frame builds its schema on each access, which matters with a thousand columns.
    old, new = before.schema, after.schema
    renamed = _renamed(before, after)
    shared = [name for name in old if name in new]
    made = set(renamed.values())
    added = [name for name in new if name not in old and name not in made]
    removed = [name for name in old if name not in new and name not in renamed]
    kinds = ((name, type_name(old[name]), type_name(new[name])) for name in shared)
    types: dict[str, JsonValue] = {name: [one, two] for name, one, two in kinds if one != two}
    changed = _changed(before, after, shared)
    moved = bool(changed) and _same_rows(before, after, shared)
    if moved:
        changed = {}
    reordered = shared != [name for name in new if name in old]
    no_op = any(_same(frame, after) for frame in (before, *others))
    effect = Effect(
        summary="",
        rows={"before": before.height, "after": after.height},
        columns={
            "before": list(before.columns),
            "after": list(after.columns),
            "added": list(added),
            "removed": list(removed),
            "renamed": dict(renamed),
            "types": types,
            "changed": dict(changed),
            "reordered": reordered,
        },
        no_op=no_op,
        rows_reordered=moved,
        nulls=_nulls(before, after, shared, added),
        sums=_sums(before, after, shared),
        duplicates=_duplicates(before, after),
        keys=_keys(before, after, shared),
    )
    return effect.model_copy(update={"summary": summarise(effect)})


def measure_shape(rows: int, types: Mapping[str, TypeName], after: pl.DataFrame) -> Effect:
    """Return the effect on a table that is larger than memory: rows and columns, no cells."""
    new = {name: type_name(dtype) for name, dtype in after.schema.items()}
    retyped: dict[str, JsonValue] = {
        name: [types[name], new[name]] for name in types if new.get(name, types[name]) != types[name]
    }
    effect = Effect(
        summary="",
        rows={"before": rows, "after": after.height},
        columns={
            "before": list(types),
            "after": list(new),
            "added": [name for name in new if name not in types],
            "removed": [name for name in types if name not in new],
            "renamed": {},
            "types": retyped,
            "changed": {},
            "reordered": [name for name in types if name in new] != [name for name in new if name in types],
        },
        no_op=False,
    )
    return effect.model_copy(update={"summary": summarise(effect)})


def summarise(effect: Effect) -> str:
    """Return the effect in one line."""
    if effect.no_op:
        return f"no change: the result is identical to the input ({amount(cast(int, effect.rows['after']), 'row')})"
    before, after = effect.rows["before"], effect.rows["after"]
    parts = [f"rows {before} -> {after}" if before != after else f"rows unchanged ({after})"]
    columns = effect.columns
    changed = {name: amount(cast(int, count), "cell") for name, count in _items(columns["changed"])}
    parts += [f"columns {word}: {_listed(_names(columns[word]))}" for word in ("added", "removed") if columns[word]]
    for word, items in (
        ("renamed", [f"{old} -> {new}" for old, new in _items(columns["renamed"])]),
        ("types", [f"{name} {_pair(kinds)}" for name, kinds in _items(columns["types"])]),
        ("values changed", [f"{name} ({cells})" for name, cells in changed.items()]),
        ("missing", [f"{name} {_pair(counts)}" for name, counts in effect.nulls.items()]),
        ("sum", [f"{name} {_pair(sums)}" for name, sums in effect.sums.items()]),
        ("no longer unique", _names(effect.keys.get("lost"))),
    ):
        if items:
            parts.append(f"{word}: {_listed(items)}")
    if effect.rows_reordered:
        parts.append("rows reordered")
    if columns["reordered"]:
        parts.append("columns reordered")
    if effect.duplicates.get("before") != effect.duplicates.get("after"):
        parts.append(f"duplicate rows {_pair([effect.duplicates['before'], effect.duplicates['after']])}")
    return "; ".join(parts)


def _names(value: JsonValue) -> list[str]:
    return [str(name) for name in value] if isinstance(value, list) else []


def _items(value: JsonValue) -> list[tuple[str, JsonValue]]:
    return list(value.items()) if isinstance(value, dict) else []


def _pair(value: JsonValue) -> str:
    before, after = value if isinstance(value, list) and len(value) == 2 else (None, value)
    return f"{after}" if before is None else f"{before} -> {after}"


def _listed(names: Sequence[str], most: int = 12) -> str:
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def _comparable(series: pl.Series) -> pl.Series:
    """Numbers as floats, so that 1 and 1.0 are the same; NaN is missing."""
    if series.dtype.is_integer() or series.dtype.is_decimal():
        return series.cast(pl.Float64)
    if series.dtype.is_float():
        return series.cast(pl.Float64).fill_nan(None)
    if isinstance(series.dtype, pl.Datetime):
        return series.cast(pl.Datetime("us", series.dtype.time_zone))
    return series


def _alike(one: pl.Series, two: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return two columns in one type, as far as possible; whole numbers keep every digit."""
    if one.dtype.is_integer() and two.dtype.is_integer():
        return one.cast(pl.Int128), two.cast(pl.Int128)
    if one.dtype == two.dtype and one.dtype.is_decimal():
        return one, two
    return _comparable(one), _comparable(two)


def equal(one: pl.Series, two: pl.Series) -> bool:
    """Return whether two columns hold equal values, whatever their numeric types."""
    left, right = _alike(one, two)
    if pl.Null in (left.dtype, right.dtype):
        return left.null_count() == left.len() and right.null_count() == right.len()
    return left.dtype == right.dtype and left.equals(right, check_names=False, null_equal=True)


def _same(before: pl.DataFrame, after: pl.DataFrame) -> bool:
    return (
        before.columns == after.columns
        and before.height == after.height
        and all(equal(before[name], after[name]) for name in before.columns)
    )


def _renamed(before: pl.DataFrame, after: pl.DataFrame) -> dict[str, str]:
    """Old name: new name, of columns whose values are all the same."""
    had, has = before.schema, after.schema
    gone = [name for name in had if name not in has]
    new = [name for name in has if name not in had]
    renamed: dict[str, str] = {}
    if before.height != after.height or len(gone) * len(new) > 400:
        return renamed
    for old in gone:
        match = next((name for name in new if name not in renamed.values() and equal(before[old], after[name])), None)
        if match is not None:
            renamed[old] = match
    return renamed


def _changed(before: pl.DataFrame, after: pl.DataFrame, shared: Sequence[str]) -> dict[str, int]:
    """Cells that differ in place, of columns that keep their name, when the rows still line up by number."""
    if before.height != after.height:
        return {}
    changed: dict[str, int] = {}
    for name in shared:
        one, two = _alike(before[name], after[name])
        if one.dtype != two.dtype or one.dtype.is_nested():
            continue
        differing = one.len() - int(one.eq_missing(two).sum())
        if differing:
            changed[name] = differing
    return changed


def _same_rows(before: pl.DataFrame, after: pl.DataFrame, shared: Sequence[str]) -> bool:
    """Return whether the rows are the same in another order, comparing the shared columns."""
    if before.height * len(shared) > _MAX_CELLS:
        return False
    pairs = [_alike(before[name], after[name]) for name in shared]
    if any(one.dtype != two.dtype or one.dtype.is_nested() for one, two in pairs):
        return False
    old, new = (pl.DataFrame([pair[side].alias(str(at)) for at, pair in enumerate(pairs)]) for side in (0, 1))
    return old.hash_rows().sort().equals(new.hash_rows().sort())


def _nulls(
    before: pl.DataFrame, after: pl.DataFrame, shared: Sequence[str], added: Sequence[str]
) -> dict[str, JsonValue]:
    old, new = (frame.null_count().row(0, named=True) if frame.width else {} for frame in (before, after))
    counts: dict[str, JsonValue] = {name: [old[name], new[name]] for name in shared if old[name] != new[name]}
    counts.update({name: [None, new[name]] for name in added if new[name]})
    return counts


def _sums(before: pl.DataFrame, after: pl.DataFrame, shared: Sequence[str]) -> dict[str, JsonValue]:
    sums: dict[str, JsonValue] = {}
    old, new = before.schema, after.schema
    for name in shared:
        if old[name].is_numeric() and new[name].is_numeric() and not same_sum(before[name], after[name]):
            totals: list[JsonValue] = [total(before[name]), total(after[name])]
            if all(abs(cast("float", each)) < float("inf") for each in totals):
                sums[name] = totals
    return sums


def total(series: pl.Series) -> int | float:
    """Return the sum; exact for whole numbers."""
    if series.dtype.is_integer():
        return int(series.cast(pl.Int128).sum() or 0)
    return float(_comparable(series).sum() or 0.0)


def same_sum(one: pl.Series, two: pl.Series) -> bool:
    """Equal but for the rounding of floating point, which grows with what is added up, not with what comes out."""
    first, second = total(one), total(two)
    if first == second or (isinstance(first, int) and isinstance(second, int)):
        return first == second
    added = max(float(_comparable(series).abs().sum() or 0.0) for series in (one, two))
    return abs(first - second) <= _ROUNDING * added < float("inf")


def _duplicates(before: pl.DataFrame, after: pl.DataFrame) -> dict[str, JsonValue]:
    counted: dict[str, JsonValue] = {}
    for when, frame in (("before", before), ("after", after)):
        nested = any(dtype.is_nested() for dtype in frame.dtypes)
        if frame.height * frame.width > _MAX_CELLS or nested or not frame.width:
            return {}
        counted[when] = frame.height - frame.n_unique()
    return counted


def _keys(before: pl.DataFrame, after: pl.DataFrame, shared: Sequence[str]) -> dict[str, JsonValue]:
    """Return the columns that identify a row alone."""
    kept: list[JsonValue] = []
    lost: list[JsonValue] = []
    for name in shared[:_MAX_KEYS]:
        if before.height > 1 and _is_key(before[name]):
            if _is_key(after[name]):
                kept.append(name)
            elif _repeats(after[name]):
                lost.append(name)
    return {"kept": kept, "lost": lost}


def _is_key(series: pl.Series) -> bool:
    if series.dtype.is_float() or series.dtype.is_nested() or series.len() > _MAX_CELLS:
        return False
    return series.null_count() == 0 and series.n_unique() == series.len()


def _repeats(series: pl.Series) -> bool:
    present = series.drop_nulls()
    return not series.dtype.is_nested() and series.len() <= _MAX_CELLS and present.n_unique() < present.len()
