"""Names of columns: not too many, none empty, and each once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import count

from .source import MAX_COLUMNS, Unreadable

NUMBERED = "column names used more than once were numbered: "
_MAX_SHOWN, _LONGEST = 20, 100


def usable_names(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return each name once, with a note on those that were numbered.

    Raises: Unreadable for too many columns, or one without a name.
    """
    if len(names) > MAX_COLUMNS:
        raise Unreadable(f"there are {len(names):,} columns, at most {MAX_COLUMNS:,} can be worked with")
    empty = [position for position, name in enumerate(names, 1) if not name]
    if empty:
        raise Unreadable(f"column {empty[0]} of {len(names)} has an empty name: give every column a name")
    unique = numbered(names)
    made = [after[:_LONGEST] for before, after in zip(names, unique, strict=True) if before != after]
    more = f" and {len(made) - _MAX_SHOWN:,} more" if len(made) > _MAX_SHOWN else ""
    return unique, [f"{NUMBERED}{', '.join(made[:_MAX_SHOWN])}{more}"] if made else []


def numbered(names: Sequence[str]) -> list[str]:
    """Return each name once: the second column of a name ends with ``_2``, the third with ``_3``.

    A made name differs from every other one also in lower case, as SQL compares names.
    """
    taken = {name.casefold() for name in names}
    last: Counter[str] = Counter()  #: the number of the last column of a name, so that none is tried again
    unique = []
    for name in names:
        last[name] += 1
        own = name
        if last[name] > 1:
            last[name] = next(at for at in count(last[name]) if f"{name}_{at}".casefold() not in taken)
            own = f"{name}_{last[name]}"
            taken.add(own.casefold())
        unique.append(own)
    return unique


def is_copy(column: str, names: Sequence[str], notes: Sequence[str]) -> bool:
    """Return whether the column may be a numbered one of these names, in a table with such notes."""
    name, _, number = column.rpartition("_")
    return name in names and number.isdecimal() and any(note.startswith(NUMBERED) for note in notes)


def warnings_of(notes: Sequence[str]) -> list[str]:
    """Return the notes that a person has to see: text of the file is lost, or a column has another name."""
    return [note for note in notes if "\ufffd" in note or note.startswith(NUMBERED)]
