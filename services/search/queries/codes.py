"""Codes: identifiers, article numbers, ISBN, versions, e-mail addresses. They cannot be reworded, so they decide.

A code has keys: its letters and digits in lower case, without the signs within it. A record is indexed by the keys of
its codes and of their parts, so that ``X-4471B`` is found by ``x4471b`` and by ``4471B``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

#: Forms of one sign: of full width, hyphens that do not break; and signs that are not seen.
_SIGN_FORMS = {
    **{code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)},
    **dict.fromkeys((0x3000, 0xA0, 0x202F), " "), **dict.fromkeys((0x2010, 0x2011, 0x2212), "-"),
    **dict.fromkeys((0xAD, 0x200B, 0x2060, 0xFEFF)),
}  # fmt: skip
#: Letters of scripts without blanks between words, or whose short words are joined to the next one.
_JOINING = (
    r"[\u0590-\u05ff\u0620-\u064a\u066e-\u06d3\u0e00-\u0e4f\u0e80-\u0ecf\u1000-\u103f\u1780-\u17df"
    r"\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff]"
)
_SCRIPT_ENDS = re.compile(f"(?<=[A-Za-z0-9])[-/.:_]?(?={_JOINING})|(?<={_JOINING})[-/.:_]?(?=[A-Za-z0-9])")
_URL = re.compile(r"https?://(?:www\.)?([^\s/]{1,253})/?", re.IGNORECASE)
#: What kind of code follows: doi:10.1000/182; not the groups of a MAC or an IPv6 address.
_LABEL = re.compile(r"(?<![\w./-])(?![A-Fa-f]{1,4}:)([^\W\d_]{3,12}):(?=[^\W_])")
#: Endings that Finnish and Swedish put to a code.
_ENDING = re.compile(
    r"(?<=[A-Z0-9])(?<!:\w\w):(?:[nstaä]|en|in|t[aä]|lle|ll[aä]|ss[aä]|st[aä]|lt[aä]|ksi|hen)(?![\w:])"
)
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_DIGIT_OR_AT = re.compile(r"[\d@]")
_TOKEN = re.compile(r"(?<![\w./:-])[^\W_](?:[^\W_]|[-./:_](?=[^\W_]))*")
_DATE_OR_TIME = re.compile(
    r"(?<![\w./:-])(?:\d{4}[-/.](?:0?[1-9]|1[0-2])[-/.](?:0?[1-9]|[12]\d|3[01])(?:[T ]\d{2}:\d{2}(?::\d{2})?(?:\.\d+)?"
    r"(?:Z|[+-]\d{2}:?\d{2})?)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}|\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]m)?)(?![\w]|[-/:]\w)",
    re.IGNORECASE,
)
_GROUPED_NUMBER = re.compile(
    r"(?<![\w.,-])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\w)|(?<![\w.,-])\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?(?!\w)"
    r"|(?<![\w.,-])\d{1,3}(?:[ \u00a0\u202f'\u2019]\d{3})+(?:[.,]\d+)?(?![\w-]| \d)"
)
#: Groups of digits (or of an IBAN's letters and digits) with blanks, hyphens or brackets between them.
_SPACED = re.compile(
    r"(?<![\w./:-])\+?(?:[A-Z]{2}\d{2}(?: [A-Z0-9]{1,4}){2,}|\(?\d{1,20}(?:[ )(/-]{1,2}\d{1,20}){1,12})(?!\w)"
)
_BLANKED = re.compile(r"(?<![\w./:-])(?=[A-Z]*\d)[A-Z0-9]{1,6}(?: (?=[A-Z]*\d)[A-Z0-9]{1,6}){1,7}(?![\w]|[.,:]\d)")
_NAMED_NUMBER = re.compile(r"(?<![\w./:-])([^\W\d_]{2,12})[ \u00a0](?:[Nn]o\.? |#)?(\d{3,})(?![\w]|[.,:]\d)")
_NUMBER = re.compile(r"(?<![\w.,:/-])#?(\d{4,})(?![\w]|[.,:/-]\w)")
_VERSION = re.compile(r"v?(\d+(?:\.\d+){2,})")
_SHORT_DATE = re.compile(r"(?:0?[1-9]|[12]\d|3[01])\.(?:0?[1-9]|1[0-2])\.\d{2}")
_YEAR = re.compile(r"(?:19|20)\d\d")
_SPAN = re.compile(r"(\d{1,4})([-/:.])(\d{1,4})")
_WORD_WITH_NUMBER = re.compile(r"[A-Za-z]?[a-z]{2,}[-_]?\d{1,4}s?(?:\.\d+)*")
_MEASURE = re.compile(r"\d+(?:[.,]\d+)?-?[^\W\d_]+(?:/[^\W\d_]+\d?)?")
_DIMENSIONS = re.compile(r"(?!0x)[A-Za-z]?\d{1,5}(?:[x\u00d7]\d{1,5})+[a-z]{0,4}")
_WEEK = re.compile(r"(?:19|20)\d\d-?W\d\d")
_DECIMAL = re.compile(r"\d+[.,]\d+")
_REVISION = re.compile(r"(?<=\d)v\d{1,2}$")
_SERIES = re.compile(r"[A-Z]{1,4}\d{3,}[A-Z]?")
_AFTER_NUMBER = re.compile(r"[\s-]?(?:%|€|\$|£|¥|₹|₽|[^\W\d_]+)")
#: Words and signs before a number that make it an amount.
_BEFORE_AMOUNT = re.compile(
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
_SIGNS = re.compile(r"[-/_:]")
_MAX_PARTS = 8
_MAX_TEXT = 200_000  #: characters of a record that are looked through
_MIN_SHOUTED = 4  #: words
_MIN_DIGITS = 6  #: of a number that is taken for a code
#: Words before a number that do not name it.
_UNNAMING = frozenset({
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
#: Capitals before a number that are a currency or a unit.
_NOT_NAMES = frozenset({
    "EUR", "USD", "GBP", "CHF", "JPY", "CNY", "SEK", "NOK", "DKK", "PLN", "CZK", "INR", "CAD", "AUD", "RUB", "BRL",
    "MXN", "KRW", "TRY", "HUF", "KW", "KWH", "MW", "GB", "MB", "TB", "KB", "HZ", "KHZ", "MHZ", "GHZ", "RPM", "PSI",
    "BTU", "HP", "PS", "KM", "KG", "CM", "MM", "ML", "NM", "AM", "PM", "AD", "BC", "CE", "MAX", "MIN", "TOP",
})  # fmt: skip
_UNITS = frozenset({
    "eur", "euro", "euros", "usd", "dollar", "dollars", "gbp", "pound", "pounds", "chf", "yen", "percent",
    "prozent", "km", "kilometers", "kilometer", "miles", "m", "meter", "meters", "metres", "kg", "g", "grams",
    "tons", "hours", "hour", "minutes", "seconds", "days", "weeks", "months", "years", "people", "users", "items",
    "records", "rows", "words", "characters", "tokens", "bytes", "kb", "mb", "gb", "tb", "hz", "mhz", "ghz", "watt",
    "watts", "volt", "volts", "mah", "rpm", "stunden", "tage", "jahre", "leute", "menschen", "einwohner",
    "inhabitants", "yuan", "rupees", "euroa", "рублей", "руб", "человек",
})  # fmt: skip


@dataclass(frozen=True)
class AskedCodes:
    """Keys of the codes in a question."""

    binding: frozenset[str]  #: surely codes: what does not hold them does not answer
    possible: frozenset[str]  #: codes if a few records hold them, else ordinary words and numbers

    def __or__(self, other: AskedCodes) -> AskedCodes:
        binding = self.binding | other.binding
        return AskedCodes(binding, (self.possible | other.possible) - binding)

    @property
    def every(self) -> frozenset[str]:
        return self.binding | self.possible


NO_CODES = AskedCodes(frozenset(), frozenset())


def asked_codes(text: str) -> AskedCodes:
    """Return the codes of a question."""
    binding: set[str] = set()
    possible: set[str] = set()
    rest = _without_emails(_readable(text), binding)
    possible.update(_blanked(rest))
    rest = _without_numbers(rest)
    for match in _SPACED.finditer(rest):
        key = _group(match[0])
        if _is_long_group(match[0]):
            binding.add(key)
    rest = _SPACED.sub(lambda match: " " if _is_long_group(match[0]) else match[0], rest)
    shouted = _is_shouted(rest)
    for match in _NAMED_NUMBER.finditer(rest):
        if _is_long_number(match[2]):
            continue  # it is a code by itself
        if _names(match[1], match[2]) and not _measured(rest, match.end()):
            sure = match[1].isupper() and len(match[1]) <= 6 and match[1] not in _NOT_NAMES and not shouted
            (binding if sure else possible).add(f"{match[1]}{match[2]}".lower())
    for match in _NUMBER.finditer(rest):
        if not _measured(rest, match.end()) and not _YEAR.fullmatch(match[1]):
            amount = _BEFORE_AMOUNT.search(rest, max(0, match.start() - 20), match.start())
            (binding if _is_long_number(match[1]) and not amount else possible).add(match[1])
    for match in _TOKEN.finditer(rest):
        token = match[0]
        if re.search(r"\d", token) and not token.isdigit() and not _is_decimal(token):
            (binding if _is_sure(token) else possible if _may_be_code(token) else set()).add(_key(token))
    return AskedCodes(frozenset(binding), frozenset(possible - binding))


def held_codes(text: str) -> frozenset[str]:
    """Return the keys of all codes that a record's text holds, with those of their parts."""
    keys: set[str] = set()
    rest = _without_emails(_near_digits(_readable(text[:_MAX_TEXT])), keys)
    keys.update(_blanked(rest))
    rest = _without_numbers(rest)
    for match in _SPACED.finditer(rest):
        if _is_long_group(match[0]):
            keys.add(_group(match[0]))
    for match in _NAMED_NUMBER.finditer(rest):
        if _names(match[1], match[2]):
            keys.add(f"{match[1]}{match[2]}".lower())
    keys.update(match[1] for match in _NUMBER.finditer(rest) if not _YEAR.fullmatch(match[1]))
    for match in _TOKEN.finditer(rest):
        if re.search(r"\d", match[0]) and not match[0].isdigit():
            keys.update(_runs(match[0]))
    return frozenset(keys)


