"""Numbers with a currency, and negative ones as accountants write them: ``€1.50``, ``9 EUR``, ``(900)``, ``5,00-``."""

from __future__ import annotations

import re
from collections.abc import Collection

import polars as pl

from .cells import MISSING, MISSING_IN_NUMBERS

_SIGNS = "€$£¥₹₽₩₺₪₫₴₦฿¢"
_CODES = "EUR|USD|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|PLN|CZK|HUF|CAD|AUD|NZD|BRL|MXN|ZAR|SGD|HKD|TRY|kr|zł|Kč|Fr\\."
_CURRENCY = f"(?:[A-Z]{{0,3}}[{_SIGNS}]|{_CODES})"
_BLANK = "[ \u00a0\u202f]*"
_BODY = r"\d(?:[\d.,'\u2019 \u00a0\u202f]*\d)?|\.\d+"
_DRESSED = re.compile(
    f"(?P<first>{_CURRENCY}(?={_BLANK}\\())?{_BLANK}(?P<open>\\()?(?P<minus>[-\u2212+]?){_BLANK}(?P<before>{_CURRENCY})?{_BLANK}(?P<inner>[-\u2212]?)(?P<body>{_BODY})"
    f"(?P<after>{_BLANK}(?P<unit>{_CURRENCY}))?(?P<close>\\))?(?P<behind>[-\u2212]?)"
)
_ZERO = re.compile(
    f"(?P<before>{_CURRENCY}){_BLANK}[-\u2212\u2013]|[-\u2212\u2013]{_BLANK}(?P<unit>{_CURRENCY})"
)  #: as Excel shows it
_LAKH = re.compile(r"-?\d{1,2}(?:,\d\d)+,\d{3}(?:\.\d+)?")
_PERCENT = re.compile(r"[+-]?\d[\d.,]*[ \u00a0\u202f]?%")
_HINT = re.compile(f"{_CURRENCY}|[(\u2212]|-$|\\d,\\d\\d,\\d", re.M)  #: without one all is plain
PERCENTAGES = "kept as text: percentages"


def is_percentages(sample: Collection[str]) -> bool:
    return bool(sample) and all(_PERCENT.fullmatch(cell) for cell in sample)


def undressed(column: pl.Series, sample: Collection[str]) -> tuple[pl.Series, list[str], str] | None:
    """Return the column and its sample with plain numbers, and the note; None where they are none, or of one currency
    and another.
    """
    if not sample or not _HINT.search("\n".join(sample)):
        return None
    plain: dict[str, tuple[str, str]] = {}
    for cell in sample:
        if (each := _plain(cell)) is None:
            return None
        plain[cell] = each
    if all(cell.startswith("(") for cell in sample):  # numbers of notes or of rows
        return None
    currencies = {currency for _, currency in plain.values()}
    if len(currencies) > 1:
        return None
    cells = column.str.strip_chars(" \t\u00a0")
    distinct = cells.unique().to_list()
    undressed = {cell: _plain(cell) for cell in distinct if cell not in (None, *MISSING, *MISSING_IN_NUMBERS)}
    if any(each is None or each[1] not in currencies for each in undressed.values()):
        return None
    numbers = {cell: each[0] for cell, each in undressed.items() if each is not None}
    bare = cells.replace(list(numbers), list(numbers.values()))
    (currency,) = currencies
    return bare, [numbers.get(cell, cell) for cell in sample], _note(currency, sample)


def _plain(cell: str) -> tuple[str, str] | None:
    """Return the number without its dress, and its currency; None where the cell is none, or says minus twice."""
    if (zero := _ZERO.fullmatch(cell)) is not None:
        return "0", zero["before"] or zero["unit"]
    match = _DRESSED.fullmatch(cell)
    if match is None or bool(match["open"]) != bool(match["close"]):
        return None
    currencies = [each for each in (match["first"], match["before"], match["unit"]) if each]
    if len(currencies) > 1:
        return None
    minuses = [bool(match["open"]), match["minus"] in ("-", "\u2212"), bool(match["inner"]), bool(match["behind"])]
    if sum(minuses) > 1:
        return None
    body = match["body"].replace(",", "") if _LAKH.fullmatch(match["body"]) else match["body"]
    return f"{'-' if any(minuses) else ''}{body}", "".join(currencies)


def _note(currency: str, sample: Collection[str]) -> str:
    parts = [f"numbers in {currency}"] * bool(currency)
    parts += ["numbers in brackets are negative"] * any("(" in cell for cell in sample)
    zeros = set(filter(_ZERO.fullmatch, sample))
    parts += ["a minus behind a number counts"] * any(cell[-1:] in ("-", "\u2212") for cell in {*sample} - zeros)
    parts += ["a dash for the number is zero"] * bool(zeros)
    return ", ".join(parts) or "written with other signs than a number has"
