"""Masked columns: the model sees only runs over pseudonyms, so no masked value can reach it in any form."""

from __future__ import annotations

import builtins
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from pathlib import Path

import polars as pl

from services.execution.transform.dataset import DataRead
from services.execution.transform.effect import equal, summarise
from services.execution.transform.results import CodeRun, ResultTable
from shared.reading.names import is_copy
from shared.reading.portable import read_portable, write_portable

#: Beyond this many distinct values, pseudonyms are numbered instead of shaped like the value.
_MAX_SHAPED = 50_000
_SHORTEST_REDACTED = 4
_HIDDEN = "(hidden)"
_ERRORS = frozenset(name for name in dir(builtins) if name.endswith(("Error", "Exception")))


@dataclass(frozen=True)
class Redactor:
    """Removes masked values from texts: they may also occur in columns that are not masked."""

    values: list[str]

    def redact(self, text: str) -> str:
        if not self.values:
            return text
        hidden = [_HIDDEN] * len(self.values)
        frame = pl.DataFrame({"text": [text]})
        replaced = pl.col("text").str.replace_many(self.values, hidden, ascii_case_insensitive=True, leftmost=True)
        return str(frame.select(replaced).item())


def masked_columns(data: Sequence[DataRead], mask: Sequence[str], schema_only: bool) -> dict[str, frozenset[str]]:
    """Map each data set to its columns that no model may see; all of them when only the schema is shown."""
    return {
        each.name: frozenset(
            name for name in each.types if schema_only or name in mask or is_copy(name, mask, each.notes)
        )
        for each in data
    }


def redactor_of(data: Sequence[DataRead], masked: dict[str, frozenset[str]]) -> Redactor:
    """Return a redactor of the masked values, where other columns could repeat them."""
    if all(len(masked[each.name]) == len(each.types) for each in data):
        return Redactor([])
    values: set[str] = set()
    for each in data:
        for name in sorted(masked[each.name]):
            texts = _distinct_texts(each.frame[name])
            values.update(text for text in texts if len(text) >= _SHORTEST_REDACTED and not _is_word(text))
    return Redactor(sorted(values, key=lambda text: (-len(text), text)))


def _distinct_texts(column: pl.Series) -> Iterable[str]:
    """Return the values of a column as texts; of nested cells the values within them."""
    if column.dtype.is_nested():
        return {str(leaf) for cell in column.to_list() for leaf in _leaves(cell)}
    return column.unique().cast(pl.String, strict=False).drop_nulls().to_list()


def _leaves(cell: object) -> Iterator[object]:
    """Yield the values within a nested cell, none of the names of its fields."""
    if isinstance(cell, Mapping):
        cell = list(cell.values())
    if isinstance(cell, list):
        for each in cell:
            yield from _leaves(each)
    elif cell is not None:
        yield cell


def _is_word(text: str) -> bool:
    """Return whether it is ``true`` or the like, which reveals nothing and occurs in many texts."""
    return text.lower() in ("true", "false", "null", "none")


def pseudonymise(data: DataRead, masked: frozenset[str], scratch: Path, seed: int, rows: int) -> DataRead:
    """Return the data set with other values in its masked columns: equal where they were equal, missing where
    missing.
    """
    frame = read_portable(data.arrow)
    rng = random.Random(seed)  # noqa: S311 - pseudonyms are not derived from the values: nothing here needs to be unguessable
    columns = [_replaced(frame[name], rng) if name in masked else frame[name] for name in frame.columns]
    target = scratch / f"pseudonyms-{data.name}.arrow"
    write_portable(pl.DataFrame(columns), target)
    return data.replaced(target, rows, masked)


def _replaced(column: pl.Series, rng: random.Random) -> pl.Series:
    if column.dtype.is_nested():
        pseudonyms_of: dict[object, object] = {}
        cells = [_nested(cell, pseudonyms_of, rng) for cell in column.to_list()]
        return pl.Series(column.name, cells, dtype=column.dtype, strict=False)
    distinct = column.drop_nulls().unique(maintain_order=True)
    pseudonyms = _pseudonyms(distinct, rng)
    if pseudonyms is None or not distinct.len():
        return pl.Series(column.name, [None] * column.len(), dtype=column.dtype)
    return column.replace_strict(distinct, pl.Series(pseudonyms, dtype=column.dtype), default=None)


def _nested(cell: object, known: dict[object, object], rng: random.Random) -> object:
    """Return a nested cell with other values within it. ``known``: the pseudonyms so far, which are extended."""
    if isinstance(cell, Mapping):
        return {name: _nested(each, known, rng) for name, each in cell.items()}
    if isinstance(cell, list):
        return [_nested(each, known, rng) for each in cell]
    key = (type(cell), cell)
    if cell is not None and key not in known:
        pseudonyms = _pseudonyms(pl.Series([cell]), rng)
        known[key] = None if pseudonyms is None else pseudonyms[0]
    return known.get(key)