def _readable(text: str) -> str:
    """Return the text with a blank where a code meets a label, an address or a word of another script."""
    if not text.isascii():
        text = _SCRIPT_ENDS.sub(" ", text.translate(_SIGN_FORMS))
    return _ENDING.sub(" ", _LABEL.sub(r"\1 ", _URL.sub(r" \1 ", text)))


def _near_digits(text: str) -> str:
    """Return the words with a digit or an @, each with two words before it: all that a code can be in."""
    words = text.split()
    kept: list[str] = []
    following = 0
    for number, word in enumerate(words):
        if _DIGIT_OR_AT.search(word):
            start = max(following, number - 2)
            if start > following:
                kept.append("\n")
            kept.extend(words[start : number + 1])
            following = number + 1
    return " ".join(kept)


def _without_emails(text: str, keys: set[str]) -> str:
    keys.update(match.lower() for match in _EMAIL.findall(text))
    return _EMAIL.sub(" ", text)


def _without_numbers(text: str) -> str:
    return _GROUPED_NUMBER.sub(" ", _DATE_OR_TIME.sub(" ", text))


def _is_long_group(text: str) -> bool:
    """Return whether groups of digits are one number, such as an ISBN, an IBAN or that of a phone."""
    return sum(map(str.isdigit, text)) >= 9


