"""Figures of a text as what they are: numbers, dates, times, versions and codes; and whether a source holds them.

A number in a sentence is held by one of the source that is the same when it is rounded as the sentence writes it: 8.7
by 8.72, 299.00 by 299, 1.3 million by 1,299,000, and never by 87. A number in words is the same as one in
digits. A code has to be the same but for the signs within it.
"""

# ruff: noqa: E501 - lists of words are easier to read unwrapped

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, InvalidOperation

from services.search.number_words import SpokenNumber, spoken_numbers
from services.search.queries.codes import scripts_apart

#: Names of months, by their first letters: English, German, French, Spanish, Italian, Dutch, Russian.
_MONTHS = {
    "jan": 1, "ene": 1, "gen": 1, "feb": 2, "fév": 2, "fev": 2, "mar": 3, "mär": 3, "mae": 3, "mrt": 3, "maa": 3,
    "apr": 4, "avr": 4, "abr": 4, "may": 5, "mai": 5, "mei": 5, "mag": 5, "jun": 6, "giu": 6, "juin": 6, "jul": 7,
    "juil": 7, "lug": 7, "aug": 8, "aoû": 8, "aou": 8, "ago": 8, "sep": 9, "set": 9, "oct": 10, "okt": 10, "ott": 10,
    "янв": 1, "фев": 2, "мар": 3, "апр": 4, "мая": 5, "май": 5, "июн": 6, "июл": 7, "авг": 8, "сен": 9, "окт": 10,
    "ноя": 11, "дек": 12, "nov": 11, "dec": 12, "dez": 12, "déc": 12, "dic": 12,
}  # fmt: skip
_MONTH = (
    r"(?P<month>(?:jan(?:uary|uari?|vier)?|ene(?:ro|\.)|gen(?:naio|\.)|feb(?:ruary|ruari?|rero|braio)?|f[ée]v(?:rier)?|mar(?:ch|zo|s)?|"
    r"m(?:är|ae)(?:z|rz)?|mrt|maart|apr(?:ile?)?|avr(?:il)?|abr(?:il)?|mayo?|mai|mei|mag(?:gio|\.)|jun(?:e|io?)?|juin|giu(?:gno)?|"
    r"jul(?:y|io?)?|juil(?:let)?|lug(?:lio)?|aug(?:ust|ustus)?|ao[ûu]t|ago(?:sto|\.)|sept?(?:ember|embre|iembre)?|"
    r"set(?:tembre|iembre|\.)|o[ck]t(?:ober|obre|ubre)?|ott(?:obre)?|nov(?:ember|embre|iembre)?|de[cz](?:ember|embre)?|"
    r"déc(?:embre)?|dic(?:iembre|embre)?|январ[ьея]|феврал[ьея]|март[ае]?|апрел[ьея]|ма[йея]|июн[ьея]|июл[ьея]|август[ае]?|"
    r"(?:сент|окт|но|дек)ябр[ьея]|(?:янв|февр?|мар|апр|авг|сент?|окт|нояб?|дек)\.)\.?)"
)
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th|\.|er|º)?"
_YEAR = r"(?P<year>\d{4})"


def _renamed(pattern: str, suffix: str) -> str:
    """Rename the groups of a pattern, because a name may occur only once in a pattern."""
    return re.sub(r"\?P<(\w+)>", rf"?P<\g<1>{suffix}>", pattern)


