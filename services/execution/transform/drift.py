"""How data differs from what saved code was made for, and what a column that is gone has probably become."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher

from shared.contracts.transform import Column, Drift, ExpectedColumn

#: From so similar a name on a new column is taken for a missing one.
_SIMILAR = 0.6
_MAX_LISTED = 50


def drift_of(expected: Mapping[str, Sequence[ExpectedColumn]], inputs: Mapping[str, Sequence[Column]]) -> list[Drift]:
    """Return columns that are missing, of another type, or new."""
    return [each for data in inputs if data in expected for each in _of_data(data, expected[data], inputs[data])]


def breaks(drift: Sequence[Drift]) -> bool:
    """Return whether code that was made for the old columns may fail; new columns are harmless."""
    return any(each.change != "new" for each in drift)


def in_words(drift: Sequence[Drift], inputs: Mapping[str, Sequence[Column]]) -> str:
    """Return the changes and the existing columns as a sentence."""
    parts = [part for part in map(_sentence, drift[:_MAX_LISTED]) if part]
    changed = dict.fromkeys(each.data for each in drift)
    return "; ".join([*parts, there_are({data: inputs.get(data, ()) for data in changed})])


def there_are(inputs: Mapping[str, Sequence[Column]]) -> str:
    """Return the existing columns of each data set."""
    parts = []
    for data, all_columns in inputs.items():
        columns = [f"{column.name} {column.type}" for column in all_columns]
        more = f" and {len(columns) - _MAX_LISTED} more" if len(columns) > _MAX_LISTED else ""
        parts.append(f"{data} has the columns {', '.join(columns[:_MAX_LISTED])}{more}")
    return "; ".join(parts)


def _sentence(one: Drift) -> str:
    if one.change == "missing":
        renamed = f", probably renamed to {one.renamed_to!r}" if one.renamed_to else ""
        return f"{one.data} has no column {one.column!r} any more{renamed}"
    if one.change == "type":
        return f"{one.data}.{one.column} is {one.found}, it was {one.expected}"
    return f"{one.data} has a new column {one.column!r}"


def _of_data(data: str, expected: Sequence[ExpectedColumn], columns: Sequence[Column]) -> list[Drift]:
    now = {column.name: column.type for column in columns}
    then = {column.name: column.type for column in expected}
    missing = {name: kind for name, kind in then.items() if name not in now}
    new = {name: kind for name, kind in now.items() if name not in then}
    renamed = _renamed(missing, new)
    drift: list[Drift] = []
    for name, kind in then.items():
        if name not in now:
            to = renamed.get(name)
            drift.append(Drift(data=data, column=name, change="missing", expected=kind, renamed_to=to))
        elif kind is not None and now[name] != kind:
            drift.append(Drift(data=data, column=name, change="type", expected=kind, found=now[name]))
    return drift + [Drift(data=data, column=name, change="new", found=kind) for name, kind in new.items()]


def _renamed(missing: Mapping[str, str | None], new: Mapping[str, str]) -> dict[str, str]:
    """Missing column -> new one, the most similar pairs first, each at most once; the types have to agree."""
    pairs = sorted(
        (
            (_similarity(old, name), old, name)
            for old, kind in list(missing.items())[:200]
            for name, type in list(new.items())[:200]
            if kind in (None, type)
        ),
        reverse=True,
    )
    renamed: dict[str, str] = {}
    for similarity, old, name in pairs:
        if similarity >= _SIMILAR and old not in renamed and name not in renamed.values():
            renamed[old] = name
    return renamed


def _similarity(one: str, two: str) -> float:
    """0..1 of the names' letters and digits; a name within the other counts as similar."""
    first, second = (re.sub(r"[^\w]|_", "", name.lower())[:100] for name in (one, two))
    if min(len(first), len(second)) >= 3 and (first in second or second in first):
        return max(0.8, SequenceMatcher(None, first, second).ratio())
    return SequenceMatcher(None, first, second).ratio()
