"""Values that are spelled as marks for missing ones: ``NA`` is Namibia among codes of countries, ``Null`` is a name."""

from __future__ import annotations

import re

import polars as pl

from .cells import MISSING

NOTHING: frozenset[str] = frozenset()
_CODE = r"^[A-Z]{2}$"
_HEAD = 100  #: cells that are checked first, as most columns hold neither codes nor names
_NAMES = re.compile(
    r"(sur|last|first|family|given|middle|maiden|full|nick|birth)[ _.-]?names?|surname|forename"
    r"|(vor|nach|familien|zu|geburts|ruf)name|nom|prénom|prenom|apellidos?|nombres?|cognome|nome|sobrenome|achternaam|voornaam|efternamn|förnamn|etternavn"
    r"|nazwisko|imię|příjmení|first|last|姓名?|名",
    re.IGNORECASE,
)
#: Marks for a missing value, by how the other names of a column are written.
_BY_STYLE = {
    "capitals": frozenset({"NA", "NULL"}),
    "capitalized": frozenset({"None"}),
    "small": frozenset({"null", "nan"}),
}


def values_among_marks(name: str, column: pl.Series) -> frozenset[str]:
    """Return the marks for missing values that are values in a column of text, by its name and its other cells.

    ``NA`` is one among codes of two capital letters. In a column of people's names a mark is one if it is written as
    the other names are: ``None`` among ``Smith`` and ``Lee``, ``NULL`` among ``SMITH`` and ``LEE``.
    """
    may_be_names = _NAMES.fullmatch(name.strip()) is not None
    if not may_be_names and not _are_codes(column.head(_HEAD)):
        return NOTHING
    others = column.filter(~column.is_in(MISSING))
    if not others.len():
        return NOTHING
    codes = frozenset({"NA"}) if _are_codes(others) else NOTHING
    return codes | (_BY_STYLE.get(_style(others), NOTHING) if may_be_names else NOTHING)


def note_on_kept(kept: dict[str, int]) -> str:
    """Return the note on cells that were kept as values."""
    shown = ", ".join(f"{text!r} x {count:,}" for text, count in sorted(kept.items()))
    return f"kept as values, as the other cells are written so: {shown}; if they mean a missing value, state na_values"


def _are_codes(cells: pl.Series) -> bool:
    return bool((cells.str.contains(_CODE) | cells.is_in(MISSING)).all())


def _style(names: pl.Series) -> str:
    """Return how all of the names are written; empty where they differ."""
    if not names.str.contains(r"^\p{L}").all():
        return ""
    if not names.str.contains(r"\p{Ll}").any():
        return "capitals"
    if names.str.contains(r"^\p{Lu}").all():
        return "capitalized"
    return "" if names.str.contains(r"\p{Lu}").any() else "small"
