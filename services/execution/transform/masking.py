"""Masked columns: the model only ever sees runs over stand-ins, so no masked value can reach it in any form."""

from __future__ import annotations

import builtins
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path

import polars as pl

from services.execution.transform.dataset import DataRead
from services.execution.transform.reading.portable import read_portable

#: Beyond so many distinct values, stand-ins are numbered instead of shaped like the value.
_MOST_SHAPED = 50_000
_SHORTEST_SCRUBBED = 4
_HIDDEN = "(hidden)"
_ERRORS = frozenset(name for name in dir(builtins) if name.endswith(("Error", "Exception")))


@dataclass(frozen=True)
class Veil:
    """Takes masked values out of texts: they also turn up in columns that nobody masked."""

    values: list[str]

    def scrub(self, text: str) -> str:
        if not self.values:
            return text
        hidden = [_HIDDEN] * len(self.values)
        frame = pl.DataFrame({"text": [text]})
        replaced = pl.col("text").str.replace_many(self.values, hidden, ascii_case_insensitive=True, leftmost=True)
        return str(frame.select(replaced).item())


def masked_columns(data: Sequence[DataRead], mask: Sequence[str], schema_only: bool) -> dict[str, frozenset[str]]:
    """Data set: its columns that no model may see; all of them when only the schema is shown."""
    return {one.name: frozenset(one.types if schema_only else set(mask) & one.types.keys()) for one in data}


def veil_of(data: Sequence[DataRead], masked: dict[str, frozenset[str]]) -> Veil:
    """A veil over the masked values, where there are columns besides that could repeat them."""
    if all(len(masked[one.name]) == len(one.types) for one in data):
        return Veil([])
    values: set[str] = set()
    for one in data:
        for name in sorted(masked[one.name]):
            texts = one.frame[name].unique().cast(pl.String, strict=False).drop_nulls()
            values.update(text for text in texts.to_list() if len(text) >= _SHORTEST_SCRUBBED and not _is_word(text))
    return Veil(sorted(values, key=lambda text: (-len(text), text)))


def _is_word(text: str) -> bool:
    """``true`` and the like say nothing and stand everywhere."""
    return text.lower() in ("true", "false", "null", "none")


def stand_in(data: DataRead, masked: frozenset[str], scratch: Path, seed: int, rows: int) -> DataRead:
    """The same data set with other values in its masked columns: equal where they were equal, missing where missing."""
    frame = read_portable(data.arrow)
    chance = random.Random(seed)  # noqa: S311 - nothing here needs to be unguessable: the values are not derived from any
    columns = [_replaced(frame[name], chance) if name in masked else frame[name] for name in frame.columns]
    target = scratch / f"stand-in-{data.name}.arrow"
    pl.DataFrame(columns).write_ipc(target, compression="uncompressed")
    return data.replaced(target, rows, masked)


def _replaced(column: pl.Series, chance: random.Random) -> pl.Series:
    distinct = column.drop_nulls().unique(maintain_order=True)
    fakes = _fakes(distinct, chance)
    if fakes is None or not distinct.len():
        return pl.Series(column.name, [None] * column.len(), dtype=column.dtype)
    return column.replace_strict(distinct, pl.Series(fakes, dtype=column.dtype), default=None)


def _fakes(distinct: pl.Series, chance: random.Random) -> Sequence[object] | None:  # noqa: PLR0911 - one for each type
    dtype, count = distinct.dtype, distinct.len()
    if dtype == pl.String:
        return _texts(distinct, chance)
    if dtype.is_integer() or dtype.is_decimal():
        return _numbers(distinct, chance)
    if dtype.is_float():
        return [round(chance.uniform(1, 1000), 3) for _ in range(count)]
    if dtype == pl.Boolean:
        return [chance.random() < 0.5 for _ in range(count)]
    if dtype == pl.Date:
        return [date(2001, 1, 1) + timedelta(days=chance.randrange(5000)) for _ in range(count)]
    if isinstance(dtype, pl.Datetime) and dtype.time_zone is None:
        return [datetime(2001, 1, 1) + timedelta(minutes=chance.randrange(5_000_000)) for _ in range(count)]
    return None


def _numbers(distinct: pl.Series, chance: random.Random) -> list[int]:
    real = set(distinct.to_list()) if distinct.len() <= _MOST_SHAPED else set()
    most = 100 if distinct.dtype in (pl.Int8, pl.UInt8) else max(10 * distinct.len(), 9000)
    fakes = (chance.randrange(1, most) for _ in range(10**9))
    return [next(fake for fake in fakes if fake not in real or len(real) * 2 > most) for _ in range(distinct.len())]


def _texts(distinct: pl.Series, chance: random.Random) -> list[str]:
    if distinct.len() > _MOST_SHAPED:
        return [f"hidden-{number}" for number in range(distinct.len())]
    return [_shaped(text, chance) for text in distinct.to_list()]


def _shaped(text: str, chance: random.Random) -> str:
    """Letters for letters, digits for digits, so that splitting and matching on shape still work."""
    return "".join(_other(char, chance) for char in text[:200])


def _other(char: str, chance: random.Random) -> str:
    if char.isdigit():
        return chance.choice([digit for digit in "123456789" if digit != char])
    if char.isalpha():
        letter = chance.choice([letter for letter in "bcdfghjklmnpqrstvwxz" if letter != char.lower()])
        return letter.upper() if char.isupper() else letter
    return char


def error_name(message: str) -> str:
    """The kind of an error, when it is one that a language defines: a name of the code's own could be a value."""
    name = message.partition(":")[0].strip()
    return name if name in _ERRORS else "an error"