_DATE = re.compile(
    r"(?<![\w.])(?:"
    r"(?P<iso>\d{4}-\d{1,2}-\d{1,2})(?=[T\s,.;)\]]|$|[^\w-])"
    r"|(?P<dotted>\d{1,2}[./]\d{1,2}[./]\d{4})(?!\w)"
    r"|(?P<year4>\d{4})\s?年\s?(?P<month4>\d{1,2})\s?月(?:\s?(?P<day4>\d{1,2})\s?[日号])?"
    rf"|{_DAY}\s+(?:of\s+|de\s+)?{_MONTH},?(?:\s+(?:de\s+)?{_YEAR})?(?!\w)"
    rf"|{_renamed(_MONTH, '2')}\s+(?:{_renamed(_DAY, '2')}(?!\d),?\s*)?{_renamed(_YEAR, '2')}(?!\w)"
    rf"|{_renamed(_MONTH, '3')}\s+{_renamed(_DAY, '3')}(?![\w.:])"
    r")",
    re.IGNORECASE,
)
_TIME = re.compile(r"(?<![\w:.])(\d{1,2}):(\d{2})(?::(\d{2}))?(?:\.\d+)?(Z|\s?[ap]\.?m\.?)?(?![\w:])", re.IGNORECASE)
#: An hour without minutes, or with them behind a letter or a sign; "am" before a capital is German.
_HOUR = re.compile(
    r"(?<![\w:.,])(?:(\d{1,2})\s?(?:(a\.?m\.?(?!\s[A-ZÄÖÜ])|p\.?m\.?)(?!\w)|Uhr(?!\w)(?:\s(\d{2})(?![\w.,]))?)"
    r"|(\d{1,2})h(\d{2})(?!\w)|(\d{1,2})\s?[時点](?!間)(?:\s?(\d{1,2})\s?分)?)"
)
_FRACTIONS = {"\u00bd": ".5", "\u00bc": ".25", "\u00be": ".75"}
_FRACTION = re.compile("(\\d?)\\s?([\u00bd\u00bc\u00be])")
_MINUS = re.compile(r"\bminus\s+(?=\d)", re.IGNORECASE)
#: Words before a number that is rounded as far as its zeros say.
_ROUNDED = re.compile(
    r"(?:\b(?:about|over|more than|almost|nearly|around|approximately|roughly|some|rund|etwa|über|mehr als|fast|knapp|"
    r"environ|plus de|près de|presque|más de|unos|casi|cerca de|circa|quasi|oltre|около|более|почти|свыше)|[約约])\s*$",
    re.IGNORECASE,
)
_SUFFIXED = re.compile(r"\d+[abcef]")  #: route 12b
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
#: Letters and digits together, digits with signs that do not form a number, or a version.
_CODE = re.compile(r"(?<![\w./:-])(?=[^\s]*\d)[^\W_](?:[^\W_]|[-./:_](?=[^\W_]))*", re.UNICODE)
_GROUPED = re.compile(
    r"(?<![\w.,-])[-+\u2212]?(?:\d{1,3}(?:([, '\u00a0\u202f\u2019])\d{3})(?:\1\d{3})*(?:[.,]\d+)?"
    r"|\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?|\d{1,3}(?:\.\d{3})+,\d+)(?![\w]|[.,]\d)"
)
_NUMBER = re.compile(r"(?<![\w.,])[-+\u2212]?(?:\d+(?:[.,]\d+)?|[.,]\d+)(?!\d)")
_UNIT = re.compile(r"([-+\u2212]?\d+(?:[.,]\d+)?)-?([^\W\d_]+|%|€|\$|£)", re.UNICODE)
_RANGE = re.compile(r"(?<!\d)(\d+(?:[.,]\d+)?)\s?[-\u2013\u2014]\s?(\d+(?:[.,]\d+)?)")
_OF = re.compile(r"(?<![\w./])(\d{1,3}(?:[.,]\d{1,2})?)/(\d{1,3}(?:[.,]\d{1,2})?)(?![\w/])")  #: 8.7/10
_THOUSANDS = re.compile(r"(?<![\w.,])(\d{2,4}|\d{1,3}[.,]\d{1,2})k\b")  #: 300k; 4k is a name
#: Digits with a word for a thousand or more; of the short forms those that follow a currency.
_SCALED = re.compile(
    r"(?<![\w.,])([€$£]\s?)?(\d+(?:[.,]\d+)*)(?:\s?("
    r"thousand|tausend|mille?|mila|тыс(?:\.|яч[аиу]?)|million(?:s|en)?|mio\.?|mn|millones|millón|milion[ei]|млн|миллион(?:а|ов)?|"
    r"billions?|bn|mrd\.?|milliarden?|milliards?|miliard[oi]|млрд|миллиард(?:а|ов)?)(?!\w)|\s?([万萬億亿])|(?<=\d)([kmb])n?(?!\w))",
    re.IGNORECASE,
)
_SCALES = (
    (3, "thousand tausend mille mil mila тыс k"),
    (6, "million mio mn millones millón milion млн миллион m"),
    (9, "billion bn mrd milliard miliard млрд миллиард b"),
)
_HAN_SCALES = {"万": 4, "萬": 4, "億": 8, "亿": 8}
_ORDINAL_OF_MONTH = re.compile(rf"\s+(?:of\s+|de\s+)?{_MONTH}(?!\w)", re.IGNORECASE)
_NAME = re.compile(r"\d+[A-Z]")  #: 5G, 4K
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)", re.IGNORECASE)
_SIGNS = re.compile(r"[-./:_\s]")
_ONE_WORD_ITEM = re.compile(r"\s*[-*\u2022]\s*\w+\W*")  #: of a list, which it may number
_COUNTING_WORDS = 4  #: at the begin of a sentence, among which it may count what it is about: there are two of them


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
    #: What may be a number: it holds one that is said, but needs to be held by none.
    likely: list[tuple[Decimal, str]] = field(default_factory=list)

    @classmethod
    def of(cls, text: str, counted: int = 0) -> Figures:
        """Return the figures of a text; ``counted``: what a sentence may count in words at its begin, else 0."""
        figures = cls()
        text = scripts_apart(_MINUS.sub("-", figures._take_words(_FRACTION.sub(_decimal_fraction, text), counted)))
        for taken in (
            figures._take_emails,
            figures._take_dates,
            figures._take_times,
            figures._take_hours,
            figures._take_scaled,
        ):
            text = taken(text)
        figures._take_rest(text)
        return figures

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
        if any(_same(number, own) and unit in ("", other) for own, other in self.likely):
            return True
        if unit:
            return False
        years = {year for year, _, _ in self.dates}
        hours = {each for hour, minute, _ in self.times if not minute for each in (hour, hour % 12 or 12)}
        return number in years or number in hours or str(number) in self.parts

    def _take_words(self, text: str, counted: int) -> str:
        """Return the text with the numbers in words as digits."""
        parts, end = [], 0
        for spoken in [] if _ONE_WORD_ITEM.fullmatch(text) else spoken_numbers(text):
            counts = spoken.value == counted > 1 and len(text[: spoken.start].split()) < _COUNTING_WORDS
            if _is_number_in_words(text, spoken) and not counts:
                parts += [text[end : spoken.start], f"{spoken.value:f}"]
                end = spoken.end
            else:
                self.likely.append((spoken.value, _unit_of(text, spoken.start, spoken.end)))
        return "".join([*parts, text[end:]])

    def _take_scaled(self, text: str) -> str:
        def take_thousands(match: re.Match[str]) -> str:
            number = _decimal(match[1])
            self.numbers += [] if number is None else [(number.scaleb(3), "")]
            return " "

        def take(match: re.Match[str]) -> str:
            money, digits, word, sign, short = match.groups()
            number = _decimal(digits)
            if number is None or (short and not money):
                return match[0]
            power = _HAN_SCALES[sign] if sign else _power(word or short)
            unit = _UNITS.get((money or "").strip(), "") or _unit_of(match.string, match.start(), match.end())
            self.numbers.append((number.scaleb(power), unit))
            return " "

        return _SCALED.sub(take, _THOUSANDS.sub(take_thousands, text))

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

    def _take_hours(self, text: str) -> str:
        def take(match: re.Match[str]) -> str:
            half = (match[2] or "").lower()
            hour, minute = int(match[1] or match[4] or match[6]), int(match[3] or match[5] or match[7] or 0)
            if hour > (12 if half else 24) or minute > 59:
                return match[0]
            hour = hour % 12 + (12 if half.startswith("p") else 0) if half else hour
            self.times.append((hour, minute, None))
            return " "

        return _HOUR.sub(take, text)

    def _take_rest(self, text: str) -> None:
        text = _OF.sub(r"\1 of \2", _RANGE.sub(self._take_range, _GROUPED.sub(self._take_grouped, text)))

        def take(match: re.Match[str]) -> str:
            word = match[0]
            if ordinal := _ORDINAL.fullmatch(word):
                self._add_number(ordinal[1], "")
            elif (unit := _UNIT.fullmatch(word)) and not _NAME.fullmatch(word) and not _SUFFIXED.fullmatch(word):
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
            self._add_number(match[0], _unit_of(plain, match.start(), match.end()), _is_rounded(plain, match.start()))

    def _take_grouped(self, match: re.Match[str]) -> str:
        rounded = _is_rounded(match.string, match.start())
        self._add_number(match[0], _unit_of(match.string, match.start(), match.end()), rounded)
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

    def _add_number(self, text: str, unit: str, rounded: bool = False) -> None:
        number = _decimal(text)
        if number is None or _has_leading_zero(text):
            self._add_code(text)
        else:
            self.numbers.append((number.normalize() if rounded else number, unit))


