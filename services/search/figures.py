"""Figures of a text as what they are: numbers, dates, times, versions and codes; and whether a source holds them.

A number in a sentence is held by one of the source that is the same when it is rounded as the sentence writes it: 8.7
by 8.72, 299.00 by 299, and never by 87. A code has to be the same but for the signs within it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, InvalidOperation

#: Names of months, by their first letters: English, German, French, Spanish, Italian, Dutch.
_MONTHS = {
    "jan": 1, "ene": 1, "gen": 1, "feb": 2, "fév": 2, "fev": 2, "mar": 3, "mär": 3, "mae": 3, "mrt": 3, "maa": 3,
    "apr": 4, "avr": 4, "abr": 4, "may": 5, "mai": 5, "mei": 5, "mag": 5, "jun": 6, "giu": 6, "juin": 6, "jul": 7,
    "juil": 7, "lug": 7, "aug": 8, "aoû": 8, "aou": 8, "ago": 8, "sep": 9, "set": 9, "oct": 10, "okt": 10, "ott": 10,
    "nov": 11, "dec": 12, "dez": 12, "déc": 12, "dic": 12,
}  # fmt: skip
_MONTH = r"(?P<month>(?:jan|ene|gen|feb|f[ée]v|mar|mär|mrt|maa|apr|avr|abr|ma[yi]|mei|mag|jun|giu|juin|jul|juil|lug|aug|ao[ûu]|ago|sep|set|oct|okt|ott|nov|de[cz]|déc|dic)[a-zäéûô]*\.?)"  # noqa: E501
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th|\.|er|º)?"
_YEAR = r"(?P<year>\d{4})"


def _renamed(pattern: str, suffix: str) -> str:
    """Rename the groups of a pattern, because a name may occur only once in a pattern."""
    return re.sub(r"\?P<(\w+)>", rf"?P<\g<1>{suffix}>", pattern)


_DATE = re.compile(
    r"(?<![\w.])(?:"
    r"(?P<iso>\d{4}-\d{1,2}-\d{1,2})(?=[T\s,.;)\]]|$|[^\w-])"
    r"|(?P<dotted>\d{1,2}[./]\d{1,2}[./]\d{4})(?!\w)"
    rf"|{_DAY}\s+(?:of\s+|de\s+)?{_MONTH},?(?:\s+(?:de\s+)?{_YEAR})?(?!\w)"
    rf"|{_renamed(_MONTH, '2')}\s+(?:{_renamed(_DAY, '2')}(?!\d),?\s*)?{_renamed(_YEAR, '2')}(?!\w)"
    rf"|{_renamed(_MONTH, '3')}\s+{_renamed(_DAY, '3')}(?![\w.:])"
    r")",
    re.IGNORECASE,
)
_TIME = re.compile(r"(?<![\w:.])(\d{1,2}):(\d{2})(?::(\d{2}))?(?:\.\d+)?(Z|\s?[ap]\.?m\.?)?(?![\w:])", re.IGNORECASE)
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
#: Letters and digits together, digits with signs that do not form a number, or a version.
_CODE = re.compile(r"(?<![\w./:-])(?=[^\s]*\d)[^\W_](?:[^\W_]|[-./:_](?=[^\W_]))*", re.UNICODE)
_GROUPED = re.compile(
    r"(?<![\w.,-])[-+\u2212]?(?:\d{1,3}(?:([, '\u00a0\u202f\u2019])\d{3})(?:\1\d{3})*(?:[.,]\d+)?"
    r"|\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?|\d{1,3}(?:\.\d{3})+,\d+)(?![\w]|[.,]\d)"
)
_NUMBER = re.compile(r"(?<![\w.,])[-+\u2212]?(?:\d+(?:[.,]\d+)?|[.,]\d+)(?!\d)")
_UNIT = re.compile(r"([-+\u2212]?\d+(?:[.,]\d+)?)-?([^\W\d_]+|%|€|\$|£)", re.UNICODE)
_RANGE = re.compile(r"(\d+(?:[.,]\d+)?)\s?[-\u2013\u2014]\s?(\d+(?:[.,]\d+)?)")
_OF = re.compile(r"(?<![\w./])(\d{1,3}(?:[.,]\d{1,2})?)/(\d{1,3}(?:[.,]\d{1,2})?)(?![\w/])")  #: 8.7/10
_NAME = re.compile(r"\d+[A-Z]")  #: 5G, 4K
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)", re.IGNORECASE)
_SIGNS = re.compile(r"[-./:_\s]")


#: Year, month and day; None for a part that is not given.
Day = tuple[int | None, int | None, int | None]


@dataclass
class Figures:
    """What a text holds."""

    numbers: list[tuple[Decimal, str]] = field(default_factory=list)  #: with its unit of measure, where it has one
    dates: list[Day] = field(default_factory=list)
    times: list[tuple[int, int, int | None]] = field(default_factory=list)
    codes: set[str] = field(default_factory=set)
    parts: set[str] = field(default_factory=set)  #: digits within codes

    @classmethod
    def of(cls, text: str) -> Figures:
        found = cls()
        for taken in (found._take_emails, found._take_dates, found._take_times):
            text = taken(text)
        found._take_rest(text)
        return found

    def hold(self, said: Figures) -> bool:
        """Return whether every figure of ``said`` is among these."""
        return (
            all(self._holds_number(*wanted) for wanted in said.numbers)
            and all(any(_same_date(wanted, own) for own in self.dates) for wanted in said.dates)
            and all(
                any(wanted[:2] == own[:2] and wanted[2] in (None, own[2]) for own in self.times)
                for wanted in said.times
            )
            and said.codes <= self.codes
        )

    def _holds_number(self, number: Decimal, unit: str) -> bool:
        if any(_same(number, own) and (not unit or not other or unit == other) for own, other in self.numbers):
            return True
        if unit:
            return False
        years = {year for year, _, _ in self.dates}
        return number in years or str(number) in self.parts

    def _take_emails(self, text: str) -> str:
        self.codes.update(match.lower() for match in _EMAIL.findall(text))
        return _EMAIL.sub(" ", text)

    def _take_dates(self, text: str) -> str:
        def take(match: re.Match[str]) -> str:
            self.dates += _dates(match)
            return " T " if match["iso"] else " "

        return _DATE.sub(take, text)

    def _take_times(self, text: str) -> str:
        def take(match: re.Match[str]) -> str:
            hour, minute, second, half = int(match[1]), int(match[2]), match[3], (match[4] or "").strip().lower()
            if hour > 24 or minute > 59:
                return match[0]
            hour = hour % 12 + 12 if half.startswith("p") else hour % 12 if half.startswith("a") else hour
            self.times.append((hour, minute, None if second is None else int(second)))
            return " "

        return _TIME.sub(take, text)

    def _take_rest(self, text: str) -> None:
        text = _OF.sub(r"\1 of \2", _RANGE.sub(self._take_range, _GROUPED.sub(self._take_grouped, text)))

        def take(match: re.Match[str]) -> str:
            word = match[0]
            if ordinal := _ORDINAL.fullmatch(word):
                self._add_number(ordinal[1], "")
            elif (unit := _UNIT.fullmatch(word)) and not _NAME.fullmatch(word):
                return f"{unit[1]} {unit[2]} "
            elif _is_number(word) and not _has_leading_zero(word):
                return word
            else:
                self._add_code(word)
                if not word.isdigit():
                    return " "
            return " "

        plain = _CODE.sub(take, text)
        for match in _NUMBER.finditer(plain):
            self._add_number(match[0], _unit_of(plain, match.start(), match.end()))

    def _take_grouped(self, match: re.Match[str]) -> str:
        self._add_number(match[0], _unit_of(match.string, match.start(), match.end()))
        return " "

    def _take_range(self, match: re.Match[str]) -> str:
        if sum(map(str.isdigit, match[0])) >= 6 or any(_has_leading_zero(each) for each in match.groups()):
            return match[0]  # a code
        unit = _unit_of(match.string, match.start(), match.end())
        for each in match.groups():
            self._add_number(each, unit)
        return " "

    def _add_code(self, word: str) -> None:
        self.codes.add(_plain(word))
        self.parts.update(re.findall(r"\d{3,}", word))

    def _add_number(self, text: str, unit: str) -> None:
        number = _decimal(text)
        if number is None or _has_leading_zero(text):
            self._add_code(text)
        else:
            self.numbers.append((number, unit))


#: Units of measure by how they are written; of other words nothing is concluded.
_UNITS = {
    spelled: unit
    for unit, spellings in {
        "%": "% percent prozent",
        "eur": "€ eur euro euros",
        "usd": "$ usd dollar dollars",
        "gbp": "£ gbp pound pounds",
        "kg": "kg kilogram kilograms kilo kilos kilogramm",
        "g": "g gram grams gramm",
        "km": "km kilometer kilometers kilometre kilometres",
        "m": "m meter meters metre metres",
        "cm": "cm centimeter centimeters zentimeter",
        "mm": "mm millimeter millimeters",
        "h": "h hour hours stunde stunden",
        "min": "min minute minutes minuten",
        "s": "s sec second seconds sekunden",
        "d": "day days tag tage tagen",
        "w": "week weeks woche wochen",
        "y": "year years jahr jahre jahren",
        "gb": "gb gigabyte gigabytes",
        "mb": "mb megabyte megabytes",
        "mp": "megapixel megapixels mp",
        "deg": "degree degrees grad °c °f",
    }.items()
    for spelled in spellings.split()
}


def _unit_of(text: str, start: int, end: int) -> str:
    """Return the unit of measure after a number, or before it, as with currencies."""
    after = re.match(r"[\s-]{0,2}([^\W\d_]+|[%€$£]|°[cf])", text[end : end + 24], re.IGNORECASE)
    before = text[start - 1 : start]
    return _UNITS.get(before, "") or (_UNITS.get(after[1].lower(), "") if after else "")


def _dates(match: re.Match[str]) -> list[Day]:
    if match["iso"]:
        year, month, day = map(int, match["iso"].split("-"))
        return [(year, month, day)]
    if match["dotted"]:
        first, second, year = map(int, re.split(r"[./]", match["dotted"]))
        # Only slashes may have the month first, and then only where it can be one.
        return [(year, first, second)] if "/" in match["dotted"] and second > 12 else [(year, second, first)]
    month_name = match["month"] or match["month2"] or match["month3"]
    days, years = match["day"] or match["day2"] or match["day3"], match["year"] or match["year2"]
    return [(int(years) if years else None, _month(month_name), int(days) if days else None)]


def _month(name: str) -> int | None:
    lower = name.lower()
    return _MONTHS.get(lower[:4]) or _MONTHS.get(lower[:3])


def _same_date(said: tuple[int | None, ...], own: tuple[int | None, ...]) -> bool:
    return all(one is None or one == other for one, other in zip(said, own, strict=True))


def _same_time(said: tuple[int, int, int | None], own: tuple[int, int, int | None]) -> bool:
    return said[:2] == own[:2] and said[2] in (None, own[2])


def _same(said: Decimal, own: Decimal) -> bool:
    """Return whether the number is the source's, rounded to the digits that are said."""
    if said == own:
        return True
    exponent, own_exponent = said.as_tuple().exponent, own.as_tuple().exponent
    if not isinstance(exponent, int) or not isinstance(own_exponent, int) or exponent <= own_exponent or exponent == 0:
        return False
    place = Decimal(1).scaleb(exponent)
    return said in (own.quantize(place, ROUND_HALF_UP), own.quantize(place, ROUND_HALF_EVEN))