def _group(text: str) -> str:
    """Return the key of groups of digits; (0) in a number with a country is not dialled."""
    return _plain(text.replace("(0)", "") if text.startswith("+") else text)


def _blanked(text: str) -> Iterator[str]:
    """Keys of codes that are written with blanks, such as 311 992 D3."""
    for match in _BLANKED.finditer(text):
        key = _plain(match[0])
        if len(key) >= _MIN_DIGITS and not key.isdigit():
            yield key


def _is_long_number(digits: str) -> bool:
    if digits.startswith("0"):
        return len(digits) >= 5
    return len(digits) >= _MIN_DIGITS and int(digits) % 1000 != 0


def _is_decimal(token: str) -> bool:
    """Return whether a token is a number with decimals, and not one such as 1706.03762 that may be an identifier."""
    return _DECIMAL.fullmatch(token) is not None and len(token) < 9


def _is_shouted(text: str) -> bool:
    """Return whether a sentence is written in capitals, so that they do not say what is a name."""
    return len(re.findall(r"[^\W\d_]{2,}", text)) >= _MIN_SHOUTED and not re.search(r"[a-z]", text)


def _names(word: str, number: str) -> bool:
    return word.lower() not in _UNNAMING and not _YEAR.fullmatch(number)


def _measured(text: str, end: int) -> bool:
    """Return whether a number is followed by a unit or a currency."""
    match = _AFTER_NUMBER.match(text, end)
    word = match[0].strip(" -\t\n\u00a0").lower() if match else ""
    return word.startswith(_COUNTED) or word in _UNITS | {"%", "€", "$", "£", "¥", "₹", "₽"}