#: Units of measure by how they are written; of other words nothing is concluded.
_UNITS = {
    spelled: unit
    for unit, spellings in {
        "%": "% percent prozent pourcent процент процента процентов เปอร์เซ็นต์",
        "eur": "€ eur euro euros евро",
        "usd": "$ usd dollar dollars",
        "gbp": "£ gbp pound pounds",
        "yen": "¥ jpy yen 円",
        "cny": "yuan rmb cny 元",
        "rub": "rub руб рублей рубля рубль ₽",
        "thb": "thb baht บาท",
        "kg": "kg kilogram kilograms kilo kilos kilogramm",
        "g": "g gram grams gramm",
        "km": "km kilometer kilometers kilometre kilometres",
        "m": "m meter meters metre metres",
        "cm": "cm centimeter centimeters zentimeter",
        "mm": "mm millimeter millimeters",
        "mi": "mile miles meile meilen",
        "l": "l liter liters litre litres litro litros litri литр литра литров",
        "h": "h hr hrs hour hours stunde stunden heure heures hora horas ora ore час часа часов 小时 時間 ชั่วโมง",
        "min": "min mins minute minutes minuten minuto minutos minuti минута минуты минут минуту 分钟 分間 นาที",
        "s": "s sec second seconds sekunde sekunden seconde secondes segundo segundos secondi секунда секунды секунд 秒 วินาที",
        "d": "day days tag tage tagen jour jours día días dia dias giorno giorni день дня дней 天 日間 วัน",
        "w": "week weeks woche wochen semaine semaines semana semanas settimana settimane неделя недели недель неделю 周 週間 สัปดาห์",
        "mon": "month months monat monate monaten mois mes meses mese mesi месяц месяца месяцев 个月 か月 ヶ月 カ月 เดือน",
        "y": "year years jahr jahre jahren an ans année années año años anno anni год года лет ปี 年間",
        "gb": "gb gigabyte gigabytes",
        "mb": "mb megabyte megabytes",
        "mp": "megapixel megapixels mp",
        "deg": "degree degrees grad °c °f",
    }.items()
    for spelled in spellings.split()
}