def _decimal(text: str) -> Decimal | None:
    """Return a number as people write it: a comma or a point before one, two or more than three digits is the
    decimal one.
    """
    plain = text.replace("\u2212", "-").strip()
    plain = re.sub(r"(?<=\d)[ '\u00a0\u202f\u2019](?=\d{3})", "", plain)
    if "," in plain and "." in plain:
        last = max(plain.rfind(","), plain.rfind("."))
        plain = re.sub(r"[.,]", "", plain[:last]) + "." + plain[last + 1 :]
    elif plain.count(",") > 1 or re.search(r"\d,\d{3}$", plain):
        plain = plain.replace(",", "")
    elif plain.count(".") > 1:
        plain = plain.replace(".", "")
    else:
        plain = plain.replace(",", ".")
    try:
        return Decimal(plain)
    except InvalidOperation:
        return None


def _is_number(word: str) -> bool:
    return (re.fullmatch(r"\d+(?:[.,]\d+)*", word) is not None and not re.fullmatch(r"\d+(?:\.\d+){2,}", word)) or (
        re.fullmatch(r"\d{1,3}(?:\.\d{3})+", word) is not None
    )


def _has_leading_zero(text: str) -> bool:
    return re.match(r"[-+\u2212]?0\d", text) is not None


def _plain(code: str) -> str:
    return _SIGNS.sub("", code).lower()
