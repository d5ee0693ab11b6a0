"""Numbers that are quantities: measured, counted, bounded or ranked."""

from __future__ import annotations

import re

YEAR = re.compile(r"(?:19|20)\d\d")
_AFTER_NUMBER = re.compile(r"[\s-]?(?:%|€|\$|£|¥|₹|₽|[^\W\d_]+)")
#: Words and signs before a number that make it an amount.
BEFORE_AMOUNT = re.compile(
    r"(?:[$€£¥₹₽<>\u2264\u2265]|\b(?:above|below|over|under|than|least|most|exceed(?:s|ing)|approximately|about|around"
    r"|über|unter|als|mindestens|höchstens|etwa|rund|circa|(?:plus|moins|más|menos) de|(?:più|meno) di"
    r"|больше|более|свыше|меньше|менее|около))\s?=?\s?$",
    re.IGNORECASE,
)
#: Words that are written behind a number without a blank: currencies, counted things, comparisons.
_COUNTED = (
    "円", "元", "圆", "원", "万", "萬", "億", "亿", "人", "名", "個", "个", "件", "回", "台", "年", "月", "日",
    "명", "개", "년", "以上", "以下", "未満", "以内", "บาท", "คน",
)  # fmt: skip
#: Words before a number that do not name it.
UNNAMING = frozenset({
    "a", "ab", "about", "above", "after", "against", "all", "als", "among", "an", "and", "around", "as", "at", "au",
    "aus", "bei", "bis", "by", "can", "ca", "chapter", "circa", "da", "das", "de", "dei", "del", "der", "des", "di",
    "die", "do", "does", "du", "ein", "eine", "el", "en", "et", "etwa", "from", "fur", "für", "gegen", "had", "has",
    "have", "if", "im", "in", "is", "it", "la", "least", "le", "les", "los", "many", "mehr", "mit", "moins", "more",
    "most", "much", "nach", "near", "no", "nur", "of", "on", "once", "only", "or", "over", "par", "per", "plus",
    "por", "roughly", "sin", "since", "so", "some", "sous", "sur", "than", "that", "the", "then", "these", "this",
    "those", "to", "twice", "um", "un", "und", "under", "unter", "until", "up", "über", "von", "vor", "was", "were",
    "when", "where", "which", "while", "who", "will", "with", "within", "without", "y", "year", "years", "zu", "à",
    "am", "pm",
})  # fmt: skip
_UNITS = frozenset({
    "eur", "euro", "euros", "usd", "dollar", "dollars", "gbp", "pound", "pounds", "chf", "yen", "percent",
    "prozent", "km", "kilometers", "kilometer", "miles", "m", "meter", "meters", "metres", "kg", "g", "grams",
    "tons", "hours", "hour", "minutes", "seconds", "days", "weeks", "months", "years", "people", "users", "items",
    "records", "rows", "words", "characters", "tokens", "bytes", "kb", "mb", "gb", "tb", "hz", "mhz", "ghz", "watt",
    "watts", "volt", "volts", "mah", "rpm", "stunden", "tage", "jahre", "leute", "menschen", "einwohner",
    "inhabitants", "yuan", "rupees", "euroa", "рублей", "руб", "человек", "s", "ms", "sec", "min", "h", "mm", "cm", "l",
    "ml", "khz", "w", "kw", "kwh", "v", "kn", "mph", "m²", "m³", "km²", "jahren", "tagen", "wochen", "stunde",
    "minuten", "años", "días", "horas", "лет", "год", "года", "дня", "дней", "час", "часа", "часов", "рубля", "м",
    "см", "км", "кг",
})  # fmt: skip

#: Capitals next to a number that are a currency or a unit.
CAPITAL_UNITS = frozenset({
    "EUR", "USD", "GBP", "CHF", "JPY", "CNY", "SEK", "NOK", "DKK", "PLN", "CZK", "INR", "CAD", "AUD", "RUB", "BRL",
    "MXN", "KRW", "TRY", "HUF", "KW", "KWH", "MW", "GB", "MB", "TB", "KB", "HZ", "KHZ", "MHZ", "GHZ", "RPM", "PSI",
    "BTU", "HP", "PS", "KM", "KG", "CM", "MM", "ML", "NM", "AM", "PM", "AD", "BC", "CE", "MAX", "MIN", "TOP",
    "BGN", "BND", "BWP", "CLP", "GTQ", "HKD", "HRK", "JMD", "KZT", "LKR", "MKD", "NZD", "PHP", "PKR", "RMB", "RSD",
    "RWF", "SGD", "SYP", "THB", "TND", "TTD", "TWD", "VND", "XRP", "BTC", "ETH", "BHP", "BPM", "CFM", "DPI", "FPS",
    "GPM", "KPH", "KVA", "LBS", "MAH", "MPH", "MWH", "PCS", "PPM", "PTS", "RPS", "TPS", "YRS", "HRS", "BMW", "DVD",
    "USB", "LED",
})  # fmt: skip


def is_measured(text: str, end: int) -> bool:
    """Return whether a number is followed by a unit or a currency."""
    match = _AFTER_NUMBER.match(text, end)
    word = match[0].strip(" -\t\n\u00a0").lower() if match else ""
    return word.startswith(_COUNTED) or word in _UNITS | {"%", "€", "$", "£", "¥", "₹", "₽"}