_LONGEST_UNSPACED = 7  #: characters of a unit in a script without spaces, where more may follow


def _unit_of(text: str, start: int, end: int) -> str:
    """Return the unit of measure after a number, or before it, as with currencies."""
    after = re.match(r"[\s-]{0,2}([^\W\d_]+|[%€$£]|°[cf])", text[end : end + 24], re.IGNORECASE)
    word = after[1].lower() if after else ""
    parts = [word[:length] for length in range(_LONGEST_UNSPACED, 0, -1)] if word[:1] > "\u0e00" else []
    return next((_UNITS[unit] for unit in (text[start - 1 : start], word, *parts) if unit in _UNITS), "")


def _decimal_fraction(match: re.Match[str]) -> str:
    return (match[1] or "0") + _FRACTIONS[match[2]]


def _is_rounded(text: str, start: int) -> bool:
    """Return whether the text says that the number there is not exact."""
    return _ROUNDED.search(text[max(0, start - 20) : start]) is not None


def _is_number_in_words(text: str, spoken: SpokenNumber) -> bool:
    return spoken.certain or (spoken.ordinal and _ORDINAL_OF_MONTH.match(text, spoken.end) is not None)


def _power(word: str) -> int:
    """Return the power of ten that a word after digits means."""
    lower = word.lower().rstrip(".")
    return max(
        ((len(stem), power) for power, stems in _SCALES for stem in stems.split() if lower.startswith(stem)),
        default=(0, 0),
    )[1]


def _dates(match: re.Match[str]) -> list[Day]:
    if match["iso"]:
        year, month, day = map(int, match["iso"].split("-"))
        return [(year, month, day)]
    if match["dotted"]:
        first, second, year = map(int, re.split(r"[./]", match["dotted"]))
        # Only slashes may have the month first, and then only where it can be one.
        return [(year, first, second)] if "/" in match["dotted"] and second > 12 else [(year, second, first)]
    if match["year4"]:
        return [(int(match["year4"]), int(match["month4"]), int(match["day4"]) if match["day4"] else None)]
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