def _is_sure(token: str) -> bool:
    """Return whether a word with a digit can only be a code."""
    if _VERSION.fullmatch(token):
        return not _SHORT_DATE.fullmatch(token)
    if _DECIMAL.fullmatch(token) or _DIMENSIONS.fullmatch(token) or _WEEK.fullmatch(token):
        return False
    plain = _plain(token)
    letters, digits = any(map(str.isalpha, plain)), sum(map(str.isdigit, plain))
    if not letters:
        return digits >= _MIN_DIGITS and not _is_span(token)
    if _WORD_WITH_NUMBER.fullmatch(token) or _MEASURE.fullmatch(token):
        return False
    if _SERIES.fullmatch(token):
        return True
    return digits >= 3 and len(plain) >= 5


def _is_span(token: str) -> bool:
    """Return whether two numbers are a span, a ratio or a time, and not the parts of a number such as 2025-001."""
    match = _SPAN.fullmatch(token)
    if match is None:
        return False
    first, sign, second = match.groups()
    if second.startswith("0") and len(second) > 2:
        return False
    return int(first) < int(second) or (len(first), len(second)) == (4, 2) or (sign != "-" and len(token) < 8)


def _may_be_code(token: str) -> bool:
    plain = _plain(token)
    return len(plain) >= 3 and sum(map(str.isdigit, plain)) >= 2 and not _is_span(token)


def _key(token: str) -> str:
    return "".join(_parts(token))


def _plain(text: str) -> str:
    return re.sub(r"[\W_]", "", text).lower()


def _parts(token: str) -> list[str]:
    """Return the parts between the signs of a code; a version stays whole."""
    parts: list[str] = []
    for part in _SIGNS.split(token.lower()):
        version = _VERSION.fullmatch(part)
        parts += [version[1]] if version else part.split(".")
    return [part for part in parts if part]


def _runs(token: str) -> Iterator[str]:
    """Keys of a code: all of it, and consecutive parts that a question may name alone."""
    parts = _parts(token)[:_MAX_PARTS]
    for start in range(len(parts)):
        for end in range(start + 1, len(parts) + 1):
            key = "".join(parts[start:end])
            if len(key) >= 3 and re.search(r"\d", key) and not _YEAR.fullmatch(key):
                yield key
                if (revision := _REVISION.search(key)) and revision.start() >= _MIN_DIGITS:
                    yield key[: revision.start()]