def _pseudonyms(distinct: pl.Series, rng: random.Random) -> Sequence[object] | None:  # noqa: PLR0911 - one for each type
    dtype, count = distinct.dtype, distinct.len()
    if dtype == pl.String:
        return _texts(distinct, rng)
    if dtype.is_integer() or dtype.is_decimal():
        return _numbers(distinct, rng)
    if dtype.is_float():
        return [round(rng.uniform(1, 1000), 3) for _ in range(count)]
    if dtype == pl.Boolean:
        return [rng.random() < 0.5 for _ in range(count)]
    if dtype == pl.Date:
        return [date(2001, 1, 1) + timedelta(days=rng.randrange(5000)) for _ in range(count)]
    if isinstance(dtype, pl.Datetime) and dtype.time_zone is None:
        return [datetime(2001, 1, 1) + timedelta(minutes=rng.randrange(5_000_000)) for _ in range(count)]
    return None


def _numbers(distinct: pl.Series, rng: random.Random) -> list[int]:
    real = set(distinct.to_list()) if distinct.len() <= _MAX_SHAPED else set()
    most = 100 if distinct.dtype in (pl.Int8, pl.UInt8) else max(10 * distinct.len(), 9000)
    pseudonyms = (rng.randrange(1, most) for _ in range(10**9))
    return [
        next(number for number in pseudonyms if number not in real or len(real) * 2 > most)
        for _ in range(distinct.len())
    ]


def _texts(distinct: pl.Series, rng: random.Random) -> list[str]:
    if distinct.len() > _MAX_SHAPED:
        return [f"hidden-{number}" for number in range(distinct.len())]
    return [_shaped(text, rng) for text in distinct.to_list()]


def _shaped(text: str, rng: random.Random) -> str:
    """Letters for letters, digits for digits, so that splitting and matching on shape still work."""
    return "".join(_other(char, rng) for char in text[:200])


def _other(char: str, rng: random.Random) -> str:
    if char.isdigit():
        return rng.choice([digit for digit in "123456789" if digit != char])
    if char.isalpha():
        letter = rng.choice([letter for letter in "bcdfghjklmnpqrstvwxz" if letter != char.lower()])
        return letter.upper() if char.isupper() else letter
    return char


def masked_run(real: CodeRun, pseudonymised: CodeRun) -> CodeRun:
    """Return the real run; what the model may see of it comes from the run over pseudonyms."""
    masked = _dependent_columns(real.table, pseudonymised.table)
    return replace(real, masked_view=_masked_view(real, pseudonymised), masked=masked)


def _masked_view(real: CodeRun, pseudonymised: CodeRun) -> CodeRun:
    if not real.good and real.outcome != "assertion_failed":
        if pseudonymised.outcome == real.outcome:
            return replace(real, message=pseudonymised.message, stdout=pseudonymised.stdout)
        kind = error_name(real.message) if real.outcome == "error" else "the result is of another kind"
        return replace(real, message=f"{kind}; the message is hidden because it arose on hidden values", stdout="")
    checks = [
        each.model_copy(update={"detail": "" if each.text.startswith("sum") else each.detail}) for each in real.checks
    ]
    message = real.message if real.plot is not None else ""
    if pseudonymised.table is None or pseudonymised.effect is None or real.effect is None:
        return replace(real, message=message, stdout=pseudonymised.stdout, table=None, effect=None, checks=checks)
    # How many rows there are is real; which columns and cells is not.
    effect = pseudonymised.effect.model_copy(update={"rows": real.effect.rows, "sums": {}, "nulls": {}})
    effect = effect.model_copy(update={"summary": summarise(effect)})
    return replace(
        real,
        message=effect.summary,
        stdout=pseudonymised.stdout,
        table=pseudonymised.table,
        effect=effect,
        checks=checks,
    )


def _dependent_columns(real: ResultTable | None, pseudonymised: ResultTable | None) -> tuple[str, ...]:
    """Return the columns that differ over pseudonyms; all of them when the rows cannot be compared."""
    if real is None:
        return ()
    frame = real.frame
    if pseudonymised is None or pseudonymised.frame.height != frame.height:
        return tuple(frame.columns)
    others = {column.name: column for column in pseudonymised.frame.iter_columns()}
    return tuple(
        column.name
        for column in frame.iter_columns()
        if column.name not in others or not equal(column, others[column.name])
    )


def error_name(message: str) -> str:
    """Return the kind of an error if Python defines it: a class that the code names could be a masked value."""
    name = message.partition(":")[0].strip()
    return name if name in _ERRORS else "an error"
